"""Functions inside `banditplex.backend`, each by an example."""

import torch

from banditplex.backend.packing import contains
from banditplex.backend.random_numbers import random_integers
from tests.shown import shown


def test_contains():
    found = shown(contains(torch.tensor([2, 5]), torch.tensor([5, 6, 2])))
    expected = "tensor([ True, False, True])"
    assert found == expected


def test_random_integers():
    found = random_integers(torch.arange(2), 1234567).tolist()
    expected = [1614456929277591329, 800792052799701993]  # SplitMix64 without its two lowest bits
    assert found == expected
