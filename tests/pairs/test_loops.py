"""Known pairs, kept edges and walks are those that a plain loop finds."""

from itertools import product

import numpy as np
import pytest

from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.unknown import NearbyPairs

NUM_NODES = 9


def multiplex(directed):
    rng = np.random.default_rng(0)
    ends, layer = rng.integers(0, NUM_NODES, (2, 60)), rng.integers(0, 3, 60)
    return Multiplex.from_edges(*ends, layer, num_nodes=NUM_NODES, weight=rng.random(60), directed=directed)


@pytest.mark.parametrize(("directed", "everywhere", "ordered"), list(product([False, True], repeat=3)))
def test_known_pairs_are_those_of_a_set(directed, everywhere, ordered):
    mx = multiplex(directed)
    layers = {name: {tuple(pair) for pair in mx.edges(name).T.tolist()} for name in mx.layer_names}
    pairs = np.array(list(product(range(NUM_NODES), repeat=2)))
    pairs = pairs[pairs[:, 0] < pairs[:, 1]] if ordered and not directed else pairs[pairs[:, 0] != pairs[:, 1]]
    for number, name in enumerate(mx.layer_names):
        edges = set().union(*layers.values()) if everywhere else layers[name]
        expected = [(u, v) in edges or (not ordered and (v, u) in edges) for u, v in pairs.tolist()]
        found = KnownPairs(mx, everywhere=everywhere, ordered=ordered).has(np.full(len(pairs), number), pairs)
        assert found.tolist() == expected


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_kept_edges_are_those_of_a_loop(share):
    mx = multiplex(directed=True)
    keep = np.random.default_rng(1).random(mx.num_edges) < share
    kept, rows = mx.keep_edges(keep), zip(mx.edge_layer, *mx.edge_index, mx.weight, keep, strict=True)
    expected = [row[:4] for row in rows if row[4]]
    assert list(zip(kept.edge_layer, *kept.edge_index, kept.weight if len(expected) else (), strict=True)) == expected


def test_walks_of_two_steps_are_those_of_a_matrix():
    mx = multiplex(directed=False)
    matrix = np.eye(NUM_NODES)
    for u, v in mx.edge_index.T:
        matrix[u, v] = matrix[v, u] = 1
    pairs = np.array(list(product(range(NUM_NODES), repeat=2)))
    expected = matrix @ (matrix / matrix.sum(1, keepdims=True)) / matrix.sum()
    np.testing.assert_allclose(NearbyPairs(mx).probability(pairs), expected[tuple(pairs.T)])
