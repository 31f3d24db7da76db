"""Arms of a target: all layers but the target itself, in order; and which layers a step computes."""

from typing import Any

import numpy as np

from banditplex.bandits.rounding import FloatArray, IntArray


def to_layer(target: Any, arm: Any) -> Any:
    """Return the layer that an arm of a target stands for: arms count the layers, the target left out."""
    return arm + (arm >= target)


def to_arm(target: Any, layer: Any) -> Any:
    """Return the arm of a target that stands for a layer."""
    return layer - (layer > target)


def observation_probability(inclusion: FloatArray, targets: IntArray) -> FloatArray:
    """Return the probability that each layer is computed: q_j = 1 - prod_i (1 - p_ij), but 1 for targets.

    A step has B target layers that draw independently. Target layers are always computed, another layer if
    at least one target draws it. Every layer that is computed reveals its loss to all targets.

    inclusion: (..., B, L), the probability that target i draws layer j, 0 for the target itself.
    targets: (..., B), the target layers.
    Returns (..., L).

    >>> inclusion = np.array([[0.0, 0.5, 0.25, 0.25], [0.2, 0.0, 0.4, 0.4]])
    >>> observation_probability(inclusion, np.array([0, 1])).round(3).tolist()
    [1.0, 1.0, 0.55, 0.55]
    """
    with np.errstate(divide="ignore"):  # certain draws: log 0 = -inf, and 1 - exp(-inf) = 1
        probability: FloatArray = -np.expm1(np.log1p(-inclusion).sum(axis=-2))
    np.put_along_axis(probability, targets, 1.0, axis=-1)
    return probability
