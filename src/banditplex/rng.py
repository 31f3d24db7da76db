"""One seed, many random streams: each depends on seed and name alone, so more negatives do not move the split."""

import hashlib

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import InputError


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Return the generator called `name` of the family that `seed` opens."""
    if seed < 0:
        raise InputError(f"Expected seed to be an integer of at least 0, got {seed}.")
    digest = hashlib.sha256(repr(name).encode()).digest()
    words = np.frombuffer(digest[:16], dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words.tolist()])))


def random_ranks(group: Ints, rng: np.random.Generator) -> Ints:
    """Return a random rank of each entry (n,) within its group."""
    size = np.bincount(group)
    order = np.lexsort((rng.random(len(group)), group))
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - (np.cumsum(size) - size)[group[order]]
    return rank
