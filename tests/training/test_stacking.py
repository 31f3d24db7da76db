"""How much the parts of a model count: against scikit-learn, and by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from banditplex.nn import vectors as scoring
from banditplex.nn.vectors import Vectors
from banditplex.training.calibration import HeldOut, Scored
from banditplex.training.stacking import BIAS, SPREAD, STACKING_FOLDS, add_up, out_of_fold, stack, weigh
from tests.nn.test_graph import random_multiplex
from tests.training.test_data import data_of


def held_out(links, unknown, instance=0):
    part = [Scored(np.full(len(each), instance), each, np.ones(len(each))) for each in (links, unknown)]
    return HeldOut(*part, np.array([0.1, 0.1]))


def test_factors_are_those_of_a_logistic_regression_on_all_scores_with_a_bias_of_each_target():
    """Unknown pairs have a weight with which nine of them come with each edge, at a density of .1."""
    rng = np.random.default_rng(3)
    truth, target = rng.normal(0, 2, 40_000), rng.integers(0, 2, 40_000)
    label = rng.random(40_000) < 1 / (1 + np.exp(-truth - 2 * target))
    scores = [truth + rng.normal(0, noise, 40_000) for noise in (1, 2, 3)]
    parts = [
        HeldOut(
            *(Scored(target[at], each[at], np.ones(at.sum())) for at in (label, ~label)),
            np.array([0.1, 0.1]),
        )
        for each in scores
    ]
    weight = np.ones(40_000)
    for own in (target == 0, target == 1):
        weight[own & ~label] = 9 * (own & label).sum() / (own & ~label).sum()
    columns = np.stack([*scores, target], 1)
    expected = LogisticRegression(C=1e6, tol=1e-10, max_iter=10_000).fit(columns, label, weight)
    assert weigh(parts)[:3] == pytest.approx(expected.coef_[0, :3], abs=2e-3)


def test_scores_that_say_nothing_count_nothing():
    rng = np.random.default_rng(4)
    truth, noise = rng.normal(0, 2, 4_000), rng.normal(0, 2, 4_000)
    label = rng.random(4_000) < 1 / (1 + np.exp(-truth))
    good, bad = (held_out(each[label], each[~label]) for each in (truth, noise))
    assert weigh([good, bad])[:2] == pytest.approx([1, 0], abs=0.1)
    assert weigh([bad, good])[:2] == pytest.approx([0, 1], abs=0.1)
    none = held_out(np.empty(0), np.empty(0))
    assert weigh([none, none]).tolist() == [1, 0, 0, 0]  # what holds a priori


def test_few_pairs_change_little_of_what_holds_a_priori():
    """One edge of score 1, and one other pair of -1, which stands for nine at a density of .1; the bias is c."""

    def loss(x):
        b, c = x
        pairs = np.log1p(np.exp(-b - c)) + 9 * np.log1p(np.exp(-b + c))
        return pairs + 0.5 * ((b - 1) / SPREAD) ** 2 + 0.5 * (c / BIAS) ** 2

    expected = minimize(loss, [1.0, 0.0], tol=1e-10).x[0]
    assert weigh([held_out(np.array([1.0]), np.array([-1.0]))])[:1] == pytest.approx([expected], abs=1e-3)
    assert 1.02 < expected < 1.5


def test_scores_have_factors_of_other_folds():
    """Every fourth pair is scored with what the other three say; a plain loop over pairs."""
    rng = np.random.default_rng(5)
    parts = [held_out(rng.normal(1, 1, 21), rng.normal(0, 1, 50)) for _ in range(2)]
    found = out_of_fold(parts)
    for kind in ("links", "unknown"):
        for place, score in enumerate(getattr(found, kind).score):
            others = [
                held_out(
                    *(
                        np.array(
                            [s for at, s in enumerate(each.score) if at % STACKING_FOLDS != place % STACKING_FOLDS]
                        )
                        for each in part[:2]
                    )
                )
                for part in parts
            ]
            factors = weigh(others)[:2]
            own = [getattr(part, kind).score[place] for part in parts]
            assert score == pytest.approx(factors @ own)


def test_scores_that_say_nothing_do_not_seem_to_say_something():
    """Three parts of noise, 30 links: weighed on the same pairs, ROC-AUC is above 1/2; not on those of other folds."""
    rng, same, other = np.random.default_rng(6), [], []
    for _ in range(100):
        parts = [held_out(rng.normal(0, 1, 30), rng.normal(0, 1, 60)) for _ in range(3)]
        for found, to in (
            (add_up(parts, weigh(parts)[:3]), same),
            (out_of_fold(parts), other),
        ):
            to.append((found.links.score[:, None] > found.unknown.score).mean())
    assert np.mean(same) > 0.515
    assert np.mean(other) < 0.51  # standard error: .065 / sqrt(100)


def test_scores_add_up():
    parts = [
        HeldOut(
            Scored(np.array([0, 1]), np.array([a, 2 * a]), np.ones(2)),
            Scored(np.array([1]), np.array([3 * a]), np.ones(1)),
            np.array([0.1, 0.1]),
        )
        for a in (1.0, 10.0)
    ]
    total = add_up(parts, np.array([1.0, 0.5]))
    assert total.links.score.tolist() == [1 + 5, 2 + 10]
    assert total.unknown.score.tolist() == [3 + 15]


def test_what_counts_is_put_beside_one_network_with_its_factor():
    mx = random_multiplex(0)
    data, rng = data_of(mx, targets=[2]), np.random.default_rng(7)
    vectors = Vectors(mx, data.visibility)
    parts = [held_out(rng.normal(mean, 1, 400), rng.normal(0, 1, 400)) for mean in (2, 1)]
    beside, found = stack(parts, None, vectors, [data])
    of_networks, of_vectors = weigh(parts)[:2]
    assert beside.factor.tolist() == pytest.approx([1, 1, of_networks])  # networks alone count 1
    assert vectors.factor.tolist() == pytest.approx([0, 0, of_vectors])
    assert found.links.score == pytest.approx(out_of_fold(parts).links.score, abs=1e-3)  # the search begins elsewhere
    nothing = [held_out(np.empty(0), np.empty(0))] * 2
    assert stack(nothing, None, vectors, [data]) == (None, nothing[0])  # vectors count nothing


@pytest.mark.parametrize("long", [True, False])
def test_long_vectors_that_move_scores_little_are_left_out(long, monkeypatch):
    """Scores of deviation 1 whose means differ by m count m, so the second part has m / (2 + m) of the spread."""
    monkeypatch.setattr(scoring, "FEW_EDGES", 0 if long else 20_000)
    mx = random_multiplex(0)
    data, rng = data_of(mx, targets=[2]), np.random.default_rng(8)
    for mean, share in ((0.1, 0.05), (1, 0.33)):
        parts = [held_out(rng.normal(own, 1, 20_000), rng.normal(0, 1, 20_000)) for own in (2, mean)]
        factors = weigh(parts)[:2]
        assert factors[1] / factors.sum() == pytest.approx(share, abs=0.02)
        vectors = Vectors(mx, data.visibility)
        beside, found = stack(parts, None, vectors, [data])
        if long and mean == 0.1:
            assert (beside, found) == (None, parts[0])
        else:
            assert beside.vectors is vectors
            assert vectors.factor.tolist() == pytest.approx([0, 0, factors[1]])
