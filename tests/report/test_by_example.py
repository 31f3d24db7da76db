"""Functions inside `banditplex.report`, each by an example."""

import numpy as np

from banditplex.multiplex import Multiplex
from banditplex.report.about import Judged, auc_limits, bins, limits, weighted_auc
from banditplex.report.collect import (
    SETTINGS,
    _shown,
    as_title,
    layers_per_pair,
    node_counts,
    say_held_out,
)
from banditplex.report.findings import _listed
from banditplex.report.links import layers_with
from banditplex.report.page import as_json, pack, plain


def test_shown():
    found = (_shown(None, SETTINGS["hide"]), _shown(None, SETTINGS["max_steps"]), _shown(3, SETTINGS["epochs"]))
    expected = ("edge", "no limit", "3")
    assert found == expected


def test_as_title():
    found = (as_title("tables/shop_orders-2024.csv"), as_title("twins"), as_title("calls.csv, mails.csv"))
    expected = ("Shop orders 2024", "Twins", "Calls, mails")
    assert found == expected


def test_layers_per_pair():
    found = " ".join(
        repr(layers_per_pair(Multiplex.from_edges([0, 0, 1], [1, 1, 2], ["a", "b", "a"], num_nodes=3))).split()
    )
    expected = "array([1, 1])"
    assert found == expected


def test_node_counts():
    found = node_counts(Multiplex.from_edges([0, 1], [2, 2], "buys", node_types=["user", "user", "item"]))
    expected = [("user", 2), ("item", 1)]
    assert found == expected


def test_say_held_out():
    found = say_held_out({"folds": 2, "train_edges": 600, "test_edges": 600})
    expected = "Each run holds out 1/2 of the edges of every layer: it saw 600 of 1,200 linked pairs of the targets."
    assert found == expected


def test_listed():
    found = (_listed([4]), _listed([4, 0, 2]), _listed([5, 6, 7, 8, 9]))
    expected = ([4], [4, ", ", 0, " and ", 2], [5, ", ", 6, " and three more"])
    assert found == expected


def test_auc_limits():
    low, high = auc_limits(0.5 + 1.96 * np.sqrt((40 + 60 + 1) / (12 * 40 * 60)), 40, 60)
    assert (round(low, 6), high < 1) == (0.5, True)


def test_bins():
    pairs = Judged(np.array([0.2, 0.2, 0.25, 0.9]), np.array([1.0, 0, 0, 1]), np.array([1.0, 1, 2, 1]))
    found = [(round(row["probability"], 3), row["share"], row["links"]) for row in bins(pairs)]
    expected = [(0.225, 0.25, 1), (0.9, 1.0, 1)]
    assert found == expected


def test_limits():
    found = [round(limit, 3) for limit in limits(4, np.full(16, 0.25))]
    expected = [0.278, 0.756]  # log(4.5 / 4.125) -+ 1.96 sqrt(1/4.5 + 1/16.5)
    assert found == expected


def test_weighted_auc():
    assert weighted_auc([3.0, 1.0], [1.0, 0.0], [3.0, 1.0]) == 0.8125  # (4 + 3 / 2 + 1) / (2 * 4)


def test_layers_with():
    mx = Multiplex.from_edges([0, 0, 1], [1, 1, 2], ["a", "b", "a"], num_nodes=3)
    assert layers_with(mx, np.array([[1, 0], [0, 2]])) == [[0, 1], []]


def test_pack():
    found = pack([[0.0, 1.0], [float("nan"), 0.5]])
    expected = {"shape": [2, 2], "low": 0.0, "step": 1.5259254737998596e-05, "codes": "AAD+/////38="}
    assert found == expected


def test_plain():
    assert plain({"a": np.array([1.0, np.nan]), "b": (np.int64(2), "c")}) == {"a": [1.0, None], "b": [2, "c"]}


def test_as_json():
    assert as_json({"name": "</script><!--"}) == '{"name":"\\u003c/script\\u003e\\u003c!--"}'
