"""The paper's policy: exponential weights whose learning rate adapts to the range and variance of estimates."""

from typing import final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.hedge import exponential_weights
from banditplex.bandits.rounding import FloatArray
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback, check_flag


@register("exp3+")
@final
class Exp3Plus(Policy):
    """Exp3+: inclusion capped_softmax(-eta L), eta = min(1/E, sqrt(k ln(n/k) / V)), 0 in the first round.

    L is the sum of the estimates l / probability, E the smallest power of two not below the range of the
    estimates in any round (at least 1), V the sum of the variances of the estimates under the draw.

    Parameters: `num_arms`, `k`, `num_instances`; `raw_range` computes E from the raw losses, starting at 0: the
    policy becomes scale-free, and its regret bound holds; `printed_sign` draws from exp(+eta L), as printed in
    the paper, and converges to the worst arm (for documentation only).

    >>> policy = Exp3Plus(num_arms=2)
    >>> draw = policy.draw(np.random.default_rng(0))
    >>> policy.update(draw, losses=[[1.0]])
    >>> policy.inclusion().round(3).tolist()
    [[0.731, 0.269]]

    Cesa-Bianchi, Mansour and Stoltz 2007, "Improved second-order bounds for prediction with expert advice".
    """

    def __init__(
        self, *, num_arms: int, k: int = 1, num_instances: int = 1, raw_range: bool = False, printed_sign: bool = False
    ) -> None:
        self.raw_range = check_flag(raw_range, "raw_range")
        self.printed_sign = check_flag(printed_sign, "printed_sign")
        super().__init__(
            num_arms=num_arms, k=k, num_instances=num_instances,
            per_instance={"E": 0.0 if raw_range else 1.0, "V": 0.0}, per_arm={"L": 0.0},
        )  # fmt: skip

    def _rate(self, rows: Rows) -> FloatArray:
        """Return eta (rows,)."""
        t, E, V = (self._state.instance[name][rows] for name in ("t", "E", "V"))
        with np.errstate(divide="ignore", over="ignore"):
            eta = np.minimum(1 / E, np.sqrt(self.k * np.log(self.num_arms / self.k) / V))
        return np.where((t == 0) | (E == 0), 0.0, eta)

    def _marginals(self, rows: Rows) -> Marginals:
        L = self._state.read("L", rows)
        if self.printed_sign:
            L = -L
        p = exponential_weights(L, self._rate(rows), self.k, self._state.size(rows))
        return self._state.marginals(rows, p)

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        state = self._state
        state.add("L", seen.instance, seen.arm, seen.estimate)
        state.instance["E"][rows] = np.maximum(state.instance["E"][rows], power_of_two(self._range(seen)))
        state.instance["V"][rows] += variance(seen, self.k)

    def _range(self, seen: Feedback) -> FloatArray:
        """Return the range of the round (rows,): of the estimates over all arms, or the largest raw loss."""
        if self.raw_range:
            return seen.max(seen.loss)
        lowest = np.where(seen.count() == self.num_arms, seen.min(seen.estimate), 0.0)
        return seen.max(seen.estimate) - lowest


def variance(seen: Feedback, k: int) -> FloatArray:
    """Return sum p x^2 - (sum p x)^2 / k (rows,) of the estimates x, which are 0 for arms not observed.

    It is computed as a sum of squares about the mean, which avoids cancellation. For k = 1 and p = probability
    it is l^2 (1 - p) / p.
    """
    p, x = seen.inclusion, seen.estimate
    mean = seen.sum(p * x) / k
    unseen = np.maximum(k - seen.sum(p), 0.0)
    return seen.sum(p * (x - mean[seen.row]) ** 2) + mean**2 * unseen


def power_of_two(x: FloatArray) -> FloatArray:
    """Return the smallest power of two >= x, exactly; 0 stays 0."""
    fraction, exponent = np.frexp(x)
    return np.where(x > 0, np.ldexp(1.0, exponent - (fraction == 0.5)), 0.0)
