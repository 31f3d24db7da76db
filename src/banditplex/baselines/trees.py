"""Boosted trees on structural features, one model for all target layers."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier

from banditplex.baselines.base import BASELINES, TrainingTable
from banditplex.baselines.pooled import PooledBaseline
from banditplex.rng import stream

MIN_PAIRS = 100
"""With fewer pairs, a fixed number of trees is fitted, without early stopping."""


class Trees(PooledBaseline):
    """Gradient boosting with early stopping on a tenth of the pairs.

    Parameters
    ----------
    learning_rate, max_iter, max_leaf_nodes
        As in scikit-learn's HistGradientBoostingClassifier.
    hide, seed
        See `Baseline`.
    """

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        max_iter: int = 300,
        max_leaf_nodes: int = 15,
        hide: str | None = None,
        seed: int = 0,
    ) -> None:
        self.learning_rate, self.max_iter, self.max_leaf_nodes = learning_rate, max_iter, max_leaf_nodes
        self.hide, self.seed = hide, seed

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


BASELINES.add("pooled-trees", Trees)
