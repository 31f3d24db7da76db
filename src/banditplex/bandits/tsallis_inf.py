"""Tsallis-INF: follow the regularised leader with Tsallis entropy, for adversarial and stochastic losses."""

from typing import final

import numpy as np

from banditplex.bandits.base import ScaledPolicy, register
from banditplex.bandits.rounding import FloatArray, kth_smallest, row_sum
from banditplex.bandits.state import Marginals, Rows
from banditplex.bandits.values import Feedback


@register("tsallis-inf")
@final
class TsallisInf(ScaledPolicy):
    """Tsallis-INF: inclusion min(1, 4 / (eta (L - x) / M)^2), with x such that it sums to k.

    eta = 2 / sqrt(t); L is the sum of l / probability; M is the scale of the losses.

    Parameters: `num_arms`, `k`, `num_instances`; `scale`, an upper bound on the losses (None: the largest
    loss that the instance has observed so far).

    >>> policy = TsallisInf(num_arms=3)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(300):
    ...     draw = policy.draw(rng)
    ...     policy.update(draw, losses=np.array([50.0, 10.0, 50.0])[draw.arms])
    >>> bool(policy.inclusion()[0, 1] > 0.9)
    True

    Zimmert and Seldin 2021, "Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits".
    """

    def _marginals(self, rows: Rows) -> Marginals:
        state, size, M = self._state, self._state.size(rows), self._state.instance["M"][rows]
        eta = np.divide(2 / np.sqrt(state.instance["t"][rows] + 1.0), M, out=np.zeros_like(M), where=M > 0)
        z = state.read("L", rows) * eta[:, None]
        return state.marginals(rows, inverse_square_weights(z, self.k, size))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        self._state.add("L", seen.instance, seen.arm, seen.estimate)
        self._grow(rows, seen)


def inverse_square_weights(z: FloatArray, k: int, size: FloatArray | None = None) -> FloatArray:
    """Return min(1, 4 / (z + c)^2), 1 where z + c < 2, with c such that each row sums to k < number of arms.

    Solved by Newton's method for the sum to the power -1/2, which is almost linear in c. A step that leaves the
    bracket is replaced by bisection.
    """
    z = z - kth_smallest(z, k, size)[:, None]
    count = np.full(len(z), float(z.shape[1])) if size is None else size.sum(axis=1)
    low, high, capped = np.full(len(z), 2.0), 2 * np.sqrt(count), np.zeros(len(z))
    c = low
    while True:
        gap = z + c[:, None]
        if k > 1:
            capped = row_sum((gap < 2).astype(np.float64), size)
            np.maximum(gap, 2.0, out=gap)
        root = np.divide(2.0, gap, out=gap)
        w = root * root
        room, total = k - capped, row_sum(w, size) - capped
        slope = (row_sum(np.multiply(w, root, out=root), size) - capped) / 2
        low, high = np.where(total >= room, c, low), np.where(total <= room, c, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = c - total * (1 - np.sqrt(total / room)) / slope
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = (np.abs(total - room) < 1e-13 * k) | (step == c)
        if done.all():
            scaled = np.minimum(w * (room / total)[:, None], 1.0)  # without the last rounding error
            return np.where(w < 1, scaled, 1.0)
        c = np.where(done, c, step)
