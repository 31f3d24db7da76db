"""Observation probabilities by enumeration of everything that several targets may draw."""

from itertools import product

import numpy as np
import pytest

from banditplex.bandits import observation_probability, systematic


def test_all_outcomes_of_two_targets():
    """Targets 0 and 3 of five layers, one draw each: add up the chances of the outcomes that show layer j."""
    inclusion = np.array([[0.0, 0.1, 0.2, 0.3, 0.4], [0.5, 0.25, 0.25, 0.0, 0.0]])
    want = np.zeros(5)
    for first, second in product(range(5), repeat=2):
        computed = {0, 3, first, second}
        want[list(computed)] += inclusion[0, first] * inclusion[1, second]
    np.testing.assert_allclose(observation_probability(inclusion, np.array([0, 3])), want, rtol=1e-14)


def test_tiny_and_certain_probabilities():
    inclusion = np.array([[0.0, 1e-18, 1.0, 0.0], [0.0, 2e-18, 0.5, 0.0]])
    assert observation_probability(inclusion, np.array([3, 0])).tolist() == pytest.approx([1.0, 3e-18, 1.0, 1.0])


def test_leading_axes_are_separate_steps():
    rng = np.random.default_rng(0)
    inclusion, targets = rng.random((6, 2, 5)), rng.permuted(np.tile(np.arange(5), (6, 1)), axis=1)[:, :2]
    together = observation_probability(inclusion, targets)
    alone = [observation_probability(*step) for step in zip(inclusion, targets, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_frequency_of_k_draws():
    """Three targets draw two of five others, in 20,000 steps: seen as stated, within 4 standard errors."""
    rng = np.random.default_rng(1)
    steps, targets = 20_000, np.array([1, 2, 5])
    p = np.array([[0.5, 0.5, 0.5, 0.4, 0.1], [0.9, 0.1, 0.2, 0.3, 0.5], [0.4, 0.4, 0.4, 0.4, 0.4]])
    layer = np.array([[j for j in range(6) if j != target] for target in targets])
    seen = np.zeros((steps, 6), dtype=bool)
    seen[:, targets] = True
    for own, others in zip(p, layer, strict=True):
        arms = systematic(np.tile(own, (steps, 1)), 2, rng)
        np.put_along_axis(seen, others[arms], True, axis=1)
    inclusion = np.zeros((3, 6))
    np.put_along_axis(inclusion, layer, p, axis=1)
    want = observation_probability(inclusion, targets)
    assert (np.abs(seen.mean(axis=0) - want) <= 4 * np.sqrt(want * (1 - want) / steps)).all()
