"""Means, errors and shares of hand-made rows."""

import numpy as np
import pytest

from banditplex.experiments.paper.analysis import Difference, Runs, curve_table


def test_curves_are_means_over_runs_with_one_deviation(make_row):
    tests = {(0, 0): [0.5, 0.6], (0, 1): [0.7, 0.6], (1, 0): [0.5, 0.8], (1, 1): [0.7, 0.8]}
    runs = Runs.from_rows([make_row("ckm", "ours", *at, test) for at, test in reversed(tests.items())])
    table = curve_table(runs)
    assert table["epoch"].tolist() == [1, 2]
    assert table["test"].tolist() == pytest.approx([0.6, 0.7])
    assert table["test_deviation"].tolist() == pytest.approx([0.1, 0.1])
    assert table["partnered"].isna().all()
    assert runs.curves["ckm", "ours"]["test"].shape == (2, 2, 2)
    assert runs.curves["ckm", "ours"]["test"][1, 0].tolist() == [0.5, 0.8]
    assert (runs.datasets, runs.methods) == (("ckm",), ("ours",))
    assert runs.number("ckm", "ours", "gain") == pytest.approx(0.05)


def test_differences_are_paired_and_folds_averaged_first():
    one = np.array([[[0.6, 0.5], [0.8, 0.5]], [[0.6, 0.6], [0.6, 0.4]]])
    other = np.array([[[0.5, 0.5], [0.5, 0.7]], [[0.6, 0.5], [0.4, 0.5]]])
    difference = Difference.of(one, other)
    assert difference.trials == pytest.approx(np.array([[20.0, -10.0], [10.0, 0.0]]))  # points
    assert difference.curve.tolist() == pytest.approx([15, -5])
    assert difference.error.tolist() == pytest.approx([5, 5])  # deviation sqrt(50) of two trials, / sqrt(2)
    assert (difference.mean, difference.largest) == pytest.approx((5, 15))
    assert (difference.better, difference.clearly_better) == (0.5, 0.5)
    assert difference.first(0.25).mean == pytest.approx(15)


@pytest.mark.parametrize(("trials", "p"), [(5, None), (6, 2 / 64), (10, 2 / 1024)])
def test_wilcoxon_over_trials_that_all_agree(trials, p):
    difference = Difference(np.arange(1.0, trials + 1)[:, None] * [1, 3])
    assert difference.p == pytest.approx(p)


@pytest.mark.parametrize(
    ("means", "beyond"),
    [
        ([1, 2, 3, 4, 5, 6], True),  # p = 2 / 64
        ([-1, 2, 3, 4, 5, 6], False),  # p = 4 / 64
        ([-1, -2, -3, -4, -5, -6], False),
        ([1.0, 1.2], True),  # standard error .1
        ([1.0, 9.0], False),  # mean 5, standard error 4
        ([1.0], False),
    ],
)
def test_beyond_chance(means, beyond):
    assert Difference(np.array(means, float)[:, None]).beyond_chance is beyond


def test_a_single_trial_has_no_error():
    difference = Difference(np.array([[1.0, 2.0]]))
    assert np.isnan(difference.error).all()
    assert difference.clearly_better is None
    assert difference.p is None
