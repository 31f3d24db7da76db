"""AdaHedge: exponential weights with a parameter-free learning rate, for full information."""

from typing import final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.hedge import adaptive_smallest, hedge_round
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback


@register("adahedge")
@final
class AdaHedge(Policy):
    """AdaHedge: inclusion capped_softmax(-eta L, k), eta = k ln(n/k) / S.

    L is the sum of l / probability, S the sum of the mixability gaps. Meant for full information, where every
    arm is observed with probability 1. With partial information it runs on importance-weighted estimates.

    >>> from banditplex.bandits import Observations
    >>> policy = AdaHedge(num_arms=3)
    >>> draw = policy.draw(np.random.default_rng(0))
    >>> others = np.delete(np.arange(3), draw.arms[0])
    >>> losses = np.array([0.0, 1.0, 1.0])
    >>> extra = Observations([0, 0], others, losses[others], probability=1.0)
    >>> policy.update(draw, losses[draw.arms], probability=[[1.0]], extra=extra)
    >>> policy.inclusion().round(3).tolist()  # S = 2/3, eta = 1.5 ln 3
    [[0.722, 0.139, 0.139]]

    de Rooij, van Erven, Gruenwald and Koolen 2014, "Follow the leader if you can, hedge if you must".
    """

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1) -> None:
        super().__init__(
            num_arms=num_arms, k=k, num_instances=num_instances, per_instance={"S": 0.0}, per_arm={"L": 0.0}
        )
        self._spread = float(self.k * np.log(self.num_arms / self.k))

    def _marginals(self, rows: Rows) -> Marginals:
        state = self._state
        L, S = state.read("L", rows), state.instance["S"][rows]
        p, scale, _ = adaptive_smallest(L, S, self._spread, self.k, state.size(rows))
        p *= scale[:, None]
        return state.marginals(rows, p)

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        if self.k == self.num_arms:
            return
        state = self._state
        column = state.touch(seen.instance, seen.arm)
        L, S = state.read("L", rows).copy(), state.instance["S"][rows]
        losses = np.zeros_like(L)
        losses[seen.row, column] = seen.estimate
        how = S, self._spread, self.k, state.size(rows)
        L, S = hedge_round(adaptive_smallest(L, *how), L, losses, *how)
        state.write("L", rows, L)
        state.instance["S"][rows] = S
