"""Random walks in every layer of a multiplex at once, thousands of walkers side by side.

First order: the next node is a uniform neighbour (DeepWalk, Perozzi et al. 2014). Second order: the next node x of a
walk ..., t, v is drawn in proportion to 1/p if x = t, 1 if x is a neighbour of t, and 1/q otherwise (node2vec, Grover
and Leskovec 2016), by rejection: a uniform neighbour of v is kept with probability weight / largest weight.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from banditplex.baselines.columns import Bools, Ints
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import contains


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """Neighbour lists of all layers side by side: one row for each node of each layer that has a neighbour there.

    Layers are undirected, without weights and self loops; no row links two layers, so a walk stays in its layer.

    >>> graph = WalkGraph.of(Multiplex.from_edges([0, 1, 0], [1, 2, 1], ["a", "a", "b"], num_nodes=3))
    >>> graph.nodes.tolist(), graph.layer.tolist()
    ([0, 1, 2, 0, 1], [0, 0, 0, 1, 1])
    >>> first_order(graph, np.array([3]), 4, np.random.default_rng(0)).tolist()
    [[3, 4, 3, 4]]
    """

    num_nodes: int
    offsets: Ints  # (num_layers + 1,): rows of layer l are offsets[l] to offsets[l + 1] - 1
    nodes: Ints  # (rows,), sorted within a layer
    indptr: Ints  # (rows + 1,)
    neighbours: Ints  # rows, sorted within each list

    @classmethod
    def of(cls, mx: Multiplex) -> "WalkGraph":
        """Return the walk graph of a multiplex; the directions of its edges are ignored."""
        lists = mx.to_undirected().adjacency
        row_layer = np.repeat(np.arange(mx.num_layers), np.diff(lists.offsets))
        keys = row_layer * mx.num_nodes + lists.nodes
        layer = np.repeat(row_layer, lists.degrees)
        neighbours = np.searchsorted(keys, layer * mx.num_nodes + lists.neighbours)
        return cls(mx.num_nodes, lists.offsets, lists.nodes, lists.indptr, neighbours)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.nodes)

    @cached_property
    def layer(self) -> Ints:
        """The layer of each row."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def degree(self) -> Ints:
        """Number of neighbours of each row; at least 1."""
        return np.diff(self.indptr)

    @cached_property
    def _arcs(self) -> Ints:
        return np.repeat(np.arange(self.num_rows), self.degree) * self.num_rows + self.neighbours

    def rows(self, nodes: Ints, layer: int) -> Ints:
        """Return the row of each node in a layer; `num_rows` for nodes without a neighbour there."""
        start, stop = self.offsets[layer : layer + 2]
        place = start + np.searchsorted(self.nodes[start:stop], nodes)
        found = (place < stop) & (self.nodes[np.minimum(place, max(stop - 1, 0))] == nodes if stop > start else False)
        return np.where(found, place, self.num_rows)

    def linked(self, first: Ints, second: Ints) -> Bools:
        """Return whether rows are neighbours."""
        return contains(self._arcs, first * self.num_rows + second)

    def step(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return a uniform neighbour of each row."""
        return self.neighbours[self.indptr[rows] + (rng.random(len(rows)) * self.degree[rows]).astype(np.int64)]


def first_order(graph: WalkGraph, start: Ints, length: int, rng: np.random.Generator) -> Ints:
    """Return walks (n, length) of rows from the rows `start` (n,)."""
    walks = np.empty((length, len(start)), np.int64)
    walks[0] = start
    for step in range(1, length):
        walks[step] = graph.step(walks[step - 1], rng)
    return walks.T


def second_order(graph: WalkGraph, start: Ints, length: int, p: float, q: float, rng: np.random.Generator) -> Ints:
    """Return biased walks (n, length); `p` is the return parameter and `q` the in-out parameter of node2vec."""
    walks = np.empty((length, len(start)), np.int64)
    walks[:2] = first_order(graph, start, min(length, 2), rng).T
    largest = max(1 / p, 1.0, 1 / q)
    for step in range(2, length):
        before, here = walks[step - 2 : step]
        left = np.arange(len(start))
        while len(left):
            drawn = graph.step(here[left], rng)
            weight = np.where(graph.linked(drawn, before[left]), 1.0, 1 / q)
            weight[drawn == before[left]] = 1 / p
            kept = rng.random(len(left)) * largest < weight
            walks[step, left[kept]] = drawn[kept]
            left = left[~kept]
    return walks.T


def walk(graph: WalkGraph, start: Ints, length: int, rng: np.random.Generator, *, p: float, q: float) -> Ints:
    """Return walks (n, length): of first order if p = q = 1, where both orders have the same distribution."""
    if p == q == 1:
        return first_order(graph, start, length, rng)
    return second_order(graph, start, length, p, q, rng)
