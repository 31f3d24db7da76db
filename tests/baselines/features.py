"""Structural features of many pairs by scipy: a second opinion on `baselines/columns.py`.

They are those of a target layer, of the union of the others, and of each other layer.

`Visibility` says what is hidden of a pair. The features of a training edge are exactly those of the multiplex without
it, degrees and similarities of layers included.

Neighbours, degrees and paths of a directed multiplex are those of its undirected layers, in which two nodes are linked
if there is an edge in either direction. Features of directions are added: the reverse edge, paths u -> w -> v, the
out-degree of u and the in-degree of v.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from banditplex.multiplex import Multiplex
from banditplex.pairs.known import pair_keys
from banditplex.pairs.visibility import Visibility
from tests.baselines.graph import Bools, Columns, Floats, Graph, Ints, cross_sums

MAX_OTHERS = 40
"""With more layers than this, features of each other layer are left out."""


class StructuralFeatures:
    """Computes features of pairs (n, 2) of node indices in a target layer, given by its index.

    Every method returns columns (n,) by name; `scaled` turns them into a matrix for a model.

    >>> mx = Multiplex.from_edges([0, 0, 1, 0], [1, 2, 2, 1], ["a", "a", "a", "b"], num_nodes=3)
    >>> features = StructuralFeatures(mx, Visibility("layer"))
    >>> columns = features.own(np.array([[0, 1]]), 0)  # without its own edge
    >>> columns["common"], columns["low degree"], features.overlap(np.array([[0, 1]]), 0)["overlap"]
    (array([1.]), array([1.]), array([1.]))
    """

    def __init__(self, mx: Multiplex, visibility: Visibility) -> None:
        self.mx, self.visibility = mx, visibility
        self._linked = Incidence(mx, ordered=False)
        self.arcs = Incidence(mx, ordered=True) if mx.directed else self._linked
        self._target: tuple[int, _Target] | None = None
        self._graphs: dict[int, Graph] = {}
        self._rest: tuple[int, Graph] | None = None  # the union of all layers but one, if it is known

    def without(self, pairs: Ints, target: int) -> "StructuralFeatures":
        """Return the features of the multiplex without some edges (n, 2) of a target layer.

        What is hidden with them is removed, too: in every layer if a pair is hidden everywhere.
        """
        less, hidden = copy(self), self.visibility
        ends = np.concatenate([pairs, pairs[:, ::-1]]) if hidden.hides_reverse else pairs
        where = None if hidden.hides_everywhere else target
        less.arcs = less._linked = self.arcs.without(self.arcs.rows(ends), where)
        if self.mx.directed:
            left = pairs if where is None else pairs[~less._arc(pairs[:, ::-1], target)]
            less._linked = self._linked.without(self._linked.rows(left), where)
        less._target = None
        less._graphs = (
            {} if where is None else {layer: graph for layer, graph in self._graphs.items() if layer != where}
        )
        less.__dict__.pop("_union", None)
        return less

    def own(self, pairs: Ints, target: int) -> Columns:
        """Return the features of pairs in the target layer, as if they were no edges there."""
        layer, row = self._prepare(target), self._linked.rows(pairs)
        columns = layer.own.neighbourhood(pairs, layer.known[row], self._hidden(pairs, row, layer))
        if not self.mx.directed:
            return columns
        arc, reverse = self._arc(pairs, target), self._arc(pairs[:, ::-1], target)
        visible = np.zeros(len(pairs)) if self.visibility.hides_reverse else reverse.astype(np.float64)
        return columns | {"reverse": visible} | self._directions(pairs, target, arc)

    def rest(self, pairs: Ints, target: int) -> Columns:
        """Return the features of pairs in the union of all other layers, where an edge counts its layers."""
        layer, row = self._prepare(target), self._linked.rows(pairs)
        count = self._linked.total[row] - layer.known[row]
        hidden = count if self.visibility.hides_everywhere else np.zeros(len(pairs))
        columns = layer.rest.neighbourhood(pairs, count > 0, hidden > 0)
        return columns | layer.rest.multiplicity(pairs, hidden)

    def merged(self, pairs: Ints, target: int) -> Columns:
        """Return the features of pairs in the union of all layers, without edges that are in the target layer only."""
        graph, known, hidden = self.linked(pairs, target, union=True)
        return graph.neighbourhood(pairs, known, hidden, paths=False)

    def overlap(self, pairs: Ints, target: int) -> Columns:
        """Return the number of other layers with the pair, plain and weighted by their similarity to the target.

        The similarity of two layers is the Jaccard index of their linked pairs, without the asked pair.
        """
        layer, row = self._prepare(target), self._linked.rows(pairs)
        names = ["overlap", "weighted overlap"]
        names += ["reverse overlap", "weighted reverse overlap"] if self.mx.directed else []
        if self.visibility.hides_everywhere:
            return {name: np.zeros(len(pairs)) for name in names}
        hidden = self._hidden(pairs, row, layer)
        columns: list[Floats] = []
        for ends in (pairs, pairs[:, ::-1])[: len(names) // 2]:
            similar, added = layer.overlaps[self.arcs.rows(ends)].T
            columns += [self.num_others(ends, target), np.maximum(similar - hidden * added, 0)]
        return dict(zip(names, columns, strict=True))

    def num_others(self, pairs: Ints, target: int) -> Floats:
        """Return the number of other layers with the pair; 0 if it is hidden everywhere."""
        if self.visibility.hides_everywhere:
            return np.zeros(len(pairs))
        return np.asarray(self.arcs.total[self.arcs.rows(pairs)] - self._arc(pairs, target), np.float64)

    def other(self, pairs: Ints, target: int, other: int) -> Columns:
        """Return the features of pairs in one other layer, with the pair's edge unless it is hidden there, too.

        The neighbourhood; whether the pair is an edge; the number of nodes that are neighbours of one end in the target
        layer and of the other end in this one, plain and weighted by 1 / sqrt(product of their degrees).
        """
        graph, own = self._graph(other), self._prepare(target).own
        known = self._linked.has(pairs, other)
        shown = not self.visibility.hides_everywhere
        columns = graph.neighbourhood(pairs, known, known & (not shown), paths=False)
        columns["edge"] = (self._arc(pairs, other) & shown).astype(np.float64)
        if self.mx.directed:
            columns["reverse"] = (self._arc(pairs[:, ::-1], other) & shown).astype(np.float64)
        u, v = pairs.T
        there, back = cross_sums(own, graph, u, v), cross_sums(own, graph, v, u)
        return columns | {"cross": there[0] + back[0], "weighted cross": there[1] + back[1]}

    def pooled(self, pairs: Ints, target: int) -> Columns:
        """Return all features that mean the same in every target: own, of the union, overlap, and layer sizes."""
        layer, n = self._prepare(target), len(pairs)
        size = {"edges": np.full(n, layer.size), "nodes": np.full(n, float(len(layer.own.nodes)))}
        rest = {f"union {name}": column for name, column in self.rest(pairs, target).items()}
        return self.own(pairs, target) | rest | self.overlap(pairs, target) | size

    def every(self, pairs: Ints, target: int) -> Columns:
        """Return `pooled` and, if there are at most `MAX_OTHERS` layers, the features of each other layer."""
        columns = self.pooled(pairs, target)
        if self.mx.num_layers <= MAX_OTHERS:
            for other in range(self.mx.num_layers):
                if other != target:
                    columns |= {f"{other} {name}": each for name, each in self.other(pairs, target, other).items()}
        return columns

    def linked(self, pairs: Ints, target: int, *, union: bool = False) -> "Linked":
        """Return which pairs are edges of the target layer, or of the union of all layers, and which of these hidden.

        In the union, an edge is hidden if no layer shows it.
        """
        layer, row = self._prepare(target), self._linked.rows(pairs)
        hidden = self._hidden(pairs, row, layer)
        if not union:
            return Linked(layer.own, layer.known[row], hidden)
        count = self._linked.total[row]
        return Linked(self._union, count > 0, (count > 0) & ((count == hidden) | self.visibility.hides_everywhere))

    # Parts

    @cached_property
    def _union(self) -> Graph:
        return Graph(*self._linked.ends(np.arange(len(self._linked.keys))), self.mx.num_nodes)

    def _prepare(self, target: int) -> "_Target":
        """Return what depends on the target only; the last one is kept."""
        if self._target is None or self._target[0] != target:
            self._target = target, _Target.of(self, target)
        return self._target[1]

    def _graph(self, layer: int) -> Graph:
        if layer not in self._graphs:
            if len(self._graphs) >= MAX_OTHERS:
                self._graphs.clear()
            self._graphs[layer] = Graph(*self._linked.ends(self._linked.members(layer)), self.mx.num_nodes)
        return self._graphs[layer]

    def _arc(self, pairs: Ints, layer: int) -> Bools:
        return self.arcs.has(pairs, layer)

    def _hidden(self, pairs: Ints, row: Ints, layer: "_Target") -> Bools:
        """Say which pairs are linked in the target layer only by edges that are hidden."""
        known = layer.known[row]
        if self.mx.directed and not self.visibility.hides_reverse:
            return known & ~self._arc(pairs[:, ::-1], layer.index)
        return known

    def _directions(self, pairs: Ints, target: int, arc: Bools) -> Columns:
        source, destination = self.arcs.ends(self.arcs.members(target))
        out = Graph(source, destination, self.mx.num_nodes, directed=True)
        into = Graph(destination, source, self.mx.num_nodes, directed=True)
        u, v = pairs.T
        return {
            "directed paths": cross_sums(out, into, u, v)[0],
            "out-degree": out.degree[out.place[u]] - arc,
            "in-degree": into.degree[into.place[v]] - arc,
        }


class Linked(NamedTuple):
    """A graph, which pairs (n,) are its edges, and which of these edges are hidden."""

    graph: Graph
    known: Bools
    hidden: Bools


@dataclass(frozen=True, eq=False)
class _Target:
    """A target layer and the union of the others; what takes long is computed at first use."""

    index: int
    features: StructuralFeatures
    own: Graph
    known: Bools  # (rows + 1,) whether each linked pair is linked in the target
    size: float

    @classmethod
    def of(cls, features: StructuralFeatures, target: int) -> "_Target":
        members = features._linked.members(target)
        known = np.zeros(len(features._linked.keys) + 1, np.bool_)
        known[members] = True
        return cls(target, features, features._graph(target), known, float(len(members)))

    @cached_property
    def rest(self) -> Graph:
        """The union of the other layers."""
        known = self.features._rest
        if known is not None and known[0] == self.index:
            return known[1]
        linked = self.features._linked
        count = linked.total - self.known
        others = np.flatnonzero(count)
        return Graph(*linked.ends(others), self.features.mx.num_nodes, count[others])

    @cached_property
    def overlaps(self) -> Floats:
        """Sums (rows + 1, 2) over the other layers with an edge: of similarities, of what one pair adds to these."""
        linked = self.features._linked
        shared = linked.table.T @ self.known.astype(np.float64)
        joint = np.maximum(linked.sizes + linked.sizes[self.index] - shared, 1)
        weights = np.stack([shared / joint, 1 / joint], 1)
        weights[self.index] = 0
        sums: Floats = self.features.arcs.table @ weights
        return sums


class Incidence:
    """Which distinct pair of nodes is linked in which layer: a sparse matrix, whose last row is empty."""

    def __init__(self, mx: Multiplex, *, ordered: bool) -> None:
        self._ordered, self._num_nodes = ordered, mx.num_nodes
        no_loop = mx.edge_index[0] != mx.edge_index[1]
        keys = self._pair_keys(mx.edge_index[:, no_loop].T)
        self.keys, row = np.unique(keys, return_inverse=True)
        shape = len(self.keys) + 1, mx.num_layers
        table = sp.csc_array((np.ones(len(row)), (row, mx.edge_layer[no_loop])), shape=shape)
        table.sum_duplicates()
        table.data[:] = 1
        self._fill(table)

    def _fill(self, table: sp.csc_array) -> None:
        self.table = table
        self.total: Floats = np.asarray(table.sum(1), np.float64)
        self.sizes: Floats = np.diff(table.indptr).astype(np.float64)

    def without(self, rows: Ints, layer: int | None) -> "Incidence":
        """Return the matrix without some pairs in one layer, or in every layer (None); rows keep their numbers."""
        gone = np.zeros(self.table.shape[0], np.bool_)
        gone[rows] = True
        keep = ~gone[self.table.indices]
        column = np.repeat(np.arange(self.table.shape[1]), np.diff(self.table.indptr))
        if layer is not None:
            keep |= column != layer
        less = copy(self)
        size = np.bincount(column[keep], minlength=self.table.shape[1])
        parts = self.table.data[keep], self.table.indices[keep], np.append(0, np.cumsum(size))
        less._fill(sp.csc_array(parts, shape=self.table.shape))
        return less

    def rows(self, pairs: Ints) -> Ints:
        """Return the row of each pair (n, 2); the last row for pairs that are linked nowhere."""
        keys = self._pair_keys(pairs)
        place = np.searchsorted(self.keys, keys)
        found = place < len(self.keys)
        found[found] = self.keys[place[found]] == keys[found]
        return np.where(found, place, len(self.keys))

    def members(self, layer: int) -> Ints:
        """Return the rows of the pairs of a layer."""
        start, stop = self.table.indptr[layer : layer + 2]
        rows: Ints = self.table.indices[start:stop].astype(np.int64)
        return rows

    def has(self, pairs: Ints, layer: int) -> Bools:
        """Return whether pairs (n, 2) are linked in a layer."""
        return np.isin(self.rows(pairs), self.members(layer))

    def ends(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return both nodes of the pairs in some rows."""
        first, second = np.divmod(self.keys[rows], self._num_nodes)
        return first, second

    def _pair_keys(self, pairs: Ints) -> Ints:
        return pair_keys(np.zeros(len(pairs), np.int64), pairs, self._num_nodes, ordered=self._ordered)


def scaled(columns: Columns) -> Floats:
    """Return columns as a matrix (n, F) for a model: logarithms of counts, roots of sums of inverse degrees.

    After each larger degree, the product of the logarithms of both degrees is added.
    """
    found: list[Floats] = []
    for name, column in columns.items():
        found.append(_scale(name)(column))
        if name.endswith("high degree"):
            found.append(found[-2] * found[-1])
    return np.stack(found, 1)


def _scale(name: str) -> np.ufunc:
    if name.endswith(("jaccard", "edge", "reverse", "overlap")):
        return np.positive
    return np.sqrt if name.endswith(("allocation", "weighted paths", "weighted cross")) else np.log1p
