"""Numbers as the page stores them: small lists as JSON, large arrays as bytes in base64."""

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

STEPS = 65_534
"""Steps of a packed number between the lowest and the highest of its array; one more code means not known."""
Packed = dict[str, Any]


def pack(values: ArrayLike) -> Packed:
    """Return an array as 16-bit codes between its lowest and highest number; the page decodes low + code * step.

    The error is at most half a step, the range divided by 131,068. NaN stays NaN.
    """
    array = np.asarray(values, np.float64)
    known = np.isfinite(array)
    low, high = (float(array[known].min()), float(array[known].max())) if known.any() else (0.0, 0.0)
    step = (high - low) / STEPS or 1.0
    codes = np.full(array.shape, STEPS + 1, np.uint16)
    codes[known] = np.rint((array[known] - low) / step)
    encoded = base64.b64encode(codes.astype("<u2").tobytes()).decode()
    return {"shape": list(array.shape), "low": low, "step": step, "codes": encoded}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numpy numbers as numbers, arrays as lists, what is not finite as None."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
