"""Quality on held-out edges: AUC by a plain loop, shares of links in closed form."""

import numpy as np
import pytest

from banditplex.report.about import Judged, auc_limits, bins, by_target, judge, limits, summarise, weighted_auc
from banditplex.training.calibration import HeldOut, Scored


def game(rng, links, others, *, density=0.02):
    """Scores of one target whose log likelihood ratio is the score: normal with variance 2, means 1 and -1."""
    near, far = rng.normal(1, np.sqrt(2), links), rng.normal(-1, np.sqrt(2), others)
    zeros = [np.zeros(len(each), np.int64) for each in (near, far)]
    return HeldOut(Scored(zeros[0], near, np.ones(links)), Scored(zeros[1], far, np.ones(others)), np.array([density]))


def test_auc_is_that_of_a_plain_loop():
    rng = np.random.default_rng(0)
    positive, negative, weight = rng.integers(0, 5, 20), rng.integers(0, 5, 30), rng.random(30)
    won = sum(w * ((p > n) + 0.5 * (p == n)) for p in positive for n, w in zip(negative, weight, strict=True))
    assert weighted_auc(positive, negative, weight) == pytest.approx(won / (20 * weight.sum()))


def test_right_probabilities_are_found_right():
    """Some of the unknown pairs are links, which nobody knows; stated is the share of known links among all pairs."""
    rng, density = np.random.default_rng(1), 0.02
    hidden = 0.25 * density
    pairs = game(rng, 8_000, 80_000, density=density)
    pairs.unknown.score[: int(hidden * 80_000)] = rng.normal(1, np.sqrt(2), int(hidden * 80_000))
    found = summarise(pairs, np.random.default_rng(0))
    assert found["targets"][0]["edges"] == 8_000
    assert found["targets"][0]["roc_auc"] == pytest.approx(0.8413, abs=0.01)  # Phi(2 / sqrt(2 + 2))
    assert sum(row["links"] for row in found["bins"]) == 8_000
    checked = [row for row in found["bins"] if row["links"] > 100]
    assert len(checked) >= 4
    for row in checked:
        assert row["share"] == pytest.approx(row["probability"], rel=0.15)
        assert row["low"] <= row["share"] <= row["high"]


def test_pairs_weigh_as_much_as_their_density():
    found = judge(game(np.random.default_rng(2), 50, 400, density=0.2), np.random.default_rng(0))
    assert found.weight[found.label == 1].tolist() == [1.0] * 50
    assert found.weight[found.label == 0].sum() == pytest.approx(50 * 0.8 / 0.2)


def test_pairs_are_judged_by_the_other_half():
    """Scores that mean nothing: a calibration fitted to the same few pairs would find something in them."""
    rng = np.random.default_rng(3)
    held_out = game(rng, 10, 200, density=0.5)
    noise = held_out._replace(links=held_out.links._replace(score=rng.normal(-1, 1.4, 10)))
    halves = {seed: judge(noise, np.random.default_rng(seed)).probability for seed in (0, 1)}
    assert not np.array_equal(halves[0], halves[1])


def test_limits_without_links_or_without_others():
    assert limits(0, np.ones(10))[0] == 0
    assert 0 < limits(0, np.ones(10))[1] < 0.5
    assert limits(3, np.empty(0))[1] == 1


def test_a_target_without_held_out_edges_is_not_known():
    found = game(np.random.default_rng(0), 5, 20)
    two = found._replace(density=np.array([0.02, 0.02]))
    assert by_target(two)[1] == {"edges": 0, "roc_auc": None, "low": None, "high": None, "clear": False}
    assert len(judge(two, np.random.default_rng(0)).label) == 25


@pytest.mark.parametrize(
    ("auc", "links", "others", "z"), [(0.9, 12, 500, 1.96), (0.5, 30, 40, 1.96), (1.0, 4, 300, 2.5), (0.0, 4, 9, 1.96)]
)
def test_limits_of_an_auc_are_those_of_a_search(auc, links, others, z):
    """All values theta whose deviation, by Hanley and McNeil's formula, reaches the estimate with z of them."""
    theta = np.linspace(0, 1, 100_001)
    first, second = theta / (2 - theta), 2 * theta**2 / (1 + theta)
    mean = (links + others) / 2
    variance = theta * (1 - theta) + (mean - 1) * (first - theta**2) + (mean - 1) * (second - theta**2)
    inside = theta[np.abs(theta - auc) <= z * np.sqrt(np.maximum(variance, 0) / (links * others)) + 1e-12]
    assert auc_limits(auc, links, others, z) == pytest.approx((inside.min(), inside.max()), abs=2e-5)


def test_scores_that_mean_nothing_are_rarely_above_chance():
    """200 pairs of targets with random scores: in 0.5 % of them a lower limit is above 1/2."""
    rng, above = np.random.default_rng(5), 0
    for _ in range(200):
        parts = [Scored(np.repeat([0, 1], each), rng.random(2 * each), np.ones(2 * each)) for each in (15, 200)]
        rows = by_target(HeldOut(*parts, np.array([0.05, 0.05])))
        above += any(row["clear"] for row in rows)
    assert above <= 4  # 1 expected; more than 4 has a probability of 0.4 %


@pytest.mark.parametrize(("links", "clear"), [(4, False), (5, True)])
def test_few_edges_show_nothing(links, clear):
    """All edges score higher than all other pairs."""
    parts = (
        Scored(np.zeros(links, int), np.ones(links), np.ones(links)),
        Scored(np.zeros(99, int), -np.ones(99), np.ones(99)),
    )
    row = by_target(HeldOut(*parts, np.array([0.1])))[0]
    assert row["low"] > 0.5
    assert row["clear"] is clear


def test_unknown_pairs_of_large_weight_say_less():
    """Of weights 1, ..., 1 and of weights with the same sum on a tenth of the pairs, the latter have wider limits."""
    rng = np.random.default_rng(6)
    links, others = Scored(np.zeros(50, int), rng.normal(1, 1, 50), np.ones(50)), rng.normal(0, 1, 100)
    even, uneven = (
        by_target(HeldOut(links, Scored(np.zeros(100, int), others, weight), np.array([0.1])))[0]
        for weight in (np.ones(100), np.repeat([9.1, 0.1], [10, 90]))
    )
    number = 100**2 / (10 * 9.1**2 + 90 * 0.1**2)
    assert (uneven["low"], uneven["high"]) == pytest.approx(auc_limits(uneven["roc_auc"], 50, number, 2.5758), abs=1e-4)
    assert uneven["high"] - uneven["low"] > even["high"] - even["low"]


def test_pairs_of_weight_0_count_nothing():
    """Neither a bin of their own, nor in one with others: 1 link among 1 + 3 pairs."""
    pairs = Judged(np.array([0.9, 0.31, 0.35, 0.39]), np.array([0.0, 1, 0, 0]), np.array([0.0, 1, 3, 0]))
    (row,) = bins(pairs)
    assert (row["links"], row["share"]) == (1, 0.25)
    assert row["probability"] == pytest.approx((0.31 + 3 * 0.35) / 4)


def test_the_last_bins_are_apart():
    """Bins end at 0.9 and 1, which belongs to the last."""
    pairs = Judged(np.array([0.85, 0.95, 1.0]), np.array([1.0, 1, 0]), np.ones(3))
    assert [(row["links"], row["share"]) for row in bins(pairs)] == [(1, 1.0), (1, 0.5)]


def test_limits_of_a_single_link():
    """log(1.5 / 9.5) -+ 1.96 sqrt(1 / 1.5 + 1 / 9.5)."""
    middle, spread = np.log(1.5 / 9.5), 1.96 * np.sqrt(1 / 1.5 + 1 / 9.5)
    expected = [1 / (1 + np.exp(-end)) for end in (middle - spread, middle + spread)]
    assert limits(1, np.ones(9)) == pytest.approx(expected, rel=1e-4)
