"""No arms in any round."""

from typing import ClassVar, final

from banditplex.bandits.base import register
from banditplex.bandits.uniform import Uniform


@register("none")
@final
class NoArms(Uniform):
    """Draws nothing: k = 0, and the argument `k` is ignored. The reference without other layers.

    >>> policy = NoArms(num_arms=3)
    >>> policy.k, policy.inclusion().tolist()
    (0, [[0.0, 0.0, 0.0]])
    """

    takes_k = False
    _smallest_k: ClassVar[int] = 0

    def __init__(self, *, num_arms: int, k: int | None = None, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=0, num_instances=num_instances)
