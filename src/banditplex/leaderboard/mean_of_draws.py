"""The best form of a policy without a preference: the mean over its draws."""

import inspect
from typing import Any

from banditplex.policy_scores import DRAWS
from banditplex.predictor import LinkPredictor


class MeanOfDraws:
    """A link predictor that scores with the mean over draws of its policy.

    This is the best form of a policy without a preference: its most probable layers are random.
    """

    __signature__ = inspect.signature(LinkPredictor)

    def __init__(self, **settings: Any) -> None:
        self.model = LinkPredictor(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings of the model."""
        return dict(self.model.get_params(deep))

    def set_params(self, **settings: Any) -> "MeanOfDraws":
        """Set settings of the model."""
        self.model.set_params(**settings)
        return self

    def fit(self, mx: Any, targets: Any = None, on_epoch: Any = None) -> "MeanOfDraws":
        """Fit the model."""
        self.model.fit(mx, targets, on_epoch)
        return self

    def score_pairs(self, pairs: Any, layer: Any) -> Any:
        """Return the mean score of pairs over draws."""
        return self.model.score_pairs(pairs, layer, draws=DRAWS)

    @property
    def num_parameters_(self) -> int:
        """Number of trained weights."""
        return self.model.num_parameters_
