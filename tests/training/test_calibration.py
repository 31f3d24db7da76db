"""Calibration: recovers what is known, stays finite and rising, and keeps few edges close to what all targets share."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from banditplex.datasets import planted
from banditplex.multiplex import Multiplex
from banditplex.prediction import Calibration, FittedModel
from banditplex.training import calibration
from banditplex.training.calibration import HeldOut, HeldOutPairs, Scored, fit, grouped, sample_unknown
from banditplex.training.default import complete
from tests.training.test_data import data_of
from tests.training.test_loop import random_layers, trainer_of


def scored(instance, score):
    return Scored(np.asarray(instance), np.asarray(score, float), np.ones(len(score)))


def game(rng, *, slope=(0.5,), bias=(0.0,), density=0.01, links=2_000, others=40_000):
    """Scores for which slope x score + bias is the log likelihood ratio of links against other pairs.

    A normal score of variance v and mean m is one whose ratio of densities at means m + d and m is linear with slope
    d / v: links have mean m + d.
    """
    parts = [], []
    for target, (a, b) in enumerate(zip(slope, bias, strict=True)):
        mean, spread = -b / a - a / 2, 1.0  # ratio: a (s - mean - a / 2) = a s + b
        parts[0].append(scored(np.full(links, target), rng.normal(mean + a, spread, links)))
        parts[1].append(scored(np.full(others, target), rng.normal(mean, spread, others)))
    one, other = (Scored(*(np.concatenate(each) for each in zip(*part, strict=True))) for part in parts)
    return one, other, np.full(len(slope), density)


@pytest.mark.parametrize(("slope", "bias"), [(0.8, 0.0), (1.5, -1.0), (2.5, 1.0)])
def test_slope_and_bias_of_normal_scores_are_found(slope, bias):
    found = fit(*game(np.random.default_rng(0), slope=(slope,), bias=(bias,)))
    at = np.linspace(-2, 2, 9) - bias / slope
    assert found.ratio(at, 0) == pytest.approx(slope * at + bias, abs=0.35)


@pytest.mark.parametrize("unknown_share", [0.05, 0.5])
def test_the_share_of_links_among_unknown_pairs_is_right_however_many_there_are(unknown_share):
    """Normal scores, links at 4, other pairs at 0; with the true prior, the stated mean is the share above a score."""
    rng, density = np.random.default_rng(1), 0.05
    links = int(100_000 * density / (1 - density) * unknown_share / (1 - unknown_share))
    mixed, is_link = np.concatenate([rng.normal(0, 1, 100_000), rng.normal(4, 1, links)]), np.arange(100_000 + links)
    is_link = is_link >= 100_000
    unknown = scored(np.zeros(len(mixed), int), mixed)
    found = fit(scored(np.zeros(5_000, int), rng.normal(4, 1, 5_000)), unknown, np.array([density]))
    probability = found.probability(mixed, 0, is_link.mean())
    for low, high in ((1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 9.0)):
        here = (low < mixed) & (mixed < high)
        assert probability[here].mean() == pytest.approx(is_link[here].mean(), abs=0.08)


def test_no_optimiser_finds_a_lower_loss_nearby():
    """The penalised likelihood, written down pair by pair, minimised by scipy from the fit's result."""
    rng = np.random.default_rng(2)
    links, unknown, density = game(rng, slope=(0.7, 2.0, 1.2), bias=(0.3, -1.0, 0.0), links=15, others=20)
    share = calibration.HeldOut(links, unknown, density).shares()
    knots = np.quantile(links.score, (0.1, 0.25, 0.5, 0.75, 0.9)).tolist()

    def curve(score, slopes):
        total = slopes[0] * min(score - knots[0], 0)
        for slope, low, high in zip(slopes[1:], knots, [*knots[1:], np.inf], strict=True):
            total += slope * max(min(score, high) - low, 0)
        return total

    def loss(x):  # of logarithms of the first slope and of the factors to the next ones, bias, then of each target
        slopes, (bias, *own) = np.exp(np.cumsum(x[:6])), x[6:]
        total = 0.5 * (x[0] ** 2 + np.sum(x[1:6] ** 2) / calibration.BEND**2 + 0.01 * bias**2)
        total += 0.5 * np.sum(x[7:] ** 2) / calibration.SPREAD**2
        for each, is_link in ((links, True), (unknown, False)):
            for target, score in zip(each.instance, each.score, strict=True):
                ratio = np.exp(own[target]) * curve(score, slopes) + bias + own[3 + target]
                odds = density[target] / (1 - density[target]) * np.exp(ratio)
                total += np.log1p(1 / odds) if is_link else share[target] * np.log1p(odds)
        return total

    found = fit(links, unknown, density)
    steps = np.diff(np.log(found.slopes), prepend=0)

    def point(bias):  # what all share is not told from what targets have; the best division is that of the priors
        return np.concatenate([steps, [bias], np.log(found.factor), found.bias - bias])

    start = point(minimize(lambda bias: loss(point(bias[0])), [0.0]).x[0])
    best = minimize(loss, start, options={"gtol": 1e-6})
    assert best.fun == pytest.approx(loss(start), abs=1e-3)
    assert best.x == pytest.approx(start, abs=0.05)


def bent(most):
    """A target with ratios exp(score - 1) below 1, and exp((score - 1) / 2) above."""
    return Calibration(np.ones(1), np.array([1.0, 0.5]), np.ones(1), np.zeros(1), np.array([most]))


def test_at_a_prior_of_all_unknown_pairs_probabilities_are_the_prior_times_the_ratio():
    score = np.array([-1.0, 1.0, 3.0])
    found = bent(0.4).probability(score, 0, 0.1)
    assert found == pytest.approx(0.1 * np.exp([-2.0, 0.0, 1.0]), rel=1e-4)
    high = bent(0.4).probability(np.linspace(0, 30, 300), 0, 0.1)
    assert (np.diff(high[high < 0.98]) > 0).all()
    assert high.max() == pytest.approx(0.99)


def test_a_larger_prior_shifts_the_odds_by_bayes_rule():
    """At the largest share of links, .02, a score of -1 has the probability .02 exp(-2), and odds to match."""
    score = np.array([-1.0, 2.0])
    share = 0.02 * np.exp([-2.0, 0.5])
    odds = share / (1 - share) * (0.6 / 0.4) / (0.02 / 0.98)
    assert bent(0.02).probability(score, 0, 0.6) == pytest.approx(odds / (1 + odds), rel=1e-6)
    odds = np.exp([-2.0, 0.5]) * (0.6 / 0.4)  # if no unknown pair is a link
    assert bent(0.0).probability(score, 0, 0.6) == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize(
    ("links", "others"),
    [
        ([5.0, 6.0, 7.0], [-5.0, -6.0, -7.0]),  # separated
        ([-5.0, -6.0], [5.0, 6.0]),  # the wrong way round
        ([1.0, 1.0, 1.0], [1.0, 1.0]),  # ties
        ([1e4, 2e4], [-1e4, 1e4]),  # a training that has diverged
        ([0.3], [0.1] * 500),  # one edge
    ],
)
def test_always_finite_and_rising(links, others):
    found = fit(scored([0] * len(links), links), scored([0] * len(others), others), np.array([0.01]))
    assert np.isfinite([*found.knots, *found.slopes, *found.factor, *found.bias]).all()
    assert (np.diff(found.ratio(np.linspace(-20, 20, 200), 0)) > 0).all()


def test_targets_differ_where_their_edges_say_so():
    """Two targets have many edges, one of them scores that mean nothing; a third has one edge, a fourth none."""
    rng = np.random.default_rng(3)
    many = game(rng, slope=(2.0, 1e-3), bias=(0.0, 0.0), links=400)
    links = Scored(*(np.append(each, more) for each, more in zip(many[0], (2, 0.0, 1.0), strict=True)))
    unknown = Scored(*(np.append(each, more) for each, more in zip(many[1], (2, -1.0, 1.0), strict=True)))
    found = fit(links, unknown, np.full(4, 0.01))
    assert found.factor[1] < 0.6 * found.factor[0]
    assert found.factor[3] == pytest.approx(1)
    assert found.factor[1] < 1 < found.factor[0]
    assert found.factor[2] == pytest.approx(1, rel=0.2)


def test_groups_keep_the_highest_scores_and_the_sums():
    rng = np.random.default_rng(0)
    pairs = Scored(rng.integers(0, 2, 5_000), rng.normal(size=5_000), rng.random(5_000))
    found = grouped(pairs)
    assert len(found.score) < 2 * 250
    for target in range(2):
        here, there = found.instance == target, pairs.instance == target
        assert found.weight[here].sum() == pytest.approx(pairs.weight[there].sum())
        means = (each.weight[at] @ each.score[at] for each, at in ((found, here), (pairs, there)))
        assert next(means) == pytest.approx(next(means))
        assert sorted(found.score[here])[-20:] == pytest.approx(sorted(pairs.score[there])[-20:])


def test_without_validation_edges_scores_stay_as_they_are():
    trainer = trainer_of(random_layers(0, copied=False), validation=0.0, epochs=1, width=0)
    trainer.run_epoch()
    found = complete([trainer]).fitted.calibration
    assert found.ratio(np.array([-1.0, 2.5]), 1).tolist() == [-1.0, 2.5]


def test_scores_are_those_of_the_graph_without_validation_edges(monkeypatch):
    trainer = trainer_of(random_layers(1, copied=False), epochs=1, width=4)
    trainer.run_epoch()
    asked = []

    def logits(pairs, instance, known):
        asked.append((pairs, instance))
        assert len(known.values) == len(pairs)
        return np.arange(float(len(pairs)))

    HeldOutPairs.draw([trainer.data], np.random.default_rng(0)).score([SimpleNamespace(logits_of_targets=logits)])
    edges, mx = trainer.data.validation_edges, trainer.data.full_mx
    ((pairs, instance),) = asked
    for number, layer in enumerate(mx.layer_names):
        mine, here = np.sort(edges.pairs[edges.instance == number]), pairs[instance == number]
        assert here[: len(mine)].tolist() == mine.tolist()
        assert not mx.has_edges(here[len(mine) :], layer).any()
        assert len(here) == 60 * 59 / 2 - mx.layer_sizes[number] + len(mine)  # all unknown pairs
    seen = []
    monkeypatch.setattr(FittedModel, "logits", lambda self, *asked: seen.append(self.view) or np.zeros(len(asked[0])))
    complete([trainer])
    assert [id(view) for view in seen] == [id(trainer.data.train_view)] * 2


def test_the_expected_number_of_links_is_that_of_the_prior():
    """Among pairs that are no edges, probabilities at a prior have about this mean: within a factor of 2.

    Means over layers and seeds: in one small layer, chance decides.
    """
    mx = planted(4, 2, 0.9, num_nodes=60, edges_per_layer=200, communities=4, seed=0)
    pairs, ratios = np.stack(np.triu_indices(60, 1), axis=1), []
    for seed in range(3):
        trainer = trainer_of(mx, epochs=6, width=0, seed=seed)
        while not trainer.finished:
            trainer.run_epoch()
        trainer.finish()
        fitted = complete([trainer]).fitted
        for target, name in enumerate(mx.layer_names):
            unknown = pairs[~mx.has_edges(pairs, name)]
            prior = fitted.default_prior(name)
            probability = fitted.calibration.probability(fitted.logits(unknown, name), target, prior)
            ratios.append(probability.mean() / prior)
    assert 0.5 < np.mean(ratios) < 2


def test_the_density_of_links_by_hand():
    """Of 6 pairs of 4 nodes, 3 are linked in a and 1 in b."""
    mx = Multiplex.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [*"aaab"], num_nodes=4)
    _, density = sample_unknown([data_of(mx, [0, 1])], np.random.default_rng(0))
    assert density.tolist() == [3 / 6, 1 / 6]


def test_unknown_pairs_count_even_where_all_pairs_are_linked():
    """At a density of 1, unknown pairs have the share 1e-12 of the links, not none."""
    one = Scored(np.zeros(1, int), np.ones(1), np.ones(1))
    assert HeldOut(one, one, np.array([1.0])).shares() == pytest.approx([1e-12], rel=1e-3, abs=0)
