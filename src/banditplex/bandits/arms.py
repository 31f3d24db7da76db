"""Arms of a target: all layers but the target itself, in order."""

from typing import Any


def to_layer(target: Any, arm: Any) -> Any:
    """Return the layer that an arm of a target stands for: arms count the layers, the target left out.

    >>> to_layer(2, 1), to_layer(2, 2)
    (1, 3)
    """
    return arm + (arm >= target)


def to_arm(target: Any, layer: Any) -> Any:
    """Return the arm of a target that stands for a layer."""
    return layer - (layer > target)
