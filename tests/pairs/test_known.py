"""Known pairs, beside plain sets."""

import numpy as np
import pytest

import banditplex as bx
from banditplex.pairs.known import KnownPairs


@pytest.mark.parametrize("ordered", [False, True])
def test_pairs_that_are_known_in_all_layers_count_once_in_each(ordered):
    """Beside a plain set of (layer, pair)."""
    mx = bx.Multiplex.from_edges([0, 1, 2, 3], [1, 2, 0, 1], ["a", "a", "b", "b"], num_nodes=5, directed=ordered)
    known, everywhere = KnownPairs(mx), np.array([[1, 0], [4, 3], [1, 0]])
    known.add_to_all(everywhere)

    def name(layer, pair):
        return (layer, *(pair if ordered else sorted(pair)))

    expected = {name(int(at), pair) for at, pair in zip(mx.edge_layer, mx.edge_index.T.tolist(), strict=True)}
    expected |= {name(layer, pair) for layer in range(2) for pair in everywhere.tolist()}
    every = [(u, v) for u in range(5) for v in range(5) if u != v]
    for layer in range(2):
        found = known.has(np.full(len(every), layer), np.array(every))
        assert found.tolist() == [name(layer, pair) in expected for pair in every]
        free = {name(layer, pair) for pair in every} - expected
        assert known.num_free()[layer] == len(free)
        assert {name(layer, pair) for pair in known.free_pairs(layer)[0].tolist()} == free
    assert known.degrees().tolist() == [sum(node in key[1:] for key in expected) for node in range(5)]
