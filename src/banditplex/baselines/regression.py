"""Logistic regression on structural features: one model per target, or one for all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from banditplex.baselines.base import BASELINES, Baseline, TrainingTable, training_tables
from banditplex.baselines.features import StructuralFeatures, scaled
from banditplex.baselines.graph import Floats, Ints
from banditplex.baselines.pooled import PooledBaseline
from banditplex.baselines.svd import CrossFittedSVD

STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
FOLDS = 3
AT_MOST = 20_000
"""Edges of a target to learn from, at most."""


class Regression(Baseline):
    """Logistic regression, one model per target layer, on all structural features and SVD scores.

    Features: the target layer, the union of all others, overlap, and each other layer if there are at most 40 layers;
    SVD scores of the target layer and of the union, in which no pair sees itself. A target without edges scores 0.

    Parameters
    ----------
    strengths
        Values of C, scikit-learn's inverse penalty; the one with the best log loss in 3-fold cross-validation is used,
        and the smallest for targets with fewer than two edges in a fold.
    rank
        Number of singular values of each SVD; 0: no SVD scores.
    hide, seed
        See `Baseline`.
    """

    def __init__(
        self, *, strengths: Sequence[float] = STRENGTHS, rank: int = 12, hide: str | None = None, seed: int = 0
    ) -> None:
        self.strengths, self.rank, self.hide, self.seed = strengths, rank, hide, seed

    def _fit(self) -> None:
        tables = training_tables(self.features_, self.targets_, self.seed, self._columns, each=3, at_most=AT_MOST)
        self.models_ = {target: fit_logistic(table, self.strengths) for target, table in tables.items()}
        self.factors_: dict[int, list[CrossFittedSVD]] = {}

    def _score(self, pairs: Ints, target: int) -> Floats:
        if target not in self.models_:
            return np.zeros(len(pairs))
        return np.asarray(self.models_[target].decision_function(self._columns(self.features_, pairs, target)))

    @property
    def num_parameters_(self) -> int:
        """Coefficients and constants, and entries of the factors of the SVDs."""
        models = sum(count_coefficients(model) for model in self.models_.values())
        return models + sum(
            factors.num_parameters for target in self.models_ for factors in self._factors(self.features_, target)
        )

    def _columns(self, features: StructuralFeatures, pairs: Ints, target: int) -> Floats:
        scores = [factors.score(pairs) for factors in self._factors(features, target)]
        return np.column_stack([scaled(features.every(pairs, target)), *scores])

    def _factors(self, features: StructuralFeatures, target: int) -> list[CrossFittedSVD]:
        """Return SVDs of the target layer and of the union of the others; those of the fitted multiplex are kept."""
        if not self.rank:
            return []
        if features is self.features_ and target in self.factors_:
            return self.factors_[target]
        what = ("own", "rest") if self.mx_.num_layers > 1 else ("own",)
        factors = [CrossFittedSVD(features, target, each, self.rank, self.seed) for each in what]
        if features is self.features_:
            self.factors_[target] = factors
        return factors


class PooledRegression(PooledBaseline):
    """Logistic regression, one model for all target layers.

    Parameters: `strengths`, as for `Regression`; `hide` and `seed`, see `Baseline`.
    """

    def __init__(self, *, strengths: Sequence[float] = STRENGTHS, hide: str | None = None, seed: int = 0) -> None:
        self.strengths, self.hide, self.seed = strengths, hide, seed

    def _learn(self, table: TrainingTable) -> Any:
        return fit_logistic(table, self.strengths)

    @property
    def num_parameters_(self) -> int:
        """Coefficients, and a constant."""
        return 0 if self.model_ is None else count_coefficients(self.model_)


def fit_logistic(table: TrainingTable, strengths: Sequence[float]) -> Any:
    """Fit standardised features to labels; both classes have the same total weight."""
    steps = StandardScaler(), LogisticRegression(max_iter=2_000, class_weight="balanced")
    fold = table.fold % FOLDS
    seen = [np.bincount(table.label[fold == each], minlength=2).min() for each in range(FOLDS)]
    if min(seen) < 2 or len(strengths) == 1:
        model = make_pipeline(*steps).set_params(logisticregression__C=min(strengths))
    else:
        grid = {"logisticregression__C": list(strengths)}
        model = GridSearchCV(make_pipeline(*steps), grid, scoring="neg_log_loss", cv=PredefinedSplit(fold))
    return model.fit(table.values, table.label)


def count_coefficients(model: Any) -> int:
    """Return the number of coefficients and constants of what `fit_logistic` returned."""
    last = getattr(model, "best_estimator_", model)[-1]
    return int(last.coef_.size + last.intercept_.size)


BASELINES.add("regression", Regression)
BASELINES.add("pooled-regression", PooledRegression)
