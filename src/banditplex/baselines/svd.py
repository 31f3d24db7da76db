"""Low-rank approximation: the score of a pair is its entry in a truncated singular value decomposition."""

from dataclasses import field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import Baseline, add_one_graph, choice, parameters
from banditplex.multiplex import Multiplex
from banditplex.nn.spectral import fold_of
from banditplex.pairs.known import contains
from banditplex.rng import stream


@parameters
class SVD(Baseline):
    """Scores pairs (i, j) with u_i S v_j, the truncated singular value decomposition of a layer.

    Pairs are divided into four folds, and known edges are scored by a decomposition without the edges of their fold.
    """

    sees_own_edge: ClassVar[bool] = False

    rank: int = field(default=12, kw_only=False)
    graph: str = choice("target", "union")

    def _fit(self) -> None:
        how = {"union": self.graph == "union", "everywhere": self.visibility_.hides_everywhere}
        seeds = {target: int(stream(self.seed, "svd", target).integers(2**31)) for target in self.targets_}
        self.models_ = {each: CrossFittedSVD(self.mx_, each, self.rank, seed, **how) for each, seed in seeds.items()}

    def _score(self, pairs: Ints, target: int) -> Floats:
        return self.models_[target].score(pairs)

    @property
    def num_parameters_(self) -> int:
        """Entries of both factors: of every target layer, or of the union."""
        counts = [model.num_parameters for model in self.models_.values()]
        return max(counts, default=0) if self.graph == "union" else sum(counts)


class CrossFittedSVD:
    """Decompositions of a target layer, or of the `union` of all layers: of all edges, and of all but each fold.

    The edges of a fold that are left out are those of the target layer, or of all layers if pairs are hidden
    `everywhere`.
    """

    def __init__(self, mx: Multiplex, target: int, rank: int, seed: int, *, union: bool, everywhere: bool) -> None:
        self._num_nodes, self._directed, self._seed = mx.num_nodes, mx.directed, seed
        self._rank = min(rank, max(mx.num_nodes - 1, 1))
        own = self._matrix(mx.edges(mx.layer_names[target]))
        self._count = self._matrix(mx.edge_index) if union else own
        self._hidden = (self._count if everywhere else own).tocoo()
        self._known = np.sort(self._hidden.row.astype(np.int64) * mx.num_nodes + self._hidden.col)
        self._models: dict[int, tuple[Floats, Floats]] = {}

    def _matrix(self, edges: Ints) -> sp.csr_array:
        """Return in how many layers each pair is an edge; undirected ones count in both directions."""
        u, v = edges[:, edges[0] != edges[1]]
        if not self._directed:
            u, v = np.append(u, v), np.append(v, u)
        return sp.csr_array((np.ones(len(u)), (u, v)), shape=(self._num_nodes, self._num_nodes))

    @property
    def num_parameters(self) -> int:
        """Entries of both factors of the decomposition of everything."""
        return sum(factor.size for factor in self.factors(-1))

    def score(self, pairs: Ints) -> Floats:
        """Return scores of pairs (n, 2); pairs with edges that must be hidden are scored without them."""
        known = [contains(self._known, ends[:, 0] * self._num_nodes + ends[:, 1]) for ends in (pairs, pairs[:, ::-1])]
        fold = np.where(known[0] | known[1], fold_of(torch.from_numpy(pairs.copy()), self._num_nodes).numpy(), -1)
        found = np.zeros(len(pairs))
        for each in np.unique(fold).tolist():
            here = fold == each
            (left, right), (u, v) = self.factors(each), pairs[here].T
            found[here] = np.einsum("ij,ij->i", left[u], right[v])
            if not self._directed:
                found[here] = (found[here] + np.einsum("ij,ij->i", left[v], right[u])) / 2
        return found

    def factors(self, fold: int) -> tuple[Floats, Floats]:
        """Return both factors, (num_nodes, rank) each, of the decomposition without a fold; -1: of everything."""
        if fold not in self._models:
            row, column = self._hidden.row.astype(np.int64), self._hidden.col.astype(np.int64)
            gone = fold_of(torch.from_numpy(np.stack([row, column], 1)), self._num_nodes).numpy() == fold
            parts = self._hidden.data[gone], (row[gone], column[gone])
            matrix = (self._count - sp.csr_array(parts, shape=self._count.shape)).log1p()
            matrix.eliminate_zeros()
            left, size, right = np.zeros((self._num_nodes, 1)), np.zeros(1), np.zeros((1, self._num_nodes))
            if matrix.nnz:
                with threadpool_limits(1, "blas"):  # threads would wait for each other
                    left, size, right = randomized_svd(matrix, self._rank, n_iter=5, random_state=self._seed)
            self._models[fold] = left * size, right.T
        return self._models[fold]


add_one_graph("svd", SVD)
