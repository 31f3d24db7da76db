"""Hedge at a learning rate that may be infinite: weights on the k smallest losses, more or less softly."""

import numpy as np

from banditplex.bandits.rounding import FloatArray, greedy, row_min, solve_capped


def soft_smallest(
    L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the weights w = capped_softmax(-eta L, k) and the potential they attain.

    The potential is the smallest <w, L> + (1/eta) sum w log w over 0 <= w <= 1 with sum k. For k = 1 it is
    -(1/eta) logsumexp(-eta L); with eta infinite it is the sum of the k smallest, and ties share the weight.

    Parameters: `L` (rows, columns); `eta` (rows,), above 0; `size` as in `rounding`.

    >>> w, phi = soft_smallest(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([np.log(3), np.inf]), 1)
    >>> w.round(9).tolist(), phi.round(3).tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [-0.262, 0.0])
    """
    cold = np.isinf(eta)
    rate = np.where(cold, 0.0, -eta)[:, None]
    lowest = row_min(L, size)
    y = L - lowest[:, None]
    with np.errstate(over="ignore"):
        y *= rate
    w, value = solve_capped(y, k, size)
    phi = k * lowest - value / eta
    if cold.any():
        w[cold], phi[cold] = greedy(L[cold], k, None if size is None else size[cold])
    return w, phi


def mix_gap(w: FloatArray, losses: FloatArray, rise: FloatArray, size: FloatArray | None) -> FloatArray:
    """Return how much more Hedge lost than its potential rose (rows,), never below 0."""
    lost: FloatArray = np.einsum("ij,ij->i", w, losses if size is None else losses * size)
    return np.maximum(lost - rise, 0.0)
