"""Follow the regularised leader with the square-root (Tsallis) entropy: good in both worlds."""

import numpy as np

from banditplex.bandits.base import Policy, register
from banditplex.bandits.marginals import Marginals
from banditplex.bandits.rounding import FloatArray, fill, kth_smallest, row_min, row_sum
from banditplex.bandits.state import Rows
from banditplex.bandits.validation import check_scale
from banditplex.bandits.values import Feedback


@register("tsallis-inf")
class TsallisInf(Policy):
    """Tsallis-INF: inclusion min(1, 4 / (eta (L - x) / M)^2), with x such that it sums to k.

    eta = 2 / sqrt(t); L sums l / probability; M is the scale of the losses.

    Parameters: `num_arms`, `k`, `num_instances`; `scale`, an upper limit of the losses (None: the largest
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

    def __init__(
        self, *, num_arms: int, k: int = 1, num_instances: int = 1, scale: float | None = None
    ) -> None:
        self.scale = check_scale(scale)
        super().__init__(
            num_arms=num_arms,
            k=k,
            num_instances=num_instances,
            per_instance={"M": self.scale or 0.0},
            per_arm={"L": 0.0},
        )

    def _marginals(self, rows: Rows) -> Marginals:
        state, size, M = self._state, self._state.size(rows), self._state.instance["M"][rows]
        eta = np.divide(2 / np.sqrt(state.instance["t"][rows] + 1.0), M, out=np.zeros_like(M), where=M > 0)
        L = state.read("L", rows)
        z = (L - row_min(L, size)[:, None]) * eta[:, None]
        return state.marginals(rows, inverse_square_weights(z, self.k, size))

    def _learn(self, rows: Rows, seen: Feedback) -> None:
        state = self._state
        state.add("L", self._instances(rows)[seen.row], seen.arm, seen.estimate)
        if self.scale is None:
            state.instance["M"][rows] = np.maximum(state.instance["M"][rows], seen.max(seen.loss))


def inverse_square_weights(z: FloatArray, k: int, size: FloatArray | None = None) -> FloatArray:
    """Return min(1, 4 / (z + c)^2), with c such that each row sums to k (0 < k < number of arms).

    Newton's steps, halved into the bracket where they leave it.

    Parameters: `z` (rows, columns), the lowest of each row 0; `size` as in `rounding`.

    >>> inverse_square_weights(np.array([[0.0, 5 / 6]]), 1).round(9).tolist()  # c = 5/2
    [[0.64, 0.36]]
    """
    count = np.full(len(z), float(z.shape[1])) if size is None else size.sum(axis=1)
    low, high = 2 - kth_smallest(z, k, size), 2 * np.sqrt(count / k)
    c = high
    while True:
        gap = np.maximum(z + c[:, None], 2.0)
        w = 4 / gap**2
        excess = row_sum(w, size) - k
        low, high = np.where(excess > 0, c, low), np.where(excess < 0, c, high)
        slope = -2 * row_sum(np.where(gap > 2, w / gap, 0.0), size)
        step = c - np.divide(excess, slope, out=np.full_like(c, np.inf), where=slope < 0)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        if (np.abs(excess) < 1e-13 * k).all() or (step == c).all():
            return fill(w, gap > 2, k, size)
        c = step
