"""Katz index: walks of all lengths between two nodes."""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from banditplex.baselines.base import Baseline, add_one_graph, in_union
from banditplex.baselines.graph import Bools, Floats, Graph, Ints
from banditplex.errors import InputError

EXACT = 1_000
"""Up to so many active nodes, all eigenvalues are computed."""
RANK = 64
"""Largest eigenvalues that are computed of larger graphs."""
LARGEST = 0.9
"""beta times the largest eigenvalue is at most this, so that the sum converges fast."""


class Katz(Baseline):
    """Katz index (Katz 1953; as a link predictor Liben-Nowell and Kleinberg 2003): the sum of beta^l walks_l(u, v).

    walks_l counts the walks of length l, so the scores are the entries of (I - beta A)^-1 - I. The own edge of a pair
    is left out exactly: with S the 2 x 2 part of (I - beta A)^-1 at rows and columns u and v, removing the edge gives
    (S^-1 + beta [[0, 1], [1, 0]])^-1.

    Differs from the original: in graphs of 1,000 active nodes and more, walks of length 4 and more are counted with
    the 64 largest eigenvalues of A. Lengths up to 3, which have nearly all of the sum for small beta, are exact.

    Parameters
    ----------
    graph
        "target": the target layer. "union": the union of all layers.
    beta
        Weight of one step; where beta times the largest eigenvalue exceeds .9, .9 over this eigenvalue.
    hide, seed
        See `Baseline`; `seed` is not used.

    >>> from banditplex.multiplex import Multiplex
    >>> path = Multiplex.from_edges([0, 1], [1, 2], "a", num_nodes=3)
    >>> Katz(beta=0.1).fit(path).score_pairs([[0, 2]], "a").round(6)  # .1^2 + 2 x .1^4 + 4 x .1^6 + ...
    array([0.010204])
    """

    sees_own_edge: ClassVar[bool] = False
    num_parameters_: ClassVar[int] = 0

    def __init__(self, *, graph: str = "target", beta: float = 0.005, hide: str | None = None, seed: int = 0) -> None:
        self.graph, self.beta, self.hide, self.seed = graph, beta, hide, seed

    def _fit(self) -> None:
        in_union(self.graph)
        if not self.beta > 0:
            raise InputError(f"Expected beta above 0, got {self.beta}.")
        self.walks_: dict[int, WalkSums] = {}

    def _score(self, pairs: Ints, target: int) -> Floats:
        seen = self.features_.linked(pairs, target, union=in_union(self.graph))
        key = -1 if in_union(self.graph) else target
        if key not in self.walks_:
            self.walks_ = {key: WalkSums(seen.graph, self.beta)}  # the last one is kept
        return self.walks_[key].between(pairs, seen.known, seen.hidden)


class WalkSums:
    """Sums over walks of all lengths, beta^length each, between the nodes of an undirected graph."""

    def __init__(self, graph: Graph, beta: float) -> None:
        self._graph = graph
        values, vectors = _largest_eigenvalues(graph.links)
        self.beta = min(beta, LARGEST / max(float(np.abs(values).max(initial=0)), 1e-12))
        scaled = self.beta * values
        self._tail, self._vectors = scaled**4 / (1 - scaled), vectors
        triangles = np.asarray((graph.links @ graph.links).multiply(graph.links).sum(1), np.float64).ravel()
        around = (vectors * vectors) @ self._tail
        self._loops = 1 + self.beta**2 * graph.degree + self.beta**3 * triangles + around

    def between(self, pairs: Ints, known: Bools, hidden: Bools) -> Floats:
        """Return the sum for each pair (n, 2); `known`: it is an edge; `hidden`: this edge is left out."""
        graph, beta = self._graph, self.beta
        columns = graph.neighbourhood(pairs, known, np.zeros(len(pairs), np.bool_))
        u, v = graph.place[pairs].T
        paths = columns["paths"] + known * (graph.degree[u] + graph.degree[v] - 1)
        tail = np.einsum("ir,r,ir->i", self._vectors[u], self._tail, self._vectors[v])
        cross = beta * known + beta**2 * columns["common"] + beta**3 * paths + tail
        determinant = self._loops[u] * self._loops[v] - cross**2
        without = cross / determinant - beta  # minus the entry of S^-1 + beta [[0, 1], [1, 0]] outside the diagonal
        new = without / (self._loops[u] * self._loops[v] / determinant**2 - without**2)
        found: Floats = np.where(hidden, new, cross)
        return found


def _largest_eigenvalues(links: sp.csr_array) -> tuple[Floats, Floats]:
    """Return eigenvalues (r,) and eigenvectors (n, r): all, or those with the largest absolute values."""
    if links.shape[0] <= EXACT:
        values, vectors = np.linalg.eigh(links.toarray())
    else:
        values, vectors = eigsh(links, k=RANK, v0=np.ones(links.shape[0]))
    return np.asarray(values), np.asarray(vectors)


add_one_graph("katz", Katz)
