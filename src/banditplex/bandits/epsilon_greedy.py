"""Epsilon-greedy: usually the arms of smallest mean loss, sometimes random arms."""

from typing import final

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.rounding import greedy
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback, check_number


@register("epsilon-greedy")
@final
class EpsilonGreedy(Policy):
    """Epsilon-greedy: inclusion (1 - epsilon) on the k smallest mean losses, epsilon k/n on every arm.

    Arms that were never observed come first. Ties share the probability evenly.

    Parameters: `num_arms`, `k`, `num_instances`; `epsilon` from 0 to 1.

    >>> from banditplex.bandits import Draw
    >>> policy = EpsilonGreedy(num_arms=2, epsilon=0.2)
    >>> policy.update(Draw([0], [[0]], [[0.5]]), [[3.0]])
    >>> policy.inclusion().round(3).tolist()
    [[0.1, 0.9]]

    Sutton and Barto 2018, "Reinforcement learning", section 2.2.
    """

    def __init__(self, *, num_arms: int, k: int = 1, num_instances: int = 1, epsilon: float = 0.1) -> None:
        self.epsilon = check_number(epsilon, "epsilon", 0.0, 1.0)
        super().__init__(
            num_arms=num_arms, k=k, num_instances=num_instances, per_arm={"mean": -1.0, "count": np.int32(0)}
        )

    def _marginals(self, rows: Rows) -> Marginals:
        p, _ = greedy(self._state.read("mean", rows), self.k, self._state.size(rows))
        p *= 1 - self.epsilon
        p += self.epsilon * self.k / self.num_arms
        return self._state.marginals(rows, np.minimum(p, 1.0))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        at = seen.instance, self._state.touch(seen.instance, seen.arm)
        counts, means = self._state.table("count"), self._state.table("mean")
        count, mean = counts[at] + 1, means[at]
        counts[at] = count
        means[at] = np.where(count == 1, seen.loss, mean + (seen.loss - mean) / count)
