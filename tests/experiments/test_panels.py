"""The experiment on panels: targets and counts by hand, the rows of small fits, its table by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from banditplex import Multiplex
from banditplex.training import find, search
from experiments.panels import Fit, load, measure, num_compared, of_all_sizes, prepare, report, searching
from experiments.runner import read_options
from tests.refusals import refuses


def test_targets_are_spread_over_the_sizes_of_layers():
    sizes = {"f": 49, "a": 60, "b": 50, "c": 90, "d": 80, "e": 70}  # without f, in order: b a e d c
    edges = [(0, other, name) for name, size in sizes.items() for other in range(1, size + 1)]
    mx = Multiplex.from_edges(*zip(*edges, strict=True))
    assert of_all_sizes(mx, 1) == ["e"]
    assert of_all_sizes(mx, 2) == ["a", "d"]  # places 5 / 4 and 15 / 4, rounded down
    assert of_all_sizes(mx, 5) == ["b", "a", "e", "d", "c"]
    with refuses("--targets", 5, 6):
        of_all_sizes(mx, 6)


def test_groups_have_the_nodes_that_are_asked_for():
    for nodes, expected in ((None, 400), (100, 100)):
        mx, targets = load("groups-15", 0, nodes=nodes)
        assert (mx.num_layers, mx.num_nodes, mx.num_edges) == (15, expected, 15 * 2 * expected)
        assert targets == ["g0-0", "g1-0", "g2-0"]
    mx, _ = load("groups-17", 0)  # three groups of five, and two layers of noise
    assert mx.layer_names[-3:] == ("g2-4", "noise-0", "noise-1")
    assert load("groups-17", 0, targets=4)[1] == ["g0-0", "g0-3", "g1-2", "g2-1"]  # places 0, 15 / 4, 30 / 4, 45 / 4
    with refuses("--targets", 15, 16):
        load("groups-17", 0, targets=16)
    mx, _ = load("groups-17", 0, group=3)
    assert mx.layer_names[-3:] == ("g4-2", "noise-0", "noise-1")


@pytest.mark.parametrize(("kind", "shared"), [("", 0.074), ("-disjoint", 0.0), ("-copied", 0.5), ("-opposite", 0.008)])
def test_the_name_says_how_layers_of_a_group_overlap(kind, shared):
    """Of 800 edges, disjoint layers share none and copied ones half; independent ones .85 ** 2 * 800 / 7,800 by chance.

    That is: 680 of them are among the 7,800 pairs of nodes of the same one of ten communities.
    """
    mx, _ = load(f"groups-15{kind}", 0, nodes=400)
    first, second = (set(map(tuple, np.sort(mx.edges(f"g0-{layer}").T, axis=1).tolist())) for layer in (0, 1))
    assert len(first & second) / len(second) == pytest.approx(shared, abs=0.03)
    with refuses("groups-15-near-6", f"groups-15{kind}-far"):
        load(f"groups-15{kind}-far", 0)


def test_near_copies_keep_most_edges_of_a_helper():
    mx, targets = load("groups-15-near-2", 0, nodes=100)
    assert mx.layer_names[15:] == tuple(f"g{group}-1-near-{copy}" for group in range(3) for copy in range(2))
    assert targets == ["g0-0", "g1-0", "g2-0"]
    kept = mx.has_edges(mx.edges("g1-1-near-1").T, "g1-1")
    assert (len(kept), kept.sum()) == (200, 190)
    assert mx.metadata["relevant"]["g1-0"] == ["g1-1", "g1-2", "g1-3", "g1-4"]


def test_how_many_layers_are_compared_with_a_target():
    some = find.COMPARED
    assert [num_compared("default", n) for n in (some - 1, some, 5000)] == [some - 1, some, some]
    assert [num_compared(way, 5000) for way in ("none", "random", "exp3+", "exhaustive")] == [0, 0, some, 5000]


def test_ways_to_search_are_put_back():
    def now():
        return search.FIRST, search.KEPT, find.COMPARED, find.bridges_hold

    before = now()
    with searching("exhaustive", 99):
        assert now() == (*before[:2], 99, before[3])
    with searching("evenly", 99):
        assert now() == (1, np.inf, *before[2:])
    with searching("unbridged", 99):
        assert now()[:3] == before[:3]
        assert not find.bridges_hold(None, None, None)
    with searching("default", 99):
        assert now() == before
    assert now() == before


def test_an_even_search_looks_at_the_same_pairs_in_all_layers(monkeypatch):
    """100 layers and 23,456 looks; the best are those next to 50."""
    seen = []

    def look(pairs, layers):
        seen.append((len(pairs.pairs), len(layers)))
        return torch.from_numpy(-np.abs(layers - 50.0)).expand(3, -1).unsqueeze(2)

    monkeypatch.setattr(search, "look", look)
    monkeypatch.setattr(search, "promise", lambda sums, count: sums[0, :, 0].numpy())
    compare = SimpleNamespace(pairs=torch.zeros(1000, 2), price=1, graph=None)
    compare.within = lambda graph, at: SimpleNamespace(pairs=at)
    with searching("evenly", 100):
        assert sorted(search.promising_layers(compare, np.arange(100), 3, 23_456).tolist()) == [49, 50, 51]
    assert seen == [(234, 100)]


def test_slow_ways_are_left_out_unless_named():
    words = ["--data", "x", "--hide", "layer", "--seeds", "1", "--nodes", "9", "--targets", "4"]
    tasks = prepare(read_options("panels", words)).tasks
    assert [task.way for task in tasks] == ["none", "random", "default", "uniform", "exp3+", "oracle"]
    assert tasks[0] == Fit("x", "layer", "none", 100, None, 9, 4)
    assert [task.way for task in prepare(read_options("panels", [*words, "--ways", "all"])).tasks] == ["all"]


@pytest.mark.slow
def test_exhaustive_panels_come_from_every_layer():
    (row,) = measure(Fit("groups-40", "layer", "exhaustive", 0, 1))
    assert (row["targets"], row["compared"], row["helpers"]) == (3, 39, 12)
    assert row["right"] > 6  # a random layer of 39 would be right in one case of ten
    assert np.isnan(row["proven"])


def test_the_table_is_that_worked_out_by_hand():
    nothing = {"used": np.nan, "right": np.nan, "helpers": np.nan, "proven": np.nan, "false": np.nan}
    row = {"data": "x", "hide": "layer", "seed": 0, "roc_auc": 0.75, "mrr": 0.5, "seconds": 2.4, "compared": np.nan}
    row |= nothing | {"gains_seconds": np.nan}
    counted = {"compared": 16, "used": 3.0, "right": 2.0, "helpers": 4.0}
    rows = [
        row | {"way": "oracle"},
        row | {"way": "exhaustive"} | counted,
        row | {"way": "default", "proven": 1.0, "false": 0.0, "gains_seconds": 1.0} | counted,
        row
        | {"way": "default", "seed": 1, "roc_auc": 0.85, "mrr": 0.6, "gains_seconds": 5.0, "proven": 4.0, "false": 1.0}
        | counted
        | {"right": 4.0},
        row | {"way": "none", "data": "y", "compared": 0, "used": 0.0},
    ]
    text = report(rows).text("", [0])
    assert "| x | layer | default | .800 | .050 | .550 | .050 | 2 + 3 | 16 | 6 of 8 pooled, 5 proven, 1 false |" in text
    assert "| x | layer | exhaustive | .750 |  | .500 |  | 2 | 16 | 2 of 4 pooled |" in text
    assert "| x | layer | oracle | .750 |  | .500 |  | 2 |  |  |" in text
    assert "| y | layer | none | .750 |  | .500 |  | 2 | 0 | 0 pooled |" in text
