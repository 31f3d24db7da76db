"""Hedge: exponential weights on k of n arms, and the learning rate of AdaHedge."""

import numpy as np

from banditplex.bandits.rounding import FloatArray, greedy, row_min, solve_capped

STEEP = 1e100  # a learning rate below this, times any sum of losses, does not overflow
Weights = tuple[FloatArray, FloatArray, FloatArray]
"""Unscaled weights (rows, columns), the scale of each row (rows,), and the potential (rows,)."""


def exponential_weights(L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None) -> FloatArray:
    """Return capped_softmax(-eta L, k), (rows, columns); `eta` (rows,) is finite and not below 0."""
    y = L * -eta[:, None]
    if max(-y.min(initial=0.0), y.max(initial=0.0)) > 100:  # below that, exact to 1e-13 without a shift
        y = (row_min(L, size)[:, None] - L) * eta[:, None]
    w, scale, _ = solve_capped(y, k, size)
    w *= scale[:, None]
    return w


@np.errstate(over="ignore")  # a product with eta that overflows means weight 0
def soft_smallest(L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None) -> Weights:
    """Return w and scale, where w * scale[:, None] = capped_softmax(-eta L, k), and the potential.

    The potential is the smallest <w, L> + (1/eta) sum w log w over 0 <= w <= 1 with sum k. For k = 1 it is
    -(1/eta) logsumexp(-eta L). For infinite eta it is the sum of the k smallest L, and ties share the weight. `eta`
    (rows,) is above 0, and each row of `L` has the minimum 0.
    """
    infinite = np.isinf(eta)
    w, scale, value = solve_capped(L * -np.where(infinite, 0.0, eta)[:, None], k, size)
    phi = -value / eta
    w[infinite], phi[infinite] = greedy(L[infinite], k, None if size is None else size[infinite])
    scale[infinite] = 1.0
    return w, scale, phi


def adaptive_smallest(L: FloatArray, S: FloatArray, spread: float, k: int, size: FloatArray | None = None) -> Weights:
    """Return `soft_smallest` at AdaHedge's rate spread / S; spread = k ln(n/k), S (rows,) sums mixability gaps."""
    if S[S.argmin()] > spread / STEEP:
        slope = -spread / S
        w, scale, value = solve_capped(L * slope[:, None], k, size)
        return w, scale, value / slope
    with np.errstate(divide="ignore", over="ignore"):
        eta = spread / S
    return soft_smallest(L, eta, k, size)


def hedge_round(
    before: Weights, L: FloatArray, losses: FloatArray, S: FloatArray, spread: float, k: int,
    size: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return L + losses, shifted to minimum 0 in each row, and S plus the mixability gap of the round.

    The mixability gap (rows,) is the loss of Hedge minus the increase of its potential. `before` is
    adaptive_smallest(L, S, spread, k, size). `L` is overwritten. Padding must not fall below the minimum of its row.
    """
    w, scale, potential = before
    lost = np.einsum("ij,ij->i", w, losses) if size is None else np.vecdot(w, losses * size)
    L += losses
    lowest = L.min(axis=1)
    L -= lowest[:, None]
    after = k * lowest + adaptive_smallest(L, S, spread, k, size)[2]
    return L, S + np.maximum(lost * scale - (after - potential), 0.0)
