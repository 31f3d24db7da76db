"""Functions inside `banditplex.bandits`, each by an example."""

import numpy as np

from banditplex.bandits.arms import to_layer
from banditplex.bandits.exp3plus import power_of_two
from banditplex.bandits.hedge import exponential_weights, soft_smallest
from banditplex.bandits.rounding import greedy
from banditplex.bandits.state import State, as_rows
from banditplex.bandits.tsallis_inf import inverse_square_weights
from tests.shown import shown


def test_to_layer():
    assert (to_layer(2, 1), to_layer(2, 2)) == (1, 3)


def test_power_of_two():
    assert power_of_two(np.array([0.0, 0.75, 2.0, 2.0**42 * (1 + 2.0**-51)])).tolist() == [0, 1, 2, 2**43]


def test_exponential_weights():
    assert exponential_weights(np.array([[5.0, 6.0]]), np.array([np.log(3)]), 1).round(9).tolist() == [[0.75, 0.25]]


def test_soft_smallest():
    w, scale, phi = soft_smallest(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([np.log(3), np.inf]), 1)
    found = ((w * scale[:, None]).round(9).tolist(), phi.round(3).tolist())
    expected = ([[0.75, 0.25], [1.0, 0.0]], [-0.262, 0.0])
    assert found == expected


def test_greedy():
    weights, total = greedy(np.array([[3.0, 1.0, 3.0, 9.0]]), 2)
    assert (weights.tolist(), total.tolist()) == ([[0.5, 1.0, 0.5, 0.0]], [4.0])


def test_state():
    state = State(2, 1000, instance={"t": 0}, arm={"L": 0.5})
    assert state.touch(np.array([0, 0, 1]), np.array([7, 9, 7])).tolist() == [1, 2, 1]
    assert (state.width, state.dense) == (3, False)


def test_as_rows():
    found = shown((as_rows(np.array([4, 5, 6])), as_rows(np.array([4, 6]))))
    expected = "(slice(4, 7, None), array([4, 6]))"
    assert found == expected


def test_inverse_square_weights():
    assert inverse_square_weights(np.array([[0.0, 5 / 6]]), 1).round(9).tolist() == [[0.64, 0.36]]  # c = 5/2
