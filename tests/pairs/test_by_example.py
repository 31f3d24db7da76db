"""Functions inside `banditplex.pairs`, each by an example."""

import numpy as np

from banditplex.multiplex import Multiplex
from banditplex.pairs.candidates import _hyperbola, _parts
from banditplex.pairs.known import KnownPairs, PairSpace, contains, distinct, pair_keys, repeated
from banditplex.pairs.unknown import NearbyPairs
from banditplex.pairs.visibility import Visibility, is_dense
from tests.shown import shown


def test_hyperbola():
    found = shown(_hyperbola(np.array([3.0, 2.0, 0.0]), np.array([3.0, 1.0, 0.0]), 3))
    expected = "array([2, 1, 0])"  # 9, 6, 3
    assert found == expected


def test_parts():
    assert list(_parts(np.array([3, 3, 9, 1]), 6)) == [(0, 2), (2, 3), (3, 4)]


def test_known_pairs():
    mx = Multiplex.from_edges([0, 1, 0], [1, 2, 2], ["a", "a", "b"], num_nodes=4)
    found = shown(KnownPairs(mx).has(np.array([0, 1]), np.array([[1, 0], [1, 0]])))
    expected = "array([ True, False])"
    assert found == expected
    found = shown((KnownPairs(mx).num_free(), KnownPairs(mx, everywhere=True).num_free()))
    expected = "(array([4, 5]), array([3, 3]))"  # of 6 pairs of nodes
    assert found == expected


def test_contains():
    assert shown(contains(np.array([2, 5]), np.array([5, 6, 2]))) == "array([ True, False, True])"


def test_distinct():
    assert shown(distinct(np.array([3, 1, 3]))) == "array([1, 3])"


def test_pair_keys():
    found = " ".join(
        repr(pair_keys(np.array([0, 0, 1]), np.array([[1, 2], [2, 1], [1, 2]]), 10, ordered=False)).split()
    )
    expected = "array([ 12, 12, 112])"
    assert found == expected


def test_repeated():
    assert shown(repeated(np.array([3, 1, 3]))) == "array([False, False, True])"


def test_pair_space():
    mx = Multiplex.from_edges([0, 1], [2, 3], "buys", node_types=["user", "user", "item", "item"])
    space = PairSpace(mx)
    found = " ".join(
        repr((space.contains(np.zeros(2, int), np.array([[0, 3], [0, 1]])), space.num_pairs(ordered=False))).split()
    )
    expected = "(array([ True, False]), array([4]))"
    assert found == expected


def test_nearby_pairs():
    nearby = NearbyPairs(Multiplex.from_edges([0, 1], [1, 2], ["a", "b"], num_nodes=3))
    found = shown(nearby.probability(np.array([[0, 2], [0, 1]])) * 7)
    expected = "array([0.33333333, 0.83333333])"  # 1/3 through node 1; 1/2 at node 0, 1/3 at node 1
    assert found == expected


def test_visibility():
    found = (Visibility("layer", directed=True).hides_reverse, Visibility("layer", directed=True).hides_everywhere)
    expected = (True, False)
    assert found == expected


def test_is_dense():
    assert is_dense(Multiplex.from_edges([0, 1, 0], [1, 2, 2], ["a", "a", "b"], num_nodes=3))
    assert not (is_dense(Multiplex.from_edges([0, 1, 0], [1, 2, 2], ["a", "a", "b"], num_nodes=4)))  # 3 of 6 pairs
