"""Random numbers by counting: number i of a seed is a hash of both, so it is the same on every device, in any order.

The hash is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). Nothing is drawn on the host and moved.
"""

import numpy as np
from torch import Tensor

BITS = 62  # bits of a random number
GAMMA, FIRST, SECOND = (
    number - 2**64 for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)  # as signed integers; products wrap around


def new_seed(rng: np.random.Generator) -> int:
    """Return a seed for numbers on a device."""
    return int(rng.integers(2**63))


def random_integers(index: Tensor, seed: int) -> Tensor:
    """Return a random integer from 0 to 2**62 - 1 for each index, an integer of any size."""
    x = index * GAMMA
    x += (seed + GAMMA + 2**63) % 2**64 - 2**63  # as a signed number
    x ^= _shifted(x, 30)
    x *= FIRST
    x ^= _shifted(x, 27)
    x *= SECOND
    x ^= _shifted(x, 31)
    return _shifted(x, 64 - BITS)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """Shift to the right and fill with zeros."""
    return (x >> bits).bitwise_and_((1 << (64 - bits)) - 1)
