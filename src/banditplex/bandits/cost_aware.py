"""A wrapper for arms of different prices."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any, final

from numpy.typing import ArrayLike

from banditplex.bandits.base import Policy, make_policy, register
from banditplex.bandits.rounding import FloatArray, IntArray
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback, check_number, check_prices


@register("cost-aware")
@final
class CostAware(Policy):
    """Wraps a policy and multiplies each loss by (price / highest price)^strength.

    The wrapped policy thus minimises loss x price: it seeks the highest relevance (1 / loss) per unit of price.
    With equal losses it prefers cheap arms; with equal prices it behaves like the policy alone.

    Parameters: `num_arms`, `k`, `num_instances`; `prices` (num_arms,) or (num_instances, num_arms), above 0;
    `policy`, the name of the policy to wrap, and its `options`; `strength` from 0 (ignore prices) to 1.

    >>> import numpy as np
    >>> policy = CostAware(num_arms=2, prices=[1.0, 4.0])
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(50):
    ...     draw = policy.draw(rng)
    ...     policy.update(draw, losses=np.array([0.5, 0.4])[draw.arms])
    >>> bool(policy.inclusion()[0, 0] > 0.9)
    True
    """

    arm_options = MappingProxyType({"prices": "values"})

    def __init__(
        self, *, num_arms: int, k: int = 1, num_instances: int = 1, prices: ArrayLike, policy: str = "default",
        strength: float = 1.0, **options: Any,
    ) -> None:  # fmt: skip
        inner = make_policy(policy, num_arms=num_arms, k=k, num_instances=num_instances, **options)
        super().__init__(num_arms=num_arms, k=inner.k, num_instances=num_instances)
        prices = check_prices(prices, num_instances, num_arms)
        self.policy, self._state = inner, inner._state
        self.learns, self.takes_k = inner.learns, inner.takes_k
        self._factor = (prices / prices.max(axis=1, keepdims=True)) ** check_number(strength, "strength", 0, 1)

    def _marginals(self, rows: Rows) -> Marginals:
        return self.policy._marginals(rows)

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        self.policy._learn(rows, replace(seen, loss=self._priced(seen.instance, seen.arm, seen.loss)))

    def _advise(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> None:
        self.policy._advise(instance, arm, self._priced(instance, arm, loss))

    def _priced(self, instance: IntArray, arm: IntArray, loss: FloatArray) -> FloatArray:
        """Return losses times price factors."""
        return loss * self._factor[instance % len(self._factor), arm]
