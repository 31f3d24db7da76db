"""The experiment on the search: counts by hand, and rows of a small run."""

import numpy as np

from banditplex.training import find, search
from experiments.runner import read_options
from experiments.search import Task, measure, prepare, report


def test_tasks_have_the_looks_that_are_asked_for():
    options = read_options("search", ["--data", "x,y", "--hide", "pair", "--seeds", "1", "--looks", "10,2000"])
    assert prepare(options).tasks == [Task(name, "pair", 400, (10, 2000), 1000, 5) for name in ("y", "x")]


def test_helpers_among_the_promising_layers_are_counted(monkeypatch):
    """With two layers to look at, the first target has two of its helpers, the others none."""
    seen = []

    def first(compare, layers, count, looks):
        seen.append((compare.target, len(layers), looks))
        return layers[:count]

    monkeypatch.setattr("experiments.search.WAYS", ("bandit",))
    monkeypatch.setattr(search, "promising_layers", first)
    monkeypatch.setattr(find, "COMPARED", 2)
    (row,) = measure(Task("groups-30", "layer", 0, (50,), 100, 5))
    assert row["spent"] == 0
    assert seen == [(0, 29, 50), (5, 29, 50), (10, 29, 50)]
    assert (row["found"], row["helpers"]) == (2, 12)
    assert row["seconds"] > 0


def test_the_table_by_hand():
    head = {"data": "d", "hide": "layer", "looks": 2_000_000, "helpers": 12}
    rows = [
        head | {"seed": seed, "way": way, "spent": spent, "found": found, "seconds": seconds}
        for seed, way, spent, found, seconds in (
            (0, "bandit", 1_500_000.0, 9, 1.0), (1, "bandit", 1_700_000.0, 10, 2.0), (0, "evenly", 900_000.0, 3, 4.0),
        )
    ]  # fmt: skip
    line = "| d | layer | 2,000 | 1,600 | 19 of 24 | 1.5 | 900 | 3 of 12 | 4.0 |"
    assert line in "\n".join(report(rows).parts)


def test_a_small_search_finds_helpers_both_ways():
    rows = list(measure(Task("groups-60-opposite", "layer", 0, (10_000, 10**6), 200, 5)))
    assert [(row["looks"], row["way"]) for row in rows] == [
        (looks, way) for looks in (10_000, 10**6) for way in ("bandit", "evenly")
    ]
    assert {row["helpers"] for row in rows} == {12}
    assert [row["spent"] for row in rows[2:]] == [59 * 960] * 2  # 320 edges and twice as many negatives
    assert np.all([row["found"] >= 10 for row in rows if row["looks"] == 10**6])
