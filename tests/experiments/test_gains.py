"""The experiment on gains: permutations by a second count, its tables by hand, its rows on small fits."""

import numpy as np
import pandas as pd
import pytest

from banditplex import LinkPredictor, load_dataset
from banditplex.datasets import groups
from experiments.gains import Fit, permuted, prepare, report, work
from experiments.runner import read_options
from tests.refusals import refuses


def test_permuted_layers_keep_their_structure_and_share_nothing_but_chance():
    mx = load_dataset("twins")
    other = permuted(mx, 0)
    assert other.layer_names == mx.layer_names
    for layer in mx.layer_names:
        old, new = (np.bincount(each.edges(layer).ravel(), minlength=200) for each in (mx, other))
        assert (old != new).any()
        assert sorted(old) == sorted(new)
    # 600 edges among 19,900 pairs: two unrelated layers share 600 * 600 / 19,900 = 18 edges, deviation 4.2.
    shared = [len(set(map(tuple, x.edges("a").T)) & set(map(tuple, x.edges("a-twin").T))) for x in (mx, other)]
    assert shared[0] > 400
    assert 2 < shared[1] < 34


def test_fits_take_turns_with_data_sets():
    tasks = prepare(read_options("gains", ["--data", "x,y", "--fits", "3", "--copies", "2", "--seed", "7"])).tasks
    assert [task[:3] for task in tasks[:3]] == [("x", None, 7), ("y", None, 7), ("x", None, 8)]
    assert [task[1:3] for task in tasks[3:]] == [(0.5, 7), (0.5, 8), (0.65, 7), (0.65, 8), (0.8, 7), (0.8, 8)]
    with refuses("--fits", 0):
        prepare(read_options("gains", ["--fits", "0"]))


def test_rows_of_fits_to_permuted_layers():
    (null,) = work(Fit("planted-4", None, 0, 1, False))
    assert (null["layers"], null["compared"], null["copies"], null["found"]) == (4, 4 * 3, 0, 0)


@pytest.mark.slow
def test_rows_of_fits_to_copies():
    (copies,) = work(Fit("planted", 0.8, 0, 1, False))
    assert (copies["compared"], copies["copies"], copies["found"]) == (6 * 5, 4, 4)


@pytest.mark.slow
def test_gains_do_not_depend_on_training():
    mx = load_dataset("twins")
    settings = {"epochs": 1, "members": 1, "policy": "none"}, {"epochs": 3}
    tables = [LinkPredictor(**each).fit(mx, targets=["a", "noise-1"]).layer_gains_ for each in settings]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.slow
def test_gains_among_many_layers_do_not_depend_on_training():
    mx = groups(48, 4, num_nodes=200, num_communities=8, edges_per_layer=500, seed=5)
    settings = {"epochs": 1, "members": 1, "policy": "none"}, {"epochs": 3}
    tables = [LinkPredictor(**each).fit(mx, targets=["g0-0"]).layer_gains_ for each in settings]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.slow
def test_gains_do_not_depend_on_other_targets():
    mx = load_dataset("twins")
    alone, all_of_them = (LinkPredictor(epochs=1).fit(mx, targets=each).layer_gains_ for each in (["a"], None))
    gains = [each.query("target == 'a'").set_index("layer")["gain"].sort_index() for each in (alone, all_of_them)]
    np.testing.assert_allclose(gains[0], gains[1], rtol=1e-6)


def test_the_report_counts_fits_by_hand():
    row = {"data": "x", "similarity": None, "seed": 0, "layers": 3, "compared": 6, "copies": 0, "found": 0, "wrong": 0}
    copy = row | {"data": "planted", "similarity": 0.5, "copies": 4}
    rows = [row, row | {"wrong": 2}, row | {"data": "y"}, copy | {"found": 4, "wrong": 3}, copy | {"found": 2}]
    text = report(rows).text("", [0])
    assert "| x | 3 | 12 | 2 | 1 | 50.0 % [1.3, 98.7] |" in text
    assert "| y | 3 | 6 | 1 | 0 | 0.0 % [0.0, 97.5] |" in text
    assert "| all |  | 18 | 3 | 1 | 33.3 % [" in text
    assert "| 0.5 | 2 | 8 | 6 | 75.0 % [" in text
    assert text.rstrip().endswith("| 1 |")
