"""Random numbers by counting, against SplitMix64 in plain integers."""

import numpy as np
import torch

from banditplex.backend.random_numbers import BITS, new_seed, random_integers

MASK = 2**64 - 1


def splitmix(seed, index):
    """Number `index` of SplitMix64, as in the paper."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_the_plain_generator_gives_the_published_numbers():
    """The first numbers of seed 1234567, which are printed with many implementations."""
    assert [splitmix(1234567, i) for i in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_are_the_high_bits_of_splitmix():
    index = [0, 1, 2, 999, 2**40 + 3, 2**62 + 5, 2**63 - 1]
    for seed in (0, 1234567, 2**62 + 1, 2**63 - 1):
        expected = [splitmix(seed, i) >> (64 - BITS) for i in index]
        assert random_integers(torch.tensor(index), seed).tolist() == expected


def test_seeds_come_from_the_generator():
    assert (
        new_seed(np.random.default_rng(3)) == new_seed(np.random.default_rng(3)) != new_seed(np.random.default_rng(4))
    )
