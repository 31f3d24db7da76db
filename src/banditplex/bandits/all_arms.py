"""All arms in every round."""

from typing import final

from banditplex.bandits.base import Policy, register
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.state import Rows
from banditplex.bandits.values import Feedback


@register("all")
@final
class AllArms(Policy):
    """Draws all arms: k = num_arms, and the argument `k` is ignored. The most expensive reference.

    >>> policy = AllArms(num_arms=3)
    >>> policy.k, policy.inclusion().tolist()
    (3, [[1.0, 1.0, 1.0]])
    """

    learns, takes_k = False, False

    def __init__(self, *, num_arms: int, k: int | None = None, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=num_arms, num_instances=num_instances)

    def _marginals(self, rows: Rows) -> Marginals:
        return Marginals.uniform(self.num_arms, self.k, len(self._instances(rows)))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        """Do nothing: this policy does not learn."""
