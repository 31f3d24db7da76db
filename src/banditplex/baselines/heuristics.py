"""Heuristics without training: structural features of a pair, and the Katz index, walks of all lengths."""

from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, Baseline, add_one_graph, choice, parameters
from banditplex.baselines.columns import Linked
from banditplex.errors import InputError

FEATURES = {  # heuristics that score with a column as it is
    "common-neighbours": "common", "jaccard": "jaccard", "adamic-adar": "adamic", "resource-allocation": "allocation",
}  # fmt: skip
OF_LAYERS = ("overlap", "overlap+union")  # heuristics that compare layers: they take no graph
KINDS = (*FEATURES, "preferential-attachment", *OF_LAYERS)


@parameters
class Heuristic(Baseline):
    """Scores pairs with one structural feature, computed without the pair's own edge.

    With N(u) the neighbours of u and d_w the degree of w, the features of a pair (u, v) are

    - "common-neighbours": |N(u) & N(v)|;
    - "jaccard": |N(u) & N(v)| / |N(u) | N(v)|;
    - "adamic-adar": the sum of 1 / log d_w over common neighbours w (Adamic and Adar 2003);
    - "resource-allocation": the sum of 1 / d_w over common neighbours w (Zhou, Lu and Zhang 2009);
    - "preferential-attachment": d_u d_v (Barabasi and Albert 1999);
    - "overlap": the number of other layers with the pair;
    - "overlap+union": overlap; ties are broken by resource allocation in the union.

    Parameters: `kind`: one of the features above. `graph`: "target": neighbours in the target layer. "union": in the
    union of all layers. The last two take no graph. For `hide` and `seed`, see `Baseline`; `seed` is not used.

    >>> from banditplex.multiplex import Multiplex
    >>> mx = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 3, 3], "a", num_nodes=4)
    >>> Heuristic("common-neighbours").fit(mx).score_pairs([[0, 3], [0, 1]], "a")
    array([2., 0.])
    """

    sees_own_edge: ClassVar[bool] = False
    num_parameters_: ClassVar[int] = 0

    kind: str = field(default="resource-allocation", kw_only=False, metadata={"choices": KINDS})
    graph: str = choice("target", "union")

    def _fit(self) -> None:
        if self.graph == "union" and self.kind in OF_LAYERS:
            raise InputError(f"Expected graph='target' for the heuristic {self.kind!r}, got {self.graph!r}.")

    def _score(self, pairs: Ints, target: int) -> Floats:
        columns, union = self.columns_, self.kind == "overlap+union" or self.graph == "union"
        if self.kind == "overlap":
            return columns.num_others(pairs, target)
        near = columns.neighbourhood(pairs, target, union=union)
        if self.kind == "overlap+union":
            return columns.num_others(pairs, target) + near["allocation"] / (1 + near["allocation"])
        if self.kind == "preferential-attachment":
            return near["low degree"] * near["high degree"]
        return near[FEATURES[self.kind]]


for _kind in KINDS:
    (BASELINES.add if _kind in OF_LAYERS else add_one_graph)(_kind, partial(Heuristic, _kind))


EXACT = 1_000  # up to so many active nodes, all eigenvalues are computed
RANK = 64  # largest eigenvalues that are computed of larger graphs
LARGEST = 0.9  # beta times the largest eigenvalue is at most this, so that the sum converges fast
PROPAGATED_AT_ONCE = 1 << 12  # pairs whose walks are counted at once


@parameters
class Katz(Baseline):
    """Katz index (Katz 1953; as a link predictor Liben-Nowell and Kleinberg 2003): the sum of beta^l walks_l(u, v).

    walks_l counts the walks of length l, so the scores are the entries of (I - beta A)^-1 - I. The own edge of a pair
    is left out exactly: with S the 2 x 2 part of (I - beta A)^-1 at rows and columns u and v, removing the edge gives
    (S^-1 + beta [[0, 1], [1, 0]])^-1.

    Differs from the original: in graphs of 1,000 active nodes and more, walks of length 4 and more are counted with
    the 64 largest eigenvalues of A. Lengths up to 3, which have nearly all of the sum for small beta, are exact.

    Where beta times the largest eigenvalue exceeds .9, beta is .9 over this eigenvalue.

    >>> from banditplex.multiplex import Multiplex
    >>> path = Multiplex.from_edges([0, 1], [1, 2], "a", num_nodes=3)
    >>> Katz(beta=0.1).fit(path).score_pairs([[0, 2]], "a").round(6)  # .1^2 + 2 x .1^4 + 4 x .1^6 + ...
    array([0.010204])
    """

    sees_own_edge: ClassVar[bool] = False
    num_parameters_: ClassVar[int] = 0

    graph: str = choice("target", "union")
    beta: float = 0.005

    def _fit(self) -> None:
        if not self.beta > 0:
            raise InputError(f"Expected beta above 0, got {self.beta}.")
        self.walks_: dict[int, WalkSums] = {}

    def _score(self, pairs: Ints, target: int) -> Floats:
        union = self.graph == "union"
        key = -1 if union else target
        if key not in self.walks_:
            edges = self.mx_.edge_index if union else self.mx_.edges(self.mx_.layer_names[target])
            self.walks_ = {key: WalkSums(edges, self.mx_.num_nodes, self.beta)}  # the last one is kept
        return self.walks_[key].between(pairs, self.columns_.linked(pairs, target, union=union))


class WalkSums:
    """Sums over walks of all lengths, beta^length each, between the nodes of an undirected graph with edges (2, E)."""

    def __init__(self, edges: Ints, num_nodes: int, beta: float) -> None:
        u, v = edges[:, edges[0] != edges[1]]
        nodes = np.unique([u, v])
        self._place = np.full(num_nodes, len(nodes))  # nodes without an edge share the last row, which is empty
        self._place[nodes] = np.arange(len(nodes))
        ends = self._place[np.append(u, v)], self._place[np.append(v, u)]
        links = self._links = sp.csr_array((np.ones(2 * len(u)), ends), shape=(len(nodes) + 1, len(nodes) + 1))
        links.data[:] = 1
        if links.shape[0] <= EXACT:
            values, vectors = np.linalg.eigh(links.toarray())
        else:  # those with the largest absolute values
            values, vectors = eigsh(links, k=RANK, v0=np.ones(links.shape[0]))
        self.beta = min(beta, LARGEST / max(float(np.abs(values).max(initial=0)), 1e-12))
        scaled = self.beta * values
        self._tail, self._vectors = scaled**4 / (1 - scaled), vectors
        degree, triangles = (np.asarray(each.sum(1)).ravel() for each in (links, (links @ links).multiply(links)))
        self._loops = 1 + self.beta**2 * degree + self.beta**3 * triangles + (vectors * vectors) @ self._tail

    def between(self, pairs: Ints, linked: Linked) -> Floats:
        """Return the sum for each pair (n, 2); hidden edges between its nodes are left out."""
        beta, (u, v) = self.beta, self._place[pairs].T
        cross = np.einsum("ir,r,ir->i", self._vectors[u], self._tail, self._vectors[v]) + beta * linked.known
        for low in range(0, len(pairs), PROPAGATED_AT_ONCE):
            here = slice(low, low + PROPAGATED_AT_ONCE)
            walks, end = self._links[u[here]], self._links[v[here]]
            for length in (2, 3):
                cross[here] += beta**length * np.asarray(walks.multiply(end).sum(1)).ravel()
                walks = walks @ self._links
        determinant = self._loops[u] * self._loops[v] - cross**2
        without = cross / determinant - beta  # minus the entry of S^-1 + beta [[0, 1], [1, 0]] outside the diagonal
        new = without / (self._loops[u] * self._loops[v] / determinant**2 - without**2)
        return np.where(linked.hidden, new, cross)


add_one_graph("katz", Katz)
