"""Models that learn from the pairs of all target layers together."""

from abc import abstractmethod
from typing import Any

import numpy as np

from banditplex.baselines.base import Baseline, TrainingTable, training_tables
from banditplex.baselines.features import StructuralFeatures, scaled
from banditplex.baselines.graph import Floats, Ints

AT_MOST = 100_000
"""Edges of all targets together to learn from, at most."""


class PooledBaseline(Baseline):
    """A classifier of pairs of all targets; features are those that mean the same in every layer.

    These are features of the target layer and of the union of all others, overlap, and the size of the layer.
    """

    def _fit(self) -> None:
        share = max(AT_MOST // max(len(self.targets_), 1), 20)
        sizes = self.mx_.layer_sizes[self.targets_]
        at_most = int(share if sizes.sum() > AT_MOST else sizes.max(initial=0))
        tables = training_tables(self.features_, self.targets_, self.seed, _columns, each=2, at_most=at_most).values()
        self.model_: Any = None
        if tables:
            self.model_ = self._learn(TrainingTable(*(np.concatenate(parts) for parts in zip(*tables, strict=True))))

    def _score(self, pairs: Ints, target: int) -> Floats:
        if self.model_ is None:
            return np.zeros(len(pairs))
        return np.asarray(self.model_.decision_function(_columns(self.features_, pairs, target)), np.float64)

    @abstractmethod
    def _learn(self, table: TrainingTable) -> Any:
        """Return a fitted classifier with `decision_function`."""


def _columns(features: StructuralFeatures, pairs: Ints, target: int) -> Floats:
    return scaled(features.pooled(pairs, target))
