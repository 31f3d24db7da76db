"""Low-rank approximation: the score of a pair is its entry in a truncated singular value decomposition."""

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from banditplex.baselines.base import Baseline, add_one_graph, in_union
from banditplex.baselines.features import Incidence, StructuralFeatures
from banditplex.baselines.graph import Floats, Ints
from banditplex.rng import stream

FOLDS = 5


class SVD(Baseline):
    """Scores pairs (i, j) with u_i S v_j, the truncated singular value decomposition of a layer.

    Known edges are scored by a decomposition without them: of all edges but one fifth.

    Parameters
    ----------
    rank
        Number of singular values.
    graph
        "target": decompose the target layer. "union": log(1 + number of layers with the pair).
    hide, seed
        See `Baseline`.
    """

    sees_own_edge: ClassVar[bool] = False

    def __init__(self, rank: int = 12, *, graph: str = "target", hide: str | None = None, seed: int = 0) -> None:
        self.rank, self.graph, self.hide, self.seed = rank, graph, hide, seed

    def _fit(self) -> None:
        what = "union" if in_union(self.graph) else "own"
        self.models_ = {
            target: CrossFittedSVD(self.features_, target, what, self.rank, self.seed) for target in self.targets_
        }

    def _score(self, pairs: Ints, target: int) -> Floats:
        return self.models_[target].score(pairs)

    @property
    def num_parameters_(self) -> int:
        """Entries of both factors: of every target layer, or of the union."""
        counts = [model.num_parameters for model in self.models_.values()]
        return max(counts, default=0) if in_union(self.graph) else sum(counts)


class CrossFittedSVD:
    """Truncated singular value decompositions of a matrix: of all entries, and of all but each fifth of the pairs.

    Parameters
    ----------
    features
        Features of the multiplex, which know its edges and what is hidden.
    target
        Index of the target layer.
    what
        "own": the target layer. "rest", "union": log(1 + number of layers with the pair), without and with the target.
    rank, seed
        Number of singular values; seed of folds and decompositions.
    """

    def __init__(self, features: StructuralFeatures, target: int, what: str, rank: int, seed: int) -> None:
        self._edges: Incidence = features.arcs
        self._num_nodes, self._directed = features.mx.num_nodes, features.mx.directed
        self._rank, self._seed, self._target = rank, seed, target
        edges = self._edges
        known = np.zeros(len(edges.keys) + 1)
        known[edges.members(target)] = 1
        everywhere = features.visibility.hides_everywhere
        self._count = {"own": known, "rest": edges.total - known, "union": edges.total}[what]
        seen = known if what != "rest" else np.zeros_like(known)
        self._hidden = self._count if everywhere else seen
        self._fold = self._pair_folds(stream(seed, "svd folds", target))
        self._models: dict[int, tuple[Floats, Floats]] = {}

    @property
    def num_parameters(self) -> int:
        """Entries of both factors of the decomposition of everything."""
        return sum(factor.size for factor in self._model(-1))

    def score(self, pairs: Ints) -> Floats:
        """Return scores of pairs (n, 2); pairs with edges that must be hidden are scored without them."""
        row, back = self._edges.rows(pairs), self._edges.rows(pairs[:, ::-1])
        fold = np.full(len(pairs), -1)
        for rows in (back, row):
            fold = np.where(self._hidden[rows] > 0, self._fold[rows], fold)
        return self._entries(pairs, fold)

    def _pair_folds(self, rng: np.random.Generator) -> Ints:
        """Return a random fold of each pair; both directions of a directed pair share it."""
        first, second = self._edges.ends(np.arange(len(self._edges.keys)))
        low, high = np.minimum(first, second), np.maximum(first, second)
        _, index = np.unique(low * self._num_nodes + high, return_inverse=True)
        fold = rng.integers(0, FOLDS, index.max(initial=-1) + 1)
        return np.append(fold[index], -1)

    def _entries(self, pairs: Ints, fold: Ints) -> Floats:
        found = np.zeros(len(pairs))
        for each in np.unique(fold).tolist():
            here = fold == each
            left, right = self._model(each)
            u, v = pairs[here].T
            found[here] = np.einsum("ij,ij->i", left[u], right[v])
            if not self._directed:
                found[here] = (found[here] + np.einsum("ij,ij->i", left[v], right[u])) / 2
        return found

    def _model(self, fold: int) -> tuple[Floats, Floats]:
        """Return both factors, (num_nodes, rank) each, of the decomposition without a fold; -1: of everything."""
        if fold not in self._models:
            count = np.where(self._fold == fold, self._count - self._hidden, self._count) if fold >= 0 else self._count
            rows = np.flatnonzero(count > 0)
            u, v = self._edges.ends(rows)
            values = np.log1p(count[rows])
            if not self._directed:
                u, v, values = np.append(u, v), np.append(v, u), np.append(values, values)
            matrix = sp.csr_array((values, (u, v)), shape=(self._num_nodes, self._num_nodes))
            rank = min(self._rank, max(self._num_nodes - 1, 1))
            seed = int(stream(self._seed, "svd", self._target).integers(2**31))
            if not len(rows):
                self._models[fold] = np.zeros((self._num_nodes, 1)), np.zeros((self._num_nodes, 1))
                return self._models[fold]
            left, size, right = randomized_svd(matrix, rank, n_iter=5, random_state=seed)
            self._models[fold] = left * size, right.T
        return self._models[fold]


add_one_graph("svd", SVD)
