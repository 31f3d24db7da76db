"""Hedge: weights on the k smallest losses, more or less softly."""

import numpy as np

from banditplex.bandits.rounding import FloatArray, greedy, row_min, solve_capped


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


def soft_smallest(
    L: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return w and scale, where w * scale[:, None] = capped_softmax(-eta L, k), and the potential.

    The potential is the smallest <w, L> + (1/eta) sum w log w over 0 <= w <= 1 with sum k. For k = 1 it is
    -(1/eta) logsumexp(-eta L); with eta infinite it is the sum of the k smallest, and ties share the weight.

    Parameters: `L` (rows, columns), the lowest of each row 0; `eta` (rows,), above 0; `size` as above.

    >>> w, scale, phi = soft_smallest(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([np.log(3), np.inf]), 1)
    >>> (w * scale[:, None]).round(9).tolist(), phi.round(3).tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [-0.262, 0.0])
    """
    cold = np.isinf(eta)
    with np.errstate(over="ignore"):
        y = L * np.where(cold, 0.0, -eta)[:, None]
    w, scale, value = solve_capped(y, k, size)
    phi = -value / eta
    if cold.any():
        w[cold], phi[cold] = greedy(L[cold], k, None if size is None else size[cold])
        scale[cold] = 1.0
    return w, scale, phi


def hedge_round(
    L: FloatArray, losses: FloatArray, eta: FloatArray, k: int, size: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return L + losses, its lowest shifted to 0, and by how much Hedge lost more than its potential rose.

    That excess, the mixability gap (rows,), is what AdaHedge's learning rate is made of. `L` is overwritten.

    Parameters: `L` and `losses` (rows, columns), the lowest L of each row 0; `eta`, `k`, `size` as above.
    """
    lost, before = _expected_loss(L, losses, eta, k, size)
    L += losses
    lowest = row_min(L, size)
    L -= lowest[:, None]
    after = k * lowest + soft_smallest(L, eta, k, size)[2]
    return L, np.maximum(lost - (after - before), 0.0)


def _expected_loss(
    L: FloatArray, losses: FloatArray, eta: FloatArray, k: int, size: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return what the weights lose, <w, losses>, and the potential before."""
    w, scale, potential = soft_smallest(L, eta, k, size)
    return np.einsum("ij,ij->i", w, losses if size is None else losses * size) * scale, potential
