"""Splits, negatives and metrics: counted by hand, or by scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from banditplex.errors import InputError
from banditplex.evaluation import NegativeSampler, Split, accuracy, average_precision, brier, roc_auc, split
from banditplex.multiplex import Multiplex


def dense(seed=0, directed=False):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 12, (2, 160))
    return Multiplex.from_edges(*ends, np.repeat(["a", "b"], [100, 60]), num_nodes=12, directed=directed)


def as_sets(mx):
    return {name: {tuple(pair) for pair in mx.edges(name).T.tolist()} for name in mx.layer_names}


@pytest.mark.parametrize("directed", [False, True])
def test_a_layer_split_holds_out_a_fifth_of_each_layer_and_as_many_pairs_without_an_edge(directed):
    mx = dense(directed=directed)
    parts = split(mx, hide="layer", seed=1)
    parts.check()
    whole, train = as_sets(mx), as_sets(parts.train)
    for name in mx.layer_names:
        pairs, label = parts.test(name)
        held, negative = ({tuple(pair) for pair in pairs[label == value].tolist()} for value in (1, 0))
        assert held == whole[name] - train[name]
        proper = sum(u != v for u, v in whole[name])
        assert len(held) == len(negative) == round(0.2 * proper)
        assert not negative & whole[name]
        assert all(u != v for u, v in held | negative)


def test_a_pair_split_hides_the_pair_everywhere():
    mx = Multiplex.from_edges(*np.array(np.triu_indices(15, 1))[:, ::3], "a", num_nodes=15)
    both = np.concatenate([mx.edge_index, mx.edge_index[:, ::2]], axis=1)
    mx = Multiplex.from_edges(*both, np.repeat(["a", "b"], [mx.num_edges, both.shape[1] - mx.num_edges]), num_nodes=15)
    parts = split(mx, hide="pair", seed=0)
    parts.check()
    everywhere = set.union(*as_sets(mx).values())
    left = set.union(*as_sets(parts.train).values())
    for pair, label in zip(map(tuple, parts.pairs.tolist()), parts.label, strict=True):
        assert pair not in left
        assert (pair in everywhere) == bool(label)


def test_check_finds_a_leak():
    mx = dense()
    pair = next((u, v) for u, v in mx.edges("a").T.tolist() if u != v)
    leaking = Split(mx, "layer", np.array([0]), np.array([pair]), np.array([1]))
    with pytest.raises(InputError, match=r"is an edge of layer 'a' in training"):
        leaking.check()
    with pytest.raises(InputError, match="hide to be one of layer, pair, got 'edge'"):
        split(mx, hide="edge")
    with pytest.raises(InputError, match="share between 0 and 1"):
        split(mx, hide="layer", share=1.0)


def test_negatives_are_even_over_all_pairs_without_an_edge():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=5)
    drawn = NegativeSampler(mx).draw(np.zeros(7000, int), np.random.default_rng(0))
    pairs, count = np.unique(drawn, axis=0, return_counts=True)
    free = [[0, 3], [0, 4], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]]
    assert pairs.tolist() == free
    assert (np.abs(count - 1000) < 4 * np.sqrt(1000)).all()


def test_a_full_layer_has_no_negatives():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 2], "a", num_nodes=3)
    with pytest.raises(InputError, match="at least 1 pairs without an edge in layer 'a', got 0"):
        NegativeSampler(mx).draw(np.zeros(1, int), np.random.default_rng(0))


@pytest.mark.parametrize("decimals", [1, 8])
def test_metrics_are_those_of_scikit_learn_with_and_without_ties(decimals):
    rng = np.random.default_rng(decimals)
    label = rng.integers(0, 2, 200)
    score = np.round(rng.random(200) + 0.3 * label, decimals)
    assert roc_auc(label, score) == pytest.approx(metrics.roc_auc_score(label, score))
    assert average_precision(label, score) == pytest.approx(metrics.average_precision_score(label, score))
    assert brier(label, score / 2) == pytest.approx(metrics.brier_score_loss(label, score / 2))
    assert accuracy(label, score, threshold=0.5) == pytest.approx(metrics.accuracy_score(label, score > 0.5))


def test_metrics_refuse_what_they_cannot_judge():
    with pytest.raises(InputError, match="labels of both kinds, got only 1"):
        roc_auc([1, 1], [0.1, 0.2])
    with pytest.raises(InputError, match="finite scores, got nan"):
        roc_auc([1, 0], [0.1, np.nan])
    with pytest.raises(InputError, match="one score per label"):
        roc_auc([1, 0], [0.1])
