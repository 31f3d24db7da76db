"""Policies that do not learn: uniform sampling, given arms, all arms, none."""

from types import MappingProxyType
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from banditplex.bandits.base import Policy, register
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback, check_arms


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


@register("fixed")
@final
class Fixed(Uniform):
    """Draws the given arms in every round: k is their number, and the argument `k` is ignored.

    Parameters: `arms` (k,) for all instances or (num_instances, k), distinct within an instance.

    >>> Fixed(num_arms=4, arms=[0, 2]).inclusion().tolist()
    [[1.0, 0.0, 1.0, 0.0]]
    """

    takes_k = False
    arm_options = MappingProxyType({"arms": "indices"})

    def __init__(self, *, num_arms: int, k: int | None = None, num_instances: int = 1, arms: ArrayLike) -> None:
        self.arms = check_arms(arms, num_instances, num_arms)
        super().__init__(num_arms=num_arms, k=self.arms.shape[1], num_instances=num_instances)

    def _marginals(self, rows: Rows) -> Marginals:
        arms = np.pad(self.arms[rows], ((0, 0), (1, 0)), constant_values=-1)
        return Marginals(self.num_arms, (arms >= 0).astype(np.float64), arms, np.full(len(arms), self.k))


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
