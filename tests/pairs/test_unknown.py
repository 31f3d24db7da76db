"""Samples of unknown pairs: all where they are few, otherwise unbiased, and rich in pairs that look like links."""

import numpy as np
import pytest

from banditplex.multiplex import Multiplex
from banditplex.pairs.unknown import NearbyPairs, UnknownPairs
from banditplex.pairs.visibility import Visibility
from tests.quick import every


def layers(*, directed=False, num_nodes=30, seed=0):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, num_nodes, (2, 90))
    layer = np.repeat(["a", "b", "c"], 30)
    return Multiplex.from_edges(*ends, layer, num_nodes=num_nodes, directed=directed, self_loops="drop")


def sampler(mx, hide="layer"):
    visibility = Visibility(hide, mx.directed)
    return UnknownPairs(mx, visibility.known_pairs(mx), visibility.negative_sampler(mx))


@pytest.mark.parametrize("num_nodes", [30, 60])  # one of 5 and of 16 pairs is linked: a matrix product, and walks
def test_probabilities_of_walks_are_those_of_a_plain_loop(num_nodes):
    mx = layers(num_nodes=num_nodes)
    linked = np.eye(mx.num_nodes, dtype=bool)
    for u, v in mx.edge_index.T.tolist():
        linked[u, v] = linked[v, u] = True
    expected = np.zeros(linked.shape)
    for u, middle in np.argwhere(linked).tolist():
        for v in np.flatnonzero(linked[middle]).tolist():
            expected[u, v] += 1 / linked.sum() / linked[middle].sum()
    pairs = np.argwhere(np.ones(linked.shape))
    nearby = NearbyPairs(mx)
    assert nearby.probability(pairs) == pytest.approx(expected.ravel())
    drawn, size = nearby.draw(200_000, np.random.default_rng(0)), 200_000
    share = np.bincount(drawn @ [mx.num_nodes, 1], minlength=len(pairs)) / size
    error = np.sqrt(expected * (1 - expected) / size).ravel()
    assert (np.abs(share - expected.ravel()) <= 5 * error).all()


@pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
@pytest.mark.parametrize("directed", [False, True])
def test_few_unknown_pairs_are_listed(directed, hide):
    mx = layers(directed=directed)
    which, pairs, weight = sampler(mx, hide).sample(np.array([1]), 2000, np.random.default_rng(0))
    assert not which.any()
    known = Visibility(hide, directed).known_pairs(mx)
    assert len(pairs) == known.num_free()[1]
    assert weight.tolist() == [1.0] * len(pairs)
    assert not known.has(np.ones(len(pairs), np.int64), pairs).any()
    assert len(np.unique(known.keys(np.ones(len(pairs), np.int64), pairs))) == len(pairs)


@pytest.mark.parametrize(
    ("directed", "hide"), every(3, [(False, "layer"), (False, "pair"), (True, "edge"), (True, "layer")])
)
def test_weights_make_a_sample_stand_for_all_unknown_pairs(directed, hide):
    """Over 500 samples, the mean weight of each unknown pair is 1."""
    mx = layers(directed=directed, num_nodes=20)
    visibility, rng, rounds = Visibility(hide, directed), np.random.default_rng(0), 500
    known, unknown = visibility.known_pairs(mx), sampler(mx, hide)
    found = np.zeros((rounds, 20**2))
    for row in found:
        _, pairs, weight = unknown.sample(np.array([2]), 40, rng)
        assert not known.has(np.full(len(pairs), 2), pairs).any()
        assert weight.max() <= 2 * known.num_free()[2] / 40 + 1e-9
        np.add.at(row, known.keys(np.zeros(len(pairs), np.int64), pairs), weight)
    free = known.free_pairs(2)[1] % 20**2
    error = found.std(axis=0) / np.sqrt(rounds)
    assert (np.abs(found.mean(axis=0)[free] - 1) < 5 * error[free]).all()
    assert np.delete(found, free, axis=1).sum() == 0


def test_pairs_that_share_a_neighbour_are_sampled_more_often():
    mx = layers(num_nodes=2_000)
    _, pairs, weight = sampler(mx).sample(np.array([0]), 1_000, np.random.default_rng(0))
    near = NearbyPairs(mx).probability(pairs) > 0
    assert near.mean() > 0.05
    assert weight[near].sum() < 0.001 * weight.sum()


def test_several_layers_at_once():
    """Layers 0 and 2 are sampled; layer 1 has so many edges that its unknown pairs are listed: 435 - 420 = 15."""
    mx = layers()
    every = np.stack(np.triu_indices(30, 1))
    ends = np.concatenate([mx.edges("a"), every[:, :420], mx.edges("c")], axis=1)
    full = np.repeat(["a", "b", "c"], [mx.edges("a").shape[1], 420, mx.edges("c").shape[1]])
    mx = Multiplex.from_edges(*ends, full, num_nodes=30)
    which, pairs, weight = sampler(mx).sample(np.array([2, 1, 0]), 40, np.random.default_rng(0))
    known = Visibility("layer", False).known_pairs(mx)
    layer = np.array([2, 1, 0])[which]
    assert not known.has(layer, pairs).any()
    assert (np.diff(which) >= 0).all()
    assert weight[which == 1].tolist() == [1.0] * 15
    assert {tuple(pair) for pair in pairs[which == 1].tolist()} == {tuple(pair) for pair in every[:, 420:].T.tolist()}
    for number in (0, 2):
        assert 20 <= np.sum(which == number) <= 40
        assert weight[which == number].sum() == pytest.approx(known.num_free()[layer[which == number][0]], rel=0.3)
