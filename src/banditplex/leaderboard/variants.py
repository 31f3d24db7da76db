"""A variant of our learner that is more than other settings."""

from numpy.typing import ArrayLike

from banditplex.arrays import Floats
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor

DRAWS = 32  # draws whose mean is the score


class MeanOfDraws(LinkPredictor):
    """A link predictor that scores with the mean over draws of its policy.

    This is the best form of a policy without a preference: its most probable layers are random.
    """

    def score_pairs(
        self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None, draws: int = DRAWS
    ) -> Floats:
        """Return the mean score of pairs over draws."""
        return super().score_pairs(pairs, layer, context=context, draws=draws)
