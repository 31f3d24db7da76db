"""Low-rank approximation, and classifiers of pairs by their structural columns: logistic regression, boosted trees."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.extmath import randomized_svd

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import (
    BASELINES,
    Baseline,
    TrainingTable,
    add_one_graph,
    choice,
    parameters,
    training_tables,
)
from banditplex.baselines.columns import StructuralColumns
from banditplex.multiplex import Multiplex
from banditplex.nn.spectral import fold_of
from banditplex.pairs.known import contains
from banditplex.rng import stream
from banditplex.training.logistic import fit


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
                left, size, right = randomized_svd(matrix, self._rank, n_iter=5, random_state=self._seed)
            self._models[fold] = left * size, right.T
        return self._models[fold]


add_one_graph("svd", SVD)


STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
PENALTY_FOLDS = 3
AT_MOST, AT_MOST_POOLED = 20_000, 100_000  # edges of a target, and of all targets together, to learn from, at most
MIN_PAIRS = 100  # with fewer pairs, a fixed number of trees is fitted, without early stopping


class Linear(NamedTuple):
    """A fitted logistic regression."""

    weight: Floats  # (F,)
    constant: float

    def decision_function(self, values: Floats) -> Floats:
        """Return the logits (n,) of columns (n, F)."""
        return values @ self.weight + self.constant


def fit_logistic(table: TrainingTable, strengths: Sequence[float]) -> Linear:
    """Fit standardised columns to labels; both classes have the same total weight.

    Of the `strengths`, inverse penalties as scikit-learn's C, the one with the best log loss in 3-fold cross-validation
    is used, or the smallest if a fold has fewer than two edges or negatives.
    """
    fold = table.fold % PENALTY_FOLDS
    few = min(np.bincount(table.label[fold == each], minlength=2).min() for each in range(PENALTY_FOLDS)) < 2
    chosen = [min(strengths)] if few else sorted(strengths)
    columns, label, folds = (torch.from_numpy(each) for each in (table.values, table.label, fold))
    weight, constant = fit(columns, label, folds, [1 / each for each in chosen], num_folds=PENALTY_FOLDS)
    return Linear(weight.numpy(), float(constant))


@parameters
class Regression(Baseline):
    """Logistic regression, one model per target layer, on all structural columns and SVD scores.

    Columns: the target layer, the union of all layers, overlap, positions of nodes, and each other layer if there are
    at most 40 layers; SVD scores of the target layer and of the union, in which no pair sees itself. A target without
    edges scores 0.
    """

    strengths: Sequence[float] = STRENGTHS  # values of C, scikit-learn's inverse penalty
    rank: int = 12  # singular values of each SVD; 0: no SVD scores

    def _fit(self) -> None:
        graphs = [{"union": each} for each in (False, True)[: min(self.mx_.num_layers, 2)] if self.rank]
        hidden = {"everywhere": self.visibility_.hides_everywhere}
        self.factors_ = {
            target: [CrossFittedSVD(self.mx_, target, self.rank, self.seed, **each, **hidden) for each in graphs]
            for target in self.targets_
        }
        tables = training_tables(self.columns_, self.targets_, self.seed, self._columns, each=3, at_most=AT_MOST)
        self.models_ = {target: fit_logistic(table, self.strengths) for target, table in tables.items()}

    def _columns(self, columns: StructuralColumns, pairs: Ints, target: int) -> Floats:
        scores = [factors.score(pairs) for factors in self.factors_[target]]
        return np.column_stack([columns.every(pairs, target), *scores])

    def _score(self, pairs: Ints, target: int) -> Floats:
        if target not in self.models_:
            return np.zeros(len(pairs))
        return self.models_[target].decision_function(self._columns(self.columns_, pairs, target))

    @property
    def num_parameters_(self) -> int:
        """Coefficients and constants, and entries of the factors of the SVDs."""
        factors = sum(each.num_parameters for target in self.models_ for each in self.factors_[target])
        return factors + sum(len(model.weight) + 1 for model in self.models_.values())


class PooledBaseline(Baseline):
    """A classifier of pairs of all targets, on the columns that mean the same in every layer: `pooled`."""

    def _fit(self) -> None:
        share = max(AT_MOST_POOLED // max(len(self.targets_), 1), 20)
        sizes = self.mx_.layer_sizes[self.targets_]
        at_most = int(share if sizes.sum() > AT_MOST_POOLED else sizes.max(initial=0))
        compute = StructuralColumns.pooled
        tables = training_tables(self.columns_, self.targets_, self.seed, compute, each=2, at_most=at_most).values()
        joined = [np.concatenate(parts) for parts in zip(*tables, strict=True)]
        self.model_: Any = self._learn(TrainingTable(*joined)) if joined else None

    def _score(self, pairs: Ints, target: int) -> Floats:
        if self.model_ is None:
            return np.zeros(len(pairs))
        return np.asarray(self.model_.decision_function(self.columns_.pooled(pairs, target)), np.float64)

    @abstractmethod
    def _learn(self, table: TrainingTable) -> Any:
        """Return a fitted classifier with `decision_function`."""


@parameters
class PooledRegression(PooledBaseline):
    """Logistic regression, one model for all target layers."""

    strengths: Sequence[float] = STRENGTHS

    def _learn(self, table: TrainingTable) -> Any:
        return fit_logistic(table, self.strengths)

    @property
    def num_parameters_(self) -> int:
        """Coefficients, and a constant."""
        return 0 if self.model_ is None else len(self.model_.weight) + 1


@parameters
class Trees(PooledBaseline):
    """Boosted trees, one model for all target layers, with early stopping on a tenth of the pairs."""

    learning_rate: float = 0.1
    max_iter: int = 300
    max_leaf_nodes: int = 15

    def _learn(self, table: TrainingTable) -> Any:
        many = len(table.label) >= MIN_PAIRS
        model = HistGradientBoostingClassifier(
            learning_rate=self.learning_rate, max_iter=self.max_iter if many else 20,
            max_leaf_nodes=self.max_leaf_nodes, min_samples_leaf=20 if many else 1, early_stopping=many,
            n_iter_no_change=15, random_state=int(stream(self.seed, "trees").integers(2**31)),
        )  # fmt: skip
        return model.fit(table.values, table.label)

    @property
    def num_parameters_(self) -> int:
        """Thresholds and values of leaves of all trees: one number per node."""
        trees = [] if self.model_ is None else self.model_._predictors
        return sum(len(tree.nodes) for each in trees for tree in each)


BASELINES.add("regression", Regression)
BASELINES.add("pooled-regression", PooledRegression)
BASELINES.add("pooled-trees", Trees)
