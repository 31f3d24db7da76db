"""No arms in any round."""

from typing import ClassVar, final

from banditplex.bandits.base import Policy, register
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.state import Rows
from banditplex.bandits.values import Feedback


@register("none")
@final
class NoArms(Policy):
    """Draws nothing: k = 0, and the argument `k` is ignored. The reference without other layers.

    >>> policy = NoArms(num_arms=3)
    >>> policy.k, policy.inclusion().tolist()
    (0, [[0.0, 0.0, 0.0]])
    """

    learns, takes_k = False, False
    _smallest_k: ClassVar[int] = 0

    def __init__(self, *, num_arms: int, k: int | None = None, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=0, num_instances=num_instances)

    def _marginals(self, rows: Rows) -> Marginals:
        return Marginals.uniform(self.num_arms, self.k, len(self._instances(rows)))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        """Do nothing: this policy does not learn."""
