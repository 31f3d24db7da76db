"""Candidates: few of all pairs of a large layer, among which nearly all pairs of the highest scores are.

Every way to find them has a cheap score, and keeps the `size` pairs of the highest: pairs that other layers link, pairs
with common neighbours, pairs of nodes that lie near each other, and pairs of nodes with many edges. Known edges and
pairs that the layer cannot link are never among them. Time and memory are bounded, whatever the graph.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from banditplex.arrays import Bools, Floats, Ints
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import PairSpace, contains, pair_keys

SIZE = 1 << 16  # pairs that each way keeps
MAX_WORK = 1 << 30  # paths of two steps that are followed; beyond, nodes of the most neighbours are not passed through
PATHS = 1 << 22  # paths of two steps in memory at once
MAX_NODES = 1 << 15  # nodes whose positions are compared with each other, those with the most neighbours
CELLS = 1 << 24  # products of positions in memory at once
WAYS = {  # how candidates are found, in words
    "linked": "linked in other layers",
    "neighbours": "with common neighbours",
    "positions": "near each other by position",
    "degrees": "of nodes with many edges",
}


class Positions(NamedTuple):
    """Vectors of nodes whose products, weighted by `values`, say how near two nodes are."""

    vectors: NDArray[np.float32]  # (num_nodes, r)
    values: NDArray[np.float32]  # (r,)


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer in which candidates are sought: which of its pairs are free."""

    mx: Multiplex
    index: int
    space: PairSpace | None = None  # limits its pairs if nodes have types

    @cached_property
    def known(self) -> Ints:
        """The keys of its edges, sorted."""
        return np.sort(self.keys(self.mx.edges(self.mx.layer_names[self.index]).T))

    def keys(self, pairs: Ints) -> Ints:
        """Return a key for each pair (n, 2); of an undirected pair it is the same both ways."""
        return pair_keys(np.zeros(len(pairs), np.int64), pairs, self.mx.num_nodes, ordered=self.mx.directed)

    def pairs(self, keys: Ints) -> Ints:
        """Return the pairs (n, 2) of keys (n,)."""
        return np.stack(np.divmod(keys, self.mx.num_nodes), 1)

    def free(self, keys: Ints) -> Bools:
        """Say for each key whether its pair is no edge, no self pair, and may be linked."""
        pairs = self.pairs(keys)
        free: Bools = (pairs[:, 0] != pairs[:, 1]) & ~contains(self.known, keys)
        if self.space is not None:
            free[free] = self.space.contains(np.full(np.count_nonzero(free), self.index), pairs[free])
        return free


class Best:
    """Keeps the keys of the `size` highest scores among all that are offered; each key may be offered once."""

    def __init__(self, layer: Layer, size: int) -> None:
        self._layer, self._size = layer, size
        self._keys, self._scores = np.empty(0, np.int64), np.empty(0)
        self.least = -np.inf  # scores up to this one are not kept any more

    def offer(self, keys: Ints, scores: Floats) -> None:
        """Offer pairs by their keys (n,); those that are not free are left out."""
        high = scores > self.least
        keys, scores = keys[high], scores[high]
        enough = self._size + len(self._layer.known)  # so many of the highest hold `size` that are no edges
        if self._layer.space is None and len(keys) > 2 * enough:
            highest = np.argpartition(-scores, enough - 1)[:enough]
            keys, scores = keys[highest], scores[highest]
        free = self._layer.free(keys)
        self._keys = np.concatenate([self._keys, keys[free]])
        self._scores = np.concatenate([self._scores, scores[free]])
        if len(self._keys) > 2 * self._size:
            self._cut()

    def _cut(self) -> None:
        if len(self._keys) > self._size:
            order = np.argpartition(-self._scores, self._size - 1)[: self._size]
            self._keys, self._scores = self._keys[order], self._scores[order]
            self.least = float(self._scores.min())

    def keys(self) -> Ints:
        """Return the keys that were kept."""
        self._cut()
        return self._keys


def find_candidates(
    mx: Multiplex, layer: int, *, size: int = SIZE, space: PairSpace | None = None, positions: Iterable[Positions] = ()
) -> dict[str, Ints]:
    """Return candidates (n, 2) by the way in which they were found (see `WAYS`), at most 3 * `size` for each way."""
    place = Layer(mx, layer, space)
    own, union = adjacency(mx, layer), adjacency(mx, None)
    found = {
        "linked": [linked(place, union, 2 * size)],
        "neighbours": [two_steps(place, matrix, size) for matrix in (own, union)],
        "degrees": [by_degrees(place, *sizes, size) for sizes in _sizes(mx, layer, union)],
        "positions": [nearest(place, each, np.diff(union.indptr), size) for each in positions],
    }
    empty = np.empty(0, np.int64)
    return {way: place.pairs(np.unique(np.concatenate([empty, *found[way]]))) for way in WAYS}


def adjacency(mx: Multiplex, layer: int | None) -> sp.csr_array:
    """Return the symmetric matrix of a layer, without self loops; None: of all, with the number of edges of a pair."""
    ends = mx.edge_index if layer is None else mx.edges(mx.layer_names[layer])
    ends = ends[:, ends[0] != ends[1]]
    both = np.concatenate([ends, ends[::-1]], axis=1)
    matrix = sp.csr_array((np.ones(both.shape[1]), (both[0], both[1])), shape=(mx.num_nodes, mx.num_nodes))
    matrix.sum_duplicates()
    if layer is not None:
        matrix.data[:] = 1
    return matrix


def linked(layer: Layer, union: sp.csr_array, size: int) -> Ints:
    """Return pairs with the most edges in other layers, or the other way round; of as many, those of larger nodes."""
    pairs, strength = np.stack(union.nonzero(), 1), union.sum(axis=1)
    scores = union.data - 1 / (1 + strength[pairs[:, 0]] * strength[pairs[:, 1]])
    best, kept = Best(layer, size), layer.mx.directed | (pairs[:, 0] < pairs[:, 1])
    best.offer(layer.keys(pairs[kept]), scores[kept])
    return best.keys()


def two_steps(layer: Layer, matrix: sp.csr_array, size: int) -> Ints:
    """Return pairs with common neighbours, those of the largest resource allocation first.

    The resource allocation of a pair is the sum over common neighbours w of a_uw a_wv / (sum of a_w).
    """
    degree = np.diff(matrix.indptr)
    order = np.argsort(degree, kind="stable")
    passed = np.zeros(len(degree))
    cheap = order[np.cumsum(degree[order].astype(np.float64) ** 2) <= MAX_WORK]
    passed[cheap] = 1 / np.maximum(matrix.sum(axis=1)[cheap], 1)
    first = matrix @ sp.diags_array(passed)
    first.eliminate_zeros()
    best = Best(layer, size)
    work = first.astype(np.bool_).astype(np.int64) @ degree
    for low, high in _parts(work, PATHS):
        block = (first[low:high] @ matrix).tocoo()
        keep = np.flatnonzero((block.row + low < block.col) & (block.data > best.least))
        pairs, scores = np.stack([block.row[keep] + np.int64(low), block.col[keep]], 1), block.data[keep]
        best.offer(layer.keys(pairs), scores)
        if layer.mx.directed:
            best.offer(layer.keys(pairs[:, ::-1]), scores)
    return best.keys()


def nearest(layer: Layer, positions: Positions, degree: Ints, size: int) -> Ints:
    """Return pairs with the largest products of positions, among the `MAX_NODES` nodes of the highest `degree`."""
    nodes = np.sort(np.argsort(-degree, kind="stable")[:MAX_NODES])
    vectors = positions.vectors[nodes]
    weighted = vectors * positions.values
    best, rows = Best(layer, size), max(1, CELLS // max(1, len(nodes)))
    for low in range(0, len(nodes), rows):
        products = weighted[low : low + rows] @ vectors[low:].T
        row, column = np.nonzero(products > max(best.least, 0))
        later = column > row
        row, column = row[later], column[later]
        scores = products[row, column].astype(np.float64)
        pairs = np.stack([nodes[low + row], nodes[low + column]], 1)
        best.offer(layer.keys(pairs), scores)
        if layer.mx.directed:
            best.offer(layer.keys(pairs[:, ::-1]), scores)
    return best.keys()


def by_degrees(layer: Layer, tails: Floats, heads: Floats, size: int) -> Ints:
    """Return pairs (u, v) with the largest tails[u] * heads[v]; an undirected pair counts the larger way round."""
    first, second = np.argsort(-tails, kind="stable"), np.argsort(-heads, kind="stable")
    wanted = min(len(tails) ** 2, 2 * (size + len(layer.known)) + len(tails))  # twice: either way round
    count = _hyperbola(tails[first], heads[second], wanted)
    row = np.repeat(np.arange(len(first)), count)
    column = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    pairs, scores = np.stack([first[row], second[column]], 1), tails[first[row]] * heads[second[column]]
    order = np.argsort(-scores, kind="stable")
    keys, place = np.unique(layer.keys(pairs[order]), return_index=True)
    best = Best(layer, size)
    best.offer(keys, scores[order][place])
    return best.keys()


def _sizes(mx: Multiplex, layer: int, union: sp.csr_array) -> list[tuple[Floats, Floats]]:
    """Return degrees of sources and destinations in a layer, and of one end there and of the other in all layers."""
    degree = [np.bincount(ends, minlength=mx.num_nodes).astype(float) for ends in mx.edges(mx.layer_names[layer])]
    out, into, strength = *degree, union.sum(axis=1)
    if mx.directed:
        return [(out, into), (out, strength), (strength, into)]
    return [(out + into, out + into), (out + into, strength)]


def _hyperbola(rows: Floats, columns: Floats, wanted: int) -> Ints:
    """Return how many first columns each row takes, so that about `wanted` products, the largest, are taken.

    Both are sorted, the largest first. Of equal products at the limit, some are taken.
    """
    rising = columns[::-1]

    def count(limit: float) -> Ints:
        least = limit / np.maximum(rows, 1e-9)
        return len(columns) - np.searchsorted(rising, least, side="left")

    low, high = 0.5, float(rows[0] * columns[0]) + 1 if len(rows) else 1.0
    while high - low > 0.25:  # count(low) is at least as large as wanted, or low is the least product
        middle = (low + high) / 2
        low, high = (middle, high) if count(middle).sum() >= wanted else (low, middle)
    found = count(low)
    over = np.cumsum(found) - found
    return np.clip(np.minimum(found, 4 * wanted - over), 0, None)


def _parts(work: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows whose work is about `size`, at least one row each."""
    total, low = np.cumsum(work), 0
    while low < len(work):
        before = total[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + size, side="right")))
        yield low, high
        low = high
