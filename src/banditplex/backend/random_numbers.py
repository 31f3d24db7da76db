"""Random numbers by counting: number i of a seed is a hash of both, so it is the same on every device, in any order.

The hash is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Nothing is drawn on the host and moved.
"""

from typing import Any

import numpy as np
from torch import Tensor

from banditplex.backend.compiling import compile_loop

BITS = 62
"""Bits of a random number."""
GAMMA, FIRST, SECOND = (
    number - 2**64 for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)  # as signed integers; products wrap around


def new_seed(rng: np.random.Generator) -> int:
    """Return a seed for numbers on a device."""
    return int(rng.integers(2**63))


def random_integers(index: Tensor, seed: int) -> Tensor:
    """Return a random integer from 0 to 2**62 - 1 for each index, an integer of any size.

    >>> import torch
    >>> random_integers(torch.arange(2), 1234567).tolist()  # SplitMix64 without its two lowest bits
    [1614456929277591329, 800792052799701993]
    """
    x = index * GAMMA
    x += _signed(seed + GAMMA)
    x ^= _shifted(x, 30)
    x *= FIRST
    x ^= _shifted(x, 27)
    x *= SECOND
    x ^= _shifted(x, 31)
    return _shifted(x, 64 - BITS)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """Shift to the right and fill with zeros."""
    return (x >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


_GAMMA, _FIRST, _SECOND = (np.uint64(number % 2**64) for number in (GAMMA, FIRST, SECOND))
_30, _27, _31, _LAST = (np.uint64(bits) for bits in (30, 27, 31, 64 - BITS))


@compile_loop
def random_integer(index: Any, seed: Any) -> Any:
    """Return the number that `random_integers` returns for an index, in compiled loops."""
    x = np.uint64(index) * _GAMMA + np.uint64(seed) + _GAMMA
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return np.int64((x ^ (x >> _31)) >> _LAST)
