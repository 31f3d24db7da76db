"""The activation of the heads, silu(x) = x / (1 + exp(-x)), with its slope, in a compiled loop.

exp(-x) = 2^k 2^f with |f| <= 1/2, the latter by its series to full precision: such loops become vector instructions.
"""

from typing import Any

import numpy as np

from banditplex.backend.compiling import compile_loop

BLOCK = 1 << 10
"""Numbers that are looked at twice while they are in the fastest cache."""


@compile_loop
def compute_silu(x: Any, h: Any, slope: Any) -> None:
    """Compute silu(x) as h, and its slope."""
    bits = np.empty(BLOCK, np.int32)
    power = bits.view(np.float32)
    for low in range(0, len(x), BLOCK):
        high = min(low + BLOCK, len(x))
        _split(x[low:high], h[low:high], bits)
        _join(x[low:high], h[low:high], slope[low:high], power)


@compile_loop
def _split(x: Any, rest: Any, bits: Any) -> None:
    """Divide the exponent -x / log 2 into k, as the bits of the number 2^k, and a rest from -1/2 to 1/2."""
    most, half, shift = np.float32(126), np.float32(1000.5), np.float32(1000)  # casts round down what is positive
    for i in range(len(x)):
        t = x[i] * np.float32(-1.4426950408889634)
        t = most if t > most else t
        t = -most if t < -most else t
        k = np.float32(np.int32(t + half)) - shift
        bits[i] = np.int32((k + np.float32(127)) * np.float32(8388608))
        rest[i] = t - k


@compile_loop
def _join(x: Any, h: Any, slope: Any, power: Any) -> None:
    """Replace the rests in h by silu(x), given the powers 2^k; the coefficients are (log 2)^n / n!."""
    for i in range(len(x)):
        f = h[i]
        series = np.float32(1.5403530393381608e-4)
        series = series * f + np.float32(1.3333558146428443e-3)
        series = series * f + np.float32(9.618129107628477e-3)
        series = series * f + np.float32(5.550410866482158e-2)
        series = series * f + np.float32(0.2402265069591007)
        series = series * f + np.float32(0.6931471805599453)
        series = series * f + np.float32(1)
        s = np.float32(1) / (np.float32(1) + series * power[i])
        y = x[i] * s
        h[i] = y
        slope[i] = s + y * (np.float32(1) - s)
