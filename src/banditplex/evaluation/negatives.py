"""Pairs that are no edges, drawn evenly."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex

Ints = NDArray[np.int64]


class NegativeSampler:
    """Draws pairs that are no edges, evenly and vectorised; what it needs to know of the multiplex is kept.

    The multiplex that is passed decides what is known: pass the training graph for training negatives, and the
    full graph for test negatives. Self pairs are never drawn; undirected pairs have their smaller index first.

    >>> mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=4)
    >>> drawn = NegativeSampler(mx).draw(np.zeros(3, int), np.random.default_rng(0), distinct=True)
    >>> sorted(map(tuple, drawn.tolist()))
    [(0, 3), (1, 2), (2, 3)]
    """

    def __init__(self, mx: Multiplex) -> None:
        self._mx = mx
        self._known = self._keys(mx.edge_layer, mx.edge_index.T)
        pairs = mx.num_nodes * (mx.num_nodes - 1) // (1 if mx.directed else 2)
        loops = np.bincount(mx.edge_layer[mx.edge_index[0] == mx.edge_index[1]], minlength=mx.num_layers)
        self._free = pairs - (mx.layer_sizes - loops)

    def draw(self, layer: Ints, rng: np.random.Generator, *, distinct: bool = False) -> Ints:
        """Return for each entry of `layer` (n,), a layer index, one pair (n, 2) that is no edge there.

        With `distinct`, no pair comes twice in one layer.
        """
        self._check_room(layer, distinct=distinct)
        pairs = np.zeros((len(layer), 2), np.int64)
        taken = np.empty(0, np.int64)
        missing = np.arange(len(layer))
        while len(missing):
            drawn = self._pairs(len(missing), rng)
            key = self._keys(layer[missing], drawn)
            good = ~_contains(self._known, key)
            if distinct:
                first = np.zeros(len(key), np.bool_)
                first[np.unique(key, return_index=True)[1]] = True
                good &= first & ~_contains(taken, key)
                taken = np.sort(np.concatenate([taken, key[good]]))
            pairs[missing[good]] = drawn[good]
            missing = missing[~good]
        return pairs

    def _pairs(self, size: int, rng: np.random.Generator) -> Ints:
        source = rng.integers(0, self._mx.num_nodes, size)
        destination = rng.integers(0, self._mx.num_nodes - 1, size)
        destination += destination >= source
        pairs = np.stack([source, destination], 1)
        return pairs if self._mx.directed else np.sort(pairs, axis=1)

    def _keys(self, layer: Ints, pairs: Ints) -> Ints:
        return (layer * self._mx.num_nodes + pairs[:, 0]) * self._mx.num_nodes + pairs[:, 1]

    def _check_room(self, layer: Ints, *, distinct: bool) -> None:
        """Refuse to look for non-edges in a layer that has none, or too few."""
        asked, wanted = np.unique(layer, return_counts=True)
        need = wanted if distinct else np.ones_like(wanted)
        short = np.flatnonzero(self._free[asked] < need)
        if len(short):
            at = int(asked[short[0]])
            raise InputError(
                f"Expected at least {need[short[0]]} pairs without an edge in layer {self._mx.layer_names[at]!r}, "
                f"got {self._free[at]}."
            )


class GivenNegatives:
    """Draws from lists of negatives that the user gave, evenly and with replacement.

    Parameters: `given` maps layer indices to pairs (n, 2) of node indices.
    """

    def __init__(self, given: Mapping[int, Ints], num_layers: int) -> None:
        size = np.zeros(num_layers, np.int64)
        for layer, pairs in given.items():
            size[layer] = len(pairs)
        self._size, self._start = size, np.cumsum(size) - size
        self._pairs = np.concatenate([given[layer] for layer in sorted(given)])

    def draw(self, layer: Ints, rng: np.random.Generator) -> Ints:
        """Return for each entry of `layer` (n,), a layer index, one of the pairs given for it."""
        drawn: Ints = self._pairs[self._start[layer] + rng.integers(0, self._size[layer])]
        return drawn


def _contains(sorted_keys: Ints, key: Ints) -> NDArray[np.bool_]:
    if not len(sorted_keys):
        return np.zeros(len(key), np.bool_)
    place = np.minimum(np.searchsorted(sorted_keys, key), len(sorted_keys) - 1)
    found: NDArray[np.bool_] = sorted_keys[place] == key
    return found
