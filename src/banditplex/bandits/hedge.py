"""Hedge: weights on the k smallest losses, more or less softly."""

import numpy as np

from banditplex.bandits.rounding import FloatArray, greedy, row_min, solve_capped

with_infinite_rates = np.errstate(divide="ignore", over="ignore")
"""Decorator where eta may be infinite, k ln(n/k) / 0, or eta L larger than all numbers, so that a weight is 0."""

Weights = tuple[FloatArray, FloatArray, FloatArray]
"""Weights (rows, columns), a factor per row that they lack, and their potential (rows,)."""


def exponential_weights(L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None) -> FloatArray:
    """Return capped_softmax(-eta L, k), (rows, columns).

    Parameters: `L` (rows, columns); `eta` (rows,), finite and not below 0; `size` as in `rounding`.

    >>> exponential_weights(np.array([[5.0, 6.0]]), np.array([np.log(3)]), 1).round(9).tolist()
    [[0.75, 0.25]]
    """
    y = L * -eta[:, None]
    if (
        max(-y.min(initial=0.0), y.max(initial=0.0)) > 100
    ):  # short of that, exponentials need no shift to be exact to 1e-13
        y = (row_min(L, size)[:, None] - L) * eta[:, None]
    w, scale, _ = solve_capped(y, k, size)
    w *= scale[:, None]
    return w


def soft_smallest(L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None) -> Weights:
    """Return w and scale, where w * scale[:, None] = capped_softmax(-eta L, k), and the potential.

    The potential is the smallest <w, L> + (1/eta) sum w log w over 0 <= w <= 1 with sum k. For k = 1 it is
    -(1/eta) logsumexp(-eta L); with eta infinite it is the sum of the k smallest, and ties share the weight.

    Parameters: `L` (rows, columns), the lowest of each row 0; `eta` (rows,), above 0; `size` as above. A product of
    `eta` and `L` may overflow: see `with_infinite_rates`.

    >>> w, scale, phi = soft_smallest(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([np.log(3), np.inf]), 1)
    >>> (w * scale[:, None]).round(9).tolist(), phi.round(3).tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [-0.262, 0.0])
    """
    cold = np.isinf(eta)
    some_cold = np.count_nonzero(cold) > 0
    y = L * -(np.where(cold, 0.0, eta) if some_cold else eta)[:, None]
    w, scale, value = solve_capped(y, k, size)
    phi = -value / eta
    if some_cold:
        w[cold], phi[cold] = greedy(L[cold], k, None if size is None else size[cold])
        scale[cold] = 1.0
    return w, scale, phi


def hedge_round(
    before: Weights, L: FloatArray, losses: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return L + losses, its lowest shifted to 0, and by how much Hedge lost more than its potential rose.

    That excess, the mixability gap (rows,), is what AdaHedge's learning rate is made of. `L` is overwritten.

    Parameters: `before`, which is soft_smallest(L, eta, k, size); `L` and `losses` (rows, columns), the lowest L of
    each row 0; `eta`, `k`, `size` as above. Padding must not be lower than the rest, before and after.
    """
    w, scale, potential = before
    lost = np.einsum("ij,ij->i", w, losses) if size is None else np.vecdot(w, losses * size)
    L += losses
    lowest = L.min(axis=1)
    L -= lowest[:, None]
    after = k * lowest + soft_smallest(L, eta, k, size)[2]
    return L, np.maximum(lost * scale - (after - potential), 0.0)
