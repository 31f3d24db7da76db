"""Exp3, exponential weights for losses in [0, 1], and Exp3-IX, with implicit exploration and losses of any scale."""

from typing import final

import numpy as np

from banditplex.bandits.base import Policy, ScaledPolicy, register
from banditplex.bandits.hedge import exponential_weights
from banditplex.bandits.rounding import FloatArray
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback, importance_weighted


def learning_rate(policy: Policy, rows: Rows) -> FloatArray:
    """Return eta = sqrt(k ln(n/k) / (n t)) of the next round t (rows,), for losses up to 1."""
    n, k = policy.num_arms, policy.k
    return np.sqrt(k * np.log(n / k) / (n * (policy._state.instance["t"][rows] + 1.0)))


@register("exp3")
@final
class Exp3(Policy):
    """Exp3 with losses capped at 1: inclusion capped_softmax(-eta L, k), eta = sqrt(k ln(n/k) / (n t)).

    L is the sum of min(l, 1) / probability. If all losses exceed 1, Exp3 cannot tell arms apart; this is the
    paper's reason for Exp3+.

    >>> from banditplex.bandits import Draw
    >>> policy = Exp3(num_arms=2)
    >>> policy.update(Draw([0], arms=[[0]], probability=[[0.5]]), losses=[[2.0]])
    >>> policy.update(Draw([0], arms=[[1]], probability=[[0.5]]), losses=[[9.0]])
    >>> policy.inclusion().tolist()
    [[0.5, 0.5]]

    Auer, Cesa-Bianchi, Freund and Schapire 2002, "The nonstochastic multiarmed bandit problem"; anytime
    learning rate: Bubeck and Cesa-Bianchi 2012, theorem 3.1.
    """

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1) -> None:
        super().__init__(num_arms=num_arms, k=k, num_instances=num_instances, per_arm={"L": 0.0})

    def _marginals(self, rows: Rows) -> Marginals:
        state, eta = self._state, learning_rate(self, rows)
        return state.marginals(rows, exponential_weights(state.read("L", rows), eta, self.k, state.size(rows)))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        estimate = importance_weighted(np.minimum(seen.loss, 1.0), seen.probability)
        self._state.add("L", seen.instance, seen.arm, estimate)


@register("exp3-ix")
@final
class Exp3IX(ScaledPolicy):
    """Exp3 with implicit exploration: inclusion capped_softmax(-eta L / M, k).

    L is the sum of l / (probability + gamma); eta = 2 gamma = sqrt(k ln(n/k) / (n t)); M is the scale of the losses.

    Parameters: `num_arms`, `k`, `num_instances`; `scale`, an upper bound on the losses (None: the largest
    loss that the instance has observed so far).

    >>> policy = Exp3IX(num_arms=3)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     draw = policy.draw(rng)
    ...     policy.update(draw, losses=np.array([50.0, 10.0, 50.0])[draw.arms])
    >>> bool(policy.inclusion()[0, 1] > 0.9)
    True

    Neu 2015, "Explore no more: improved high-probability regret bounds for non-stochastic bandits".
    """

    def _marginals(self, rows: Rows) -> Marginals:
        state, M = self._state, self._state.instance["M"][rows]
        eta = np.divide(learning_rate(self, rows), M, out=np.zeros_like(M), where=M > 0)
        return state.marginals(rows, exponential_weights(state.read("L", rows), eta, self.k, state.size(rows)))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        estimate = seen.loss / (seen.probability + learning_rate(self, rows)[seen.row] / 2)
        self._state.add("L", seen.instance, seen.arm, estimate)
        self._grow(rows, seen)
