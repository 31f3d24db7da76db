"""Functions inside `banditplex.datasets`, each by an example."""

import numpy as np

from banditplex.datasets.sampling import Communities, decode, distinct, encode, skip
from tests.shown import shown


def test_communities():
    two = Communities(4, 2)  # 0, 1 and 2, 3
    found = shown((two.inside(np.arange(2)), two.across(np.arange(4))))
    expected = "((array([0, 2]), array([1, 3])), (array([0, 0, 1, 1]), array([2, 3, 2, 3])))"
    assert found == expected


def test_decode():
    found = shown(decode(np.arange(6), 4))
    expected = "(array([0, 0, 0, 1, 1, 2]), array([1, 2, 3, 2, 3, 3]))"
    assert found == expected


def test_distinct():
    found = shown(distinct(np.random.default_rng(0), 2, population=5, count=5))
    expected = "array([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])"
    assert found == expected


def test_encode():
    assert shown(encode(np.array([0, 0, 1]), np.array([1, 2, 2]), 3)) == "array([0, 1, 2])"


def test_skip():
    assert shown(skip(np.array([[0, 1, 2]]), np.array([[1, 2]]), 5)) == "array([[0, 3, 4]])"
