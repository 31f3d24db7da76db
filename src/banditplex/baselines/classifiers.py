"""Classifiers of pairs by their structural columns: logistic regression and boosted trees."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, Baseline, TrainingTable, parameters, training_tables
from banditplex.baselines.columns import StructuralColumns
from banditplex.baselines.svd import CrossFittedSVD
from banditplex.rng import stream
from banditplex.training.logistic import fit

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
