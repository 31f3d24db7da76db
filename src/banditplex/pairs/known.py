"""Which pairs are edges: a sorted list of integers, one per pair, that is searched by halves."""

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MANY = 1 << 14
"""From so many keys on, sorting them before they are looked for is worth its time."""


class KnownPairs:
    """The pairs of two nodes that are edges of a multiplex, in each layer or, with `everywhere`, in any layer.

    Parameters
    ----------
    mx
        The multiplex that is known.
    everywhere
        Whether an edge of one layer counts in all layers.
    ordered
        Whether (u, v) and (v, u) are two pairs. None: if the multiplex is directed.

    >>> mx = Multiplex.from_edges([0, 1, 0], [1, 2, 2], ["a", "a", "b"], num_nodes=4)
    >>> KnownPairs(mx).has(np.array([0, 1]), np.array([[1, 0], [1, 0]]))
    array([ True, False])
    >>> KnownPairs(mx).free(), KnownPairs(mx, everywhere=True).free()  # of 6 pairs of nodes
    (array([4, 5]), array([3, 3]))
    """

    def __init__(self, mx: Multiplex, *, everywhere: bool = False, ordered: bool | None = None) -> None:
        if mx.num_layers * mx.num_nodes**2 >= 2**63:
            raise InputError(
                f"Expected layers x nodes x nodes below 2**63, got {mx.num_layers:,} layers and {mx.num_nodes:,} nodes."
            )
        self.num_nodes, self.num_layers = mx.num_nodes, mx.num_layers
        self.everywhere, self.directed = everywhere, mx.directed
        self.ordered = mx.directed if ordered is None else ordered
        proper = mx.edge_index[0] != mx.edge_index[1]
        keys = self._reduced(self.keys(mx.edge_layer[proper], mx.edge_index[:, proper].T))
        in_order = not everywhere and self.ordered == mx.directed
        self._sorted = keys if in_order else _distinct(np.sort(keys))

    def keys(self, layer: Ints, pairs: Ints) -> Ints:
        """Return an integer for each pair (n, 2) of node indices in its layer (n,); equal pairs have equal ones."""
        return pair_keys(layer, pairs, self.num_nodes, ordered=self.ordered)

    def has_keys(self, keys: Ints) -> Bools:
        """Say for each key whether its pair is known."""
        return contains(self._sorted, self._reduced(keys))

    def has(self, layer: Ints, pairs: Ints) -> Bools:
        """Say for each pair (n, 2) whether it is known in its layer (n,)."""
        return self.has_keys(self.keys(layer, pairs))

    def add(self, layer: Ints, pairs: Ints) -> None:
        """Let more pairs (n, 2) be known in their layers (n,)."""
        self._sorted = merged(self._sorted, np.sort(self._reduced(self.keys(layer, pairs))))

    def _reduced(self, keys: Ints) -> Ints:
        """Return keys without their layer, where layers make no difference."""
        return keys % self.num_nodes**2 if self.everywhere else keys

    def free(self) -> Ints:
        """Return how many pairs of two nodes are not known in each layer, (num_layers,)."""
        pairs = self.num_nodes * (self.num_nodes - 1) // (1 if self.ordered else 2)
        if self.everywhere:
            return np.full(self.num_layers, pairs - len(self._sorted))
        bounds = np.arange(self.num_layers + 1) * self.num_nodes**2
        return pairs - np.diff(np.searchsorted(self._sorted, bounds))

    def partners(self) -> Ints:
        """Return how many pairs with each node (num_nodes,) are known, in all layers together."""
        source, destination = np.divmod(self._sorted % self.num_nodes**2, self.num_nodes)
        return np.bincount(source, minlength=self.num_nodes) + np.bincount(destination, minlength=self.num_nodes)

    def free_pairs(self, layer: int) -> tuple[Ints, Ints]:
        """Return all pairs (f, 2) of two nodes that are not known in a layer, smaller index first, and their keys.

        For layers in which nearly all pairs are known: it goes through all pairs there are.
        """
        pairs = np.stack(np.triu_indices(self.num_nodes, 1), axis=1)
        keys = self.keys(np.full(len(pairs), layer), pairs)
        free = ~self.has_keys(keys)
        return pairs[free], keys[free]


def pair_keys(layer: Ints, pairs: Ints, num_nodes: int, *, ordered: bool) -> Ints:
    """Return an integer for each pair (n, 2) in its layer (n,); if not `ordered`, (v, u) has that of (u, v).

    >>> pair_keys(np.array([0, 0, 1]), np.array([[1, 2], [2, 1], [1, 2]]), 10, ordered=False)
    array([ 12,  12, 112])
    """
    source, destination = pairs[:, 0], pairs[:, 1]
    if not ordered:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    return (layer * num_nodes + source) * num_nodes + destination


def contains(sorted_keys: Ints, keys: Ints) -> Bools:
    """Say for each key whether it stands in a sorted list.

    >>> contains(np.array([2, 5]), np.array([5, 6, 2]))
    array([ True, False,  True])
    """
    if not len(sorted_keys):
        return np.zeros(keys.shape, np.bool_)
    if len(keys) > MANY:  # in rising order each search begins where the cache still is
        order = np.argsort(keys, kind="stable")
        found = np.empty(len(keys), np.bool_)
        found[order] = _search(sorted_keys, keys[order])
        return found
    return _search(sorted_keys, keys)


def _search(sorted_keys: Ints, keys: Ints) -> Bools:
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: Bools = sorted_keys[place] == keys
    return found


def merged(a: Ints, b: Ints) -> Ints:
    """Return what stands in either of two sorted lists, sorted, each key once.

    >>> merged(np.array([1, 4]), np.array([1, 2]))
    array([1, 2, 4])
    """
    return _distinct(np.sort(np.concatenate([a, b]), kind="stable"))  # two runs, which this kind of sort merges


def _distinct(sorted_keys: Ints) -> Ints:
    new = np.ones(len(sorted_keys), np.bool_)
    new[1:] = sorted_keys[1:] != sorted_keys[:-1]
    return sorted_keys[new]


def repeated(keys: Ints) -> Bools:
    """Say for each key (n,) whether it came before.

    >>> repeated(np.array([3, 1, 3]))
    array([False, False,  True])
    """
    again = np.ones(len(keys), np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    return again


def repeated_in_rows(keys: Ints) -> Bools:
    """Say for each key (p, m) whether it came before in its row."""
    order = np.argsort(keys, axis=1, kind="stable")
    ranked = np.take_along_axis(keys, order, 1)
    again = np.zeros(keys.shape, np.bool_)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], 1)
    return again
