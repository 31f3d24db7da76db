"""Look up which pairs are edges: each pair has an integer key, and keys are found by binary search."""

from typing import TYPE_CHECKING

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex

if TYPE_CHECKING:
    from banditplex.pairs.space import PairSpace

MANY = 1 << 14  # with more keys than this, sorting them before the lookup is faster


class KnownPairs:
    """The pairs that are edges of a multiplex, so that they are not drawn as negatives. Self loops are ignored.

    Parameters: `mx`: the multiplex whose edges are known. `everywhere`: whether an edge of one layer counts in all
    layers. `ordered`: whether (u, v) and (v, u) are different pairs. None: only in a directed multiplex.

    `space` is set by `banditplex.pairs.space.restrict` if not every other pair is a negative; `num_pairs`, `num_free`
    and `free_pairs` then count and list only its pairs.
    """

    def __init__(self, mx: Multiplex, *, everywhere: bool = False, ordered: bool | None = None) -> None:
        check_key_size(mx.num_layers, mx.num_nodes)
        self.num_nodes, self.num_layers = mx.num_nodes, mx.num_layers
        self.everywhere, self.directed = everywhere, mx.directed
        self.ordered = mx.directed if ordered is None else ordered
        self.space: PairSpace | None = None
        no_loop = mx.edge_index[0] != mx.edge_index[1]
        keys = self._lookup_keys(self.keys(mx.edge_layer[no_loop], mx.edge_index[:, no_loop].T))
        self._sorted = distinct(keys) if everywhere or self.ordered != mx.directed else keys
        self._in_all = np.empty(0, np.int64)  # keys, without a layer, of pairs that count in all layers

    def keys(self, layer: Ints, pairs: Ints) -> Ints:
        """Return the key of each pair (n, 2) of node indices in its layer (n,); equal pairs have equal keys."""
        return pair_keys(layer, pairs, self.num_nodes, ordered=self.ordered)

    def has_keys(self, keys: Ints) -> Bools:
        """Return for each key whether its pair is known."""
        return contains(self._sorted, self._lookup_keys(keys)) | contains(self._in_all, keys % self.num_nodes**2)

    def has(self, layer: Ints, pairs: Ints) -> Bools:
        """Return for each pair (n, 2) whether it is known in its layer (n,)."""
        return self.has_keys(self.keys(layer, pairs))

    def add(self, layer: Ints, pairs: Ints) -> None:
        """Add known pairs (n, 2) of layers (n,)."""
        self._sorted = np.union1d(self._sorted, self._lookup_keys(self.keys(layer, pairs)))

    def add_to_all(self, pairs: Ints) -> None:
        """Add pairs (n, 2) that are known in all layers."""
        self._in_all = np.union1d(self._in_all, self.keys(np.zeros(len(pairs), np.int64), pairs))
        self._sorted = self._sorted[~contains(self._in_all, self._sorted % self.num_nodes**2)]

    def _lookup_keys(self, keys: Ints) -> Ints:
        """Return keys as they are stored: with `everywhere`, without the layer."""
        return keys % self.num_nodes**2 if self.everywhere else keys

    def num_pairs(self) -> Ints:
        """Return the number of pairs of each layer, known or not, (num_layers,)."""
        if self.space is not None:
            return self.space.num_pairs(ordered=self.ordered)
        pairs = self.num_nodes * (self.num_nodes - 1) // (1 if self.ordered else 2)
        return np.full(self.num_layers, pairs)

    def num_free(self) -> Ints:
        """Return the number of pairs that are not known in each layer, (num_layers,)."""
        if self.everywhere:
            return self.num_pairs() - self._num_in_all(self._sorted)
        bounds = np.arange(self.num_layers + 1) * self.num_nodes**2
        return self.num_pairs() - np.diff(np.searchsorted(self._sorted, bounds)) - self._num_in_all(self._in_all)

    def _num_in_all(self, keys: Ints) -> Ints | int:
        """Return how many pairs, whose keys are without a layer, each layer may link."""
        if self.space is None:
            return len(keys)
        return self.space.num_inside(np.stack(np.divmod(keys, self.num_nodes), 1), ordered=self.ordered)

    def degrees(self) -> Ints:
        """Return the number of known pairs of each node (num_nodes,), summed over layers."""
        of_layers, of_all = (
            np.bincount(np.concatenate(np.divmod(keys % self.num_nodes**2, self.num_nodes)), minlength=self.num_nodes)
            for keys in (self._sorted, self._in_all)
        )
        return of_layers + self.num_layers * of_all

    def free_pairs(self, layer: int) -> tuple[Ints, Ints]:
        """Return all pairs (f, 2) that are not known in a layer, and their keys (f,).

        Unless pairs are ordered, the smaller index comes first. This enumerates all pairs of nodes: use it only for
        layers in which nearly all of them are known.
        """
        if self.space is None:
            pairs = np.stack(np.triu_indices(self.num_nodes, 1), axis=1)
            pairs = np.concatenate([pairs, pairs[:, ::-1]]) if self.ordered else pairs
        else:
            pairs = self.space.all_pairs(layer)
            pairs = pairs if self.ordered else np.sort(pairs, axis=1)
        keys = self.keys(np.full(len(pairs), layer), pairs)
        free = ~self.has_keys(keys)
        if self.space is not None:
            free &= ~repeated(keys)  # of both directions, one
        return pairs[free], keys[free]

    def orient(self, layer: Ints, pairs: Ints, rng: np.random.Generator) -> Ints:
        """Return pairs (n, 2) of layers (n,) in a direction that the layer may link, at random if both are."""
        if not self.directed:
            return pairs
        if self.space is None:
            return rng.permuted(pairs, axis=1)
        forward, backward = (self.space.contains(layer, each) for each in (pairs, pairs[:, ::-1]))
        flip = backward & (~forward | (rng.random(len(pairs)) < 0.5))
        return np.where(flip[:, None], pairs[:, ::-1], pairs)


def check_key_size(num_layers: int, num_nodes: int) -> None:
    """Refuse multiplexes whose pairs have no 64-bit keys."""
    if num_layers * num_nodes**2 >= 2**63:
        got = f"{num_layers:,} layers and {num_nodes:,} nodes"
        raise InputError(f"Expected layers x nodes x nodes below 2**63, got {got}.")


def pair_keys(layer: Ints, pairs: Ints, num_nodes: int, *, ordered: bool) -> Ints:
    """Return an integer key for each pair (n, 2) in its layer (n,); (u, v) and (v, u) share it unless `ordered`."""
    source, destination = pairs[:, 0], pairs[:, 1]
    if not ordered:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return (layer * num_nodes + source) * num_nodes + destination


def contains(sorted_keys: Ints, keys: Ints) -> Bools:
    """Return for each key whether it is in a sorted array."""
    if not len(sorted_keys):
        return np.zeros(keys.shape, np.bool_)
    if len(keys) > MANY:  # sorted lookups hit the cache
        order = np.argsort(keys, kind="stable")
        found = np.empty(len(keys), np.bool_)
        found[order] = _search(sorted_keys, keys[order])
        return found
    return _search(sorted_keys, keys)


def _search(sorted_keys: Ints, keys: Ints) -> Bools:
    position = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return sorted_keys[position] == keys


def distinct(keys: Ints) -> Ints:
    """Return the different keys, sorted: what `np.unique` does by hashing, which takes many times as long."""
    ordered = np.sort(keys)
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def repeated(keys: Ints) -> Bools:
    """Return for each key (n,) whether it repeats an earlier one."""
    repeats = np.ones(len(keys), np.bool_)
    repeats[np.unique(keys, return_index=True)[1]] = False
    return repeats


def repeated_in_rows(keys: Ints) -> Bools:
    """Return for each key (p, m) whether it repeats an earlier one of its row."""
    order = np.argsort(keys, axis=1, kind="stable")
    ranked = np.take_along_axis(keys, order, 1)
    repeats = np.zeros(keys.shape, np.bool_)
    np.put_along_axis(repeats, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], 1)
    return repeats


def in_order(source: Ints, destination: Ints, mx: Multiplex) -> Ints:
    """Return pairs (n, 2), with the smaller index first unless the multiplex is directed."""
    if not mx.directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return np.stack([source, destination], 1)
