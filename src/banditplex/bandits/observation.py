"""How likely a layer's loss is to be seen when several targets draw at once."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def observation_probability(inclusion: Array, targets: NDArray[np.int64]) -> Array:
    """Return how likely each layer is to be computed in a step: q_j = 1 - prod_i (1 - p_ij), 1 for targets.

    A step has B target layers that draw independently. A target is computed anyway, another layer if
    at least one target draws it, and whatever is computed shows its loss to every target.

    inclusion: (..., B, L), the probability that target i draws layer j, 0 for itself.
    targets: (..., B), the target layers.
    Returns (..., L).

    >>> inclusion = np.array([[0.0, 0.5, 0.25, 0.25], [0.2, 0.0, 0.4, 0.4]])
    >>> observation_probability(inclusion, np.array([0, 1])).round(3).tolist()
    [1.0, 1.0, 0.55, 0.55]
    """
    with np.errstate(divide="ignore"):  # certain draws: log 0 = -inf, and 1 - exp(-inf) = 1
        probability: Array = -np.expm1(np.log1p(-inclusion).sum(axis=-2))
    np.put_along_axis(probability, targets, 1.0, axis=-1)
    return probability
