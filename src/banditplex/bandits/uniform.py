"""Uniform sampling."""

from banditplex.bandits.base import Policy, register
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.state import Rows
from banditplex.bandits.values import Feedback


@register("uniform")
class Uniform(Policy):
    """Draws k of n arms uniformly: inclusion k/n. The baseline for policies that learn.

    >>> Uniform(num_arms=4, k=2).inclusion().tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    """

    learns = False

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=k, num_instances=num_instances)

    def _marginals(self, rows: Rows) -> Marginals:
        return Marginals.uniform(self.num_arms, self.k, len(self._instances(rows)))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        """Do nothing: this policy does not learn."""
