"""Metrics agree with scikit-learn and with plain loops, also for tied scores."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from banditplex.evaluation import (
    accuracy,
    average_precision,
    average_precision_at,
    brier,
    evaluate_layers,
    evaluate_scores,
    f1,
    hits,
    mrr,
    ranks,
    roc_auc,
)  # fmt: skip
from tests.evaluation.plain import plain_rank
from tests.refusals import refuses

TIED = st.sampled_from([-1.5, -1.0, 0.0, 0.5, 2.0])
LOOSE = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def scored(draw):
    """Labels 0 and 1, and scores with few or many ties."""
    label = [0, 1, *draw(st.lists(st.integers(0, 1), max_size=40))]
    values = draw(st.sampled_from([TIED, LOOSE]))
    return label, draw(st.lists(values, min_size=len(label), max_size=len(label)))


def plain_precision_at(label, score, at):
    """The mean over all orders of tied pairs, by trying all orders."""
    found = []
    for order in permutations(range(len(label))):
        if all(score[a] >= score[b] for a, b in pairwise(order)):
            hits = [label[place] for place in order]
            total = sum(sum(hits[: i + 1]) / (i + 1) for i in range(min(at, len(hits))) if hits[i])
            found.append(total / min(at, sum(label)))
    return np.mean(found)


@pytest.mark.parametrize("at", [1, 2, 3, 50])
@pytest.mark.parametrize("score", [[5, 4, 3, 2, 1, 0], [2, 2, 2, 1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 2, 0]])
def test_precision_at_a_cut_is_the_mean_over_orders_of_ties(score, at):
    for label in ([1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0]):
        assert average_precision_at(label, score, at=at) == pytest.approx(plain_precision_at(label, score, at))


@given(scored())
def test_metrics_are_those_of_scikit_learn(pairs):
    label, score = pairs
    assert roc_auc(label, score) == pytest.approx(metrics.roc_auc_score(label, score))
    assert average_precision(label, score) == pytest.approx(metrics.average_precision_score(label, score))
    predicted = np.array(score) > 0.25
    assert accuracy(label, score, threshold=0.25) == pytest.approx(metrics.accuracy_score(label, predicted))
    assert f1(label, score, threshold=0.25) == pytest.approx(metrics.f1_score(label, predicted, zero_division=0))
    probability = 1 / (1 + np.exp(-np.clip(score, -50, 50)))
    assert brier(label, probability) == pytest.approx(metrics.brier_score_loss(label, probability))


@given(scored())
def test_without_a_threshold_as_many_edges_are_predicted_as_there_are(pairs):
    label, score = pairs
    least = sorted(score)[-sum(label)]
    predicted = np.array([value >= least for value in score])
    assert f1(label, score, threshold=None) == pytest.approx(metrics.f1_score(label, predicted))
    assert accuracy(label, score, threshold=None) == pytest.approx(metrics.accuracy_score(label, predicted))


@given(st.lists(TIED, min_size=1, max_size=8), st.lists(TIED, min_size=1, max_size=30))
def test_ranks_are_mean_ranks(positive, pool):
    expected = [plain_rank(score, pool) for score in positive]
    assert ranks(positive, pool).tolist() == expected
    own = [pool[i:] + pool[:i] for i in range(len(positive))]
    shifted = [[value + i for value in row] for i, row in enumerate(own)]
    assert ranks(positive, shifted).tolist() == [plain_rank(*each) for each in zip(positive, shifted, strict=True)]
    assert mrr(expected) == pytest.approx(sum(1 / rank for rank in expected) / len(expected))
    for at in (1, 2, 10):
        assert hits(expected, at=at) == pytest.approx(sum(rank <= at for rank in expected) / len(expected))


def test_constant_scores_get_the_middle_rank():
    found = evaluate_scores([1, 1] + [0] * 99, [0.0] * 101)
    assert found["mrr"] == pytest.approx(1 / 50.5)
    assert (found["hits_at_1"], found["hits_at_10"], found["hits_at_50"]) == (0, 0, 0)
    assert found["roc_auc"] == 0.5


def test_all_metrics_of_a_layer():
    """Positives 3 and 1 against negatives 2, 1, 0: ranks 1 and 1 + 1 + 1/2."""
    found = evaluate_scores([1, 0, 1, 0, 0], [3.0, 2.0, 1.0, 1.0, 0.0], at=(1, 2, 3, 4), threshold=1.5)
    assert found == {
        "accuracy": pytest.approx(3 / 5),
        "roc_auc": pytest.approx(4.5 / 6),
        "average_precision": pytest.approx((1 + 2 / 4) / 2),
        "ap_at_50": pytest.approx((1 + (2 / 3 + 2 / 4) / 2) / 2),  # the tied positive comes third or fourth
        "f1": pytest.approx(2 * 1 / (2 + 2)),
        "mrr": pytest.approx((1 + 1 / 2.5) / 2),
        "hits_at_1": 0.5,
        "hits_at_2": 0.5,
        "hits_at_3": 1.0,
        "hits_at_4": pytest.approx(np.nan, nan_ok=True),  # 3 negatives: everything would be a hit
    }


def test_positives_are_ranked_against_their_own_negatives():
    label, score = [1, 0, 1, 0, 0], [3.0, 2.0, 1.0, 1.0, 0.0]
    own = [[4.0, 3.0], [0.0, 0.0]]  # ranks 1 + 1 + 1/2 and 1
    found = evaluate_scores(label, score, negatives=own, at=(1, 3))
    assert found["mrr"] == pytest.approx((1 / 2.5 + 1) / 2)
    assert found["hits_at_1"] == 0.5
    assert np.isnan(found["hits_at_3"])
    pool = evaluate_scores(label, score)
    assert {name: found[name] for name in ("accuracy", "roc_auc", "f1", "average_precision")} == {
        name: pool[name] for name in ("accuracy", "roc_auc", "f1", "average_precision")
    }


@pytest.mark.parametrize("own", [False, True])
def test_layers_pooled_and_mean(own):
    rng = np.random.default_rng(0)
    layer = rng.permutation(np.repeat([0, 2, 3], [40, 30, 20]))
    label, score = rng.integers(0, 2, 90), rng.integers(0, 6, 90) - 2.5
    negatives = rng.integers(-3, 3, (int(label.sum()), 12)) + 0.5 if own else None
    found = evaluate_layers(layer, label, score, names=["a", "empty", "b", "c"], negatives=negatives, at=(1, 10))
    assert list(found.layers) == ["a", "b", "c"]
    held = layer[label == 1]
    for name, index in (("a", 0), ("b", 2), ("c", 3)):
        here = layer == index
        mine = None if negatives is None else negatives[held == index]
        assert found.layers[name] == evaluate_scores(label[here], score[here], negatives=mine, at=(1, 10))
    assert found.pooled == evaluate_scores(label, score, negatives=negatives, at=(1, 10))
    for metric in ("accuracy", "roc_auc", "mrr", "hits_at_10"):
        assert found.mean[metric] == pytest.approx(sum(row[metric] for row in found.layers.values()) / 3)


def test_bad_input():
    with refuses("label", "only 1"):
        roc_auc([1, 1], [0.1, 0.2])
    with refuses("label", "only 0"):
        evaluate_scores([0, 0], [0.1, 0.2])
    with refuses("score", np.nan):
        roc_auc([1, 0], [0.1, np.nan])
    with refuses("score", np.inf):
        evaluate_scores([1, 0], [0.1, 0.2], negatives=[[np.inf]])
    with refuses("score", "label", (2,), (1,)):
        roc_auc([1, 0], [0.1])
    with refuses("score", "label", (0,)):
        evaluate_scores([], [])
    with refuses("label", 2):
        accuracy([1, 2], [0.1, 0.2])
    with refuses((2,), (3, 4)):
        evaluate_scores([1, 1, 0], [0.1, 0.2, 0.3], negatives=np.zeros((3, 4)))
    with refuses((1,), (0,)):
        ranks([1.0], [])
    with refuses("label", "'b'", 1):
        evaluate_layers([0, 0, 1], [1, 0, 1], [0.1, 0.2, 0.3], names=["a", "b"])


def test_some_metrics_need_only_one_label():
    assert accuracy([1, 1], [0.1, -0.2]) == 0.5
    assert f1([0, 0], [0.1, -0.2]) == 0.0
    assert f1([0, 0], [-0.1, -0.2], threshold=None) == 0.0
    assert brier([1, 1], [0.5, 1.0]) == 0.125
