"""Unknown pairs: a sample, with weights, that stands for all pairs of nodes that are not edges of a layer.

In a sparse layer, uniform pairs hardly ever look like links: a uniform sample says nothing about the unknown pairs of
high scores. Half of the sample is therefore drawn among pairs that are linked or share a neighbour in some layer.
"""

from functools import cached_property

import numpy as np

from banditplex.arrays import Floats, Ints
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs, contains, distinct
from banditplex.pairs.negatives import NegativeSampler

WALKS_AT_ONCE = 1 << 12  # pairs whose common neighbours are counted at once
DENSE, MOST_NODES = 8, 1 << 12  # if one of so many pairs is linked, of few nodes, walks are a matrix product


class NearbyPairs:
    """Draws pairs at the ends of random walks of two steps on the union of all layers, with a loop at every node.

    A walk starts with a uniform entry of the adjacency matrix. Edge directions are ignored.
    """

    def __init__(self, mx: Multiplex) -> None:
        (source, destination), nodes = mx.edge_index, np.arange(mx.num_nodes)
        first, last = np.concatenate([source, destination, nodes]), np.concatenate([destination, source, nodes])
        self._num_nodes, self._keys = mx.num_nodes, distinct(first * mx.num_nodes + last)
        node, self._ends = np.divmod(self._keys, mx.num_nodes)
        self._start = np.searchsorted(node, np.arange(mx.num_nodes + 1))
        self._degree = np.diff(self._start)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return the first and last nodes (size, 2) of as many walks; they may be the same node."""
        entry = rng.integers(0, len(self._ends), size)
        first, middle = np.divmod(self._keys[entry], self._num_nodes)
        last = self._ends[self._start[middle] + rng.integers(0, self._degree[middle])]
        return np.stack([first, last], 1)

    def probability(self, pairs: Ints) -> Floats:
        """Return the probability (n,) of a walk from the first to the second node of each pair (n, 2)."""
        if self._num_nodes**2 <= DENSE * len(self._keys) and self._num_nodes <= MOST_NODES:
            return self._of_all_pairs[pairs[:, 0], pairs[:, 1]]
        few = np.argmin(self._degree[pairs], axis=1)[:, None]  # walks are as likely in either direction
        fewer, other = (np.take_along_axis(pairs, column, 1)[:, 0] for column in (few, 1 - few))
        parts = [np.empty(0)]
        for low in range(0, len(pairs), WALKS_AT_ONCE):
            first, last = fewer[low : low + WALKS_AT_ONCE], other[low : low + WALKS_AT_ONCE]
            count = self._degree[first]
            row = np.repeat(np.arange(len(first)), count)
            place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
            middle = self._ends[self._start[first][row] + place]
            shared = contains(self._keys, last[row] * self._num_nodes + middle)
            parts.append(np.bincount(row[shared], 1 / self._degree[middle[shared]], len(first)).astype(np.float64))
        return np.concatenate(parts) / len(self._ends)

    @cached_property
    def _of_all_pairs(self) -> Floats:
        """The probabilities of walks between all nodes, (num_nodes, num_nodes)."""
        linked = np.zeros((self._num_nodes, self._num_nodes))
        linked[np.divmod(self._keys, self._num_nodes)] = 1
        return (linked / self._degree) @ linked / len(self._ends)


class UnknownPairs:
    """Samples the pairs that are not known: half by random walks on `mx`, half from `uniform`."""

    def __init__(self, mx: Multiplex, known: KnownPairs, uniform: NegativeSampler) -> None:
        self._mx, self._known, self._uniform = mx, known, uniform
        self._free = known.num_free()
        self._nearby: NearbyPairs | None = None

    def sample(self, layers: Ints, size: int, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        """Return about `size` unknown pairs of each of some layers (m,).

        Returned are which of the layers a pair is for, sorted (n,), the pairs (n, 2), and for how many unknown pairs of
        the layer each stands (n,). Where there are no more than `size` unknown pairs, these are all of them, with
        weight 1. Otherwise the expected weight of every unknown pair in the sample is 1, and no weight is above twice
        the mean.
        """
        few = (self._mx.num_nodes**2 <= 4 * size) | (self._free[layers] <= size)
        listed = [self._list(layer, rng) for layer in layers[few].tolist()]
        which, pairs, weight = self._draw(layers[~few], size, rng)
        all_of_few = np.repeat(np.flatnonzero(few), [len(each) for each in listed])
        which = np.concatenate([all_of_few, np.flatnonzero(~few)[which]])
        weight = np.concatenate([np.ones(len(which) - len(pairs)), weight])
        pairs, order = np.concatenate([*listed, pairs]), np.argsort(which, kind="stable")
        return which[order], pairs[order], weight[order]

    def _list(self, layer: int, rng: np.random.Generator) -> Ints:
        """Return all unknown pairs (n, 2) of a layer."""
        pairs = self._known.free_pairs(layer)[0]
        if self._known.directed and not self._known.ordered:  # one direction of each, at random
            pairs = np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])
        return pairs

    def _draw(self, layers: Ints, size: int, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
        """Draw half of each layer's sample uniformly, the other half by random walks; see `sample`."""
        if not len(layers):
            return layers, np.empty((0, 2), np.int64), np.empty(0)
        if self._nearby is None:
            self._nearby = NearbyPairs(self._mx)
        half, place = size // 2, np.arange(len(layers))
        which = np.concatenate([np.repeat(place, half), np.repeat(place, size - half)])
        walked = self._nearby.draw((size - half) * len(layers), rng)
        if not self._known.directed:
            walked = np.sort(walked, axis=1)
        of_walk = layers[which[half * len(layers) :]]
        unknown = (walked[:, 0] != walked[:, 1]) & ~self._known.has(of_walk, walked)
        if self._known.space is not None:
            unknown &= self._known.space.contains(of_walk, walked)
        uniform = self._uniform.draw(np.repeat(layers, half), rng)
        pairs = np.concatenate([uniform, walked[unknown]])
        which = which[np.concatenate([np.ones(len(uniform), np.bool_), unknown])]
        ways = 1 if self._known.ordered else 2
        chance = (size - half) * ways * self._nearby.probability(pairs)
        return which, pairs, 1 / (half / self._free[layers[which]] + chance)
