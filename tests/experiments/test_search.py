"""The experiment on the search: counts by hand, and rows of a small run."""

import numpy as np

from banditplex.training import find
from experiments.runner import read_options
from experiments.search import Task, measure, prepare, report


def test_tasks_have_the_looks_that_are_asked_for():
    options = read_options("search", ["--data", "x,y", "--hide", "pair", "--seeds", "1", "--looks", "10,2000"])
    assert prepare(options).tasks == [Task(name, "pair", 400, (10, 2000), 1000, 5) for name in ("y", "x")]


def test_helpers_among_the_promising_layers_are_counted(monkeypatch):
    """Of three targets with four helpers each, the first six other layers hold those of the first, and one of the second."""
    seen = []

    def first(compare, layers, count, looks):
        seen.append((compare.target, len(layers), looks))
        return layers[:count]

    monkeypatch.setattr("experiments.search.WAYS", {"first": first})
    monkeypatch.setattr(find, "COMPARED", 6)
    (row,) = measure(Task("groups-30", "layer", 0, (50,), 100, 5))
    assert seen == [(0, 29, 50), (5, 29, 50), (10, 29, 50)]
    assert (row["found"], row["helpers"]) == (5, 12)  # layers 1 to 4, and layer 6 of the second target
    assert row["seconds"] > 0


def test_the_table_by_hand():
    head = {"data": "d", "hide": "layer", "looks": 2_000_000}
    rows = [
        head | {"seed": seed, "way": way, "found": found, "helpers": 12, "seconds": seconds}
        for seed, way, found, seconds in ((0, "bandit", 9, 1.0), (1, "bandit", 10, 2.0), (0, "evenly", 3, 4.0))
    ]
    assert "| d | layer | 2,000,000 | 19 of 24 | 1.5 | 3 of 12 | 4.0 |" in "\n".join(report(rows).parts)


def test_a_small_search_finds_helpers_both_ways():
    rows = list(measure(Task("groups-30-opposite", "layer", 0, (10_000, 10**6), 200, 5)))
    assert [(row["looks"], row["way"]) for row in rows] == [
        (looks, way) for looks in (10_000, 10**6) for way in ("bandit", "evenly")
    ]
    assert {row["helpers"] for row in rows} == {12}
    assert np.all([row["found"] >= 10 for row in rows if row["looks"] == 10**6])
