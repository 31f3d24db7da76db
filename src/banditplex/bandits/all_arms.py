"""All arms in every round."""

from typing import final

from banditplex.bandits.base import register
from banditplex.bandits.uniform import Uniform


@register("all")
@final
class AllArms(Uniform):
    """Draws all arms: k = num_arms, and the argument `k` is ignored. The most expensive reference.

    >>> policy = AllArms(num_arms=3)
    >>> policy.k, policy.inclusion().tolist()
    (3, [[1.0, 1.0, 1.0]])
    """

    takes_k = False

    def __init__(self, *, num_arms: int, k: int | None = None, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=num_arms, num_instances=num_instances)
