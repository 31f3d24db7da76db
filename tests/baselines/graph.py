"""Sums over the common neighbours and short paths of many pairs of nodes in one graph, with sparse matrices."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Columns = dict[str, Floats]
"""Features by name, each (n,)."""

ROOM = 1 << 22
"""Numbers in one block of dense rows, and neighbours in one block of lists: bounds the memory."""
SMALL = 1_024
"""Up to so many active nodes, all paths are counted once, in dense matrices."""


class Graph:
    """Neighbour lists of the nodes that have an edge, as a sparse matrix; without self loops.

    Parameters
    ----------
    source, destination
        Node indices (E,) of distinct edges.
    num_nodes
        Number of nodes.
    count
        Multiplicity of each edge (E,); None: 1.
    directed
        Whether the neighbours of a node are the destinations of its edges only.
    """

    def __init__(
        self, source: Ints, destination: Ints, num_nodes: int, count: Floats | None = None, *, directed: bool = False
    ) -> None:
        self.nodes = np.unique(np.concatenate([source, destination]))
        size = len(self.nodes)
        self.place = np.full(num_nodes, size)  # nodes without an edge share the last row, which is empty
        self.place[self.nodes] = np.arange(size)
        u, v = self.place[source], self.place[destination]
        values = np.ones(len(u)) if count is None else count.astype(np.float64)
        if not directed:
            u, v, values = np.append(u, v), np.append(v, u), np.append(values, values)
        self.counts = sp.csr_array((values, (u, v)), shape=(size + 1, size + 1))
        self.links = self.counts.copy()
        self.links.data = np.ones_like(self.counts.data)
        self.degree: Floats = np.diff(self.links.indptr).astype(np.float64)
        self.strength: Floats = np.asarray(self.counts.sum(1), np.float64)

    @property
    def size(self) -> int:
        """Number of rows: active nodes, and one for all others."""
        return len(self.nodes) + 1

    @cached_property
    def root_weight(self) -> Floats:
        """1 / sqrt(degree) of each row; 0 for the last one."""
        return np.where(self.degree > 0, 1 / np.sqrt(np.maximum(self.degree, 1)), 0.0)

    @cached_property
    def _all_walks(self) -> Floats:
        """The matrices of `walks` for all rows, (3, size, size)."""
        dense = self.links.toarray()
        return np.stack([dense, dense @ dense, (dense * self.root_weight) @ dense])

    def walks(self, rows: Ints) -> Sequence[Floats]:
        """Return, from each row to every row: edges, walks of length 2, and these weighted by 1 / sqrt(degree)."""
        if self.size <= SMALL:
            return [matrix[rows] for matrix in self._all_walks]
        own = self.links[rows]
        return [own.toarray(), (own @ self.links).toarray(), (own.multiply(self.root_weight) @ self.links).toarray()]

    def neighbourhood(self, pairs: Ints, linked: Bools, hidden: Bools, *, paths: bool = True) -> Columns:
        """Return the structural features of pairs (n, 2) in an undirected graph.

        Common neighbours, Adamic-Adar, resource allocation, Jaccard, smaller and larger degree; with `paths` also the
        number of paths of length 3 between the two nodes, and their sum with weights 1 / sqrt(product of the degrees of
        the two inner nodes). Paths never use an edge between the two nodes.

        Parameters: `linked` (n,), whether the pair is an edge; `hidden` (n,), whether this edge counts as absent. Only
        degrees and Jaccard depend on `hidden`: inner nodes are neither of the two, so they keep their degrees.
        """
        u, v = self.place[pairs].T
        swap = (self.degree[u] < self.degree[v]) | ((self.degree[u] == self.degree[v]) & (u < v))
        root, other = np.where(swap, v, u), np.where(swap, u, v)
        ones = np.ones(self.size)
        safe = np.maximum(self.degree, 1)
        terms = [(0, ones), (0, 1 / np.log(np.maximum(self.degree, 2))), (0, 1 / safe)]
        terms += [(1, ones), (2, self.root_weight)] if paths else []
        rows = self.walks if paths else self._edges
        common, adamic, allocation, *longer = neighbour_sums(self, other, root, rows, terms)
        degree = self.degree[np.stack([u, v])] - hidden
        columns = {
            "common": common,
            "adamic": adamic,
            "allocation": allocation,
            "jaccard": common / np.maximum(degree.sum(0) - common, 1),
            "low degree": degree.min(0),
            "high degree": degree.max(0),
        }
        if paths:
            weight, near = self.root_weight, self.links @ self.root_weight
            through = self.degree[u] + self.degree[v] - 1  # walks that use the pair's own edge
            weighted = weight[u] * near[u] + weight[v] * near[v] - weight[u] * weight[v]
            columns["paths"] = longer[0] - linked * through
            columns["weighted paths"] = np.maximum(longer[1] - linked * weighted, 0)
        return columns

    def multiplicity(self, pairs: Ints, hidden: Floats) -> Columns:
        """Return features of multiplicities: products of common neighbours, smaller and larger sum of a node's edges.

        Parameters: `hidden` (n,), the multiplicity of the pair's own edge that counts as absent.
        """
        u, v = self.place[pairs].T
        strength = self.strength[np.stack([u, v])] - hidden
        swap = self.degree[u] < self.degree[v]
        root, other = np.where(swap, v, u), np.where(swap, u, v)
        (product,) = neighbour_sums(
            self, other, root, lambda rows: [self.counts[rows].toarray()], [(0, np.ones(self.size))], counts=True
        )
        return {"common product": product, "low strength": strength.min(0), "high strength": strength.max(0)}

    def _edges(self, rows: Ints) -> Sequence[Floats]:
        return [self.links[rows].toarray()]


def cross_sums(one: Graph, two: Graph, u: Ints, v: Ints) -> tuple[Floats, Floats]:
    """Return, for nodes u and v (n,), sums over the neighbours of u in one graph and of v in another one.

    They are the number of these nodes, and the sum of 1 / sqrt(product of their degrees in the two graphs).
    """
    count, weighted = np.zeros(len(u)), np.zeros(len(u))
    longer = one.degree[one.place[u]] < two.degree[two.place[v]]
    for here, (table, root), (lists, other) in (
        (np.flatnonzero(~longer), (one, u), (two, v)),
        (np.flatnonzero(longer), (two, v), (one, u)),
    ):
        translate = np.append(table.place[lists.nodes], table.size - 1)

        def rows(some: Ints, table: Graph = table) -> Sequence[Floats]:
            own = table.links[some].toarray()
            return [own, own * table.root_weight]

        terms = [(0, np.ones(lists.size)), (1, lists.root_weight)]
        count[here], weighted[here] = neighbour_sums(
            lists, lists.place[other[here]], table.place[root[here]], rows, terms, translate=translate
        )
    return count, weighted


def neighbour_sums(
    lists: Graph,
    other: Ints,
    root: Ints,
    rows: Callable[[Ints], Sequence[Floats]],
    terms: Sequence[tuple[int, Floats]],
    *,
    translate: Ints | None = None,
    counts: bool = False,
) -> list[Floats]:
    """Return one sum (n,) per term (i, weight): over the neighbours x of other, of matrix_i[root, x] * weight[x].

    Parameters: `rows`, which returns dense rows of all matrices; `translate`, the column of each neighbour in these
    matrices; `counts`, whether neighbours count with their multiplicity. Each sum depends on its own pair only.
    """
    found = [np.zeros(len(root)) for _ in terms]
    matrix = lists.counts if counts else lists.links
    for piece in _pieces(root, lists.degree[other].astype(np.int64), lists.size):
        nodes, local = np.unique(root[piece], return_inverse=True)
        dense = rows(nodes)
        start, size = matrix.indptr[other[piece]].astype(np.int64), lists.degree[other[piece]].astype(np.int64)
        which = np.repeat(np.arange(len(piece)), size)
        at = np.arange(len(which)) + (start - np.cumsum(size) + size)[which]
        x = matrix.indices[at]
        column = x if translate is None else translate[x]
        for sums, (index, weight) in zip(found, terms, strict=True):
            values = dense[index][local[which], column] * weight[x]
            sums[piece] = np.bincount(which, values * matrix.data[at] if counts else values, minlength=len(piece))
    return found


def _pieces(root: Ints, size: Ints, width: int) -> Iterator[Ints]:
    """Yield positions of pairs, sorted by root, so that rows and lists of a piece fit into `ROOM`; skip empty lists."""
    order = np.argsort(root, kind="stable")
    order = order[size[order] > 0]
    if not len(order):
        return
    new_root = np.diff(root[order], prepend=-1) > 0
    by_rows = (np.cumsum(new_root) - 1) // max(1, ROOM // width)
    by_lists = np.cumsum(size[order]) // ROOM
    cuts = np.flatnonzero((np.diff(by_rows) > 0) | (np.diff(by_lists) > 0)) + 1
    yield from np.split(order, cuts)
