"""What policies may learn from a step, by enumeration of all draws."""

import itertools

import numpy as np
import pytest

from banditplex.bandits import make_policy
from banditplex.bandits.arms import to_layer
from banditplex.training.feedback import LayerLosses, encoding_probability, free_observations
from tests.training.test_draws import learnt_policy


def test_encoding_probability_equals_the_sum_over_all_joint_draws():
    num_layers = 5
    policy, target = learnt_policy(num_layers, 1), np.array([1, 3])
    draw = policy.draw(np.random.default_rng(0), target)
    inclusion = policy.inclusion(target)
    chance = np.zeros(num_layers)
    for arms in itertools.product(range(num_layers - 1), repeat=2):
        weight = inclusion[0, arms[0]] * inclusion[1, arms[1]]
        encoded = {1, 3} | {int(to_layer(t, a)) for t, a in zip(target, arms, strict=True)}
        chance[list(encoded)] += weight
    np.testing.assert_allclose(encoding_probability(draw, target, np.arange(num_layers)), chance, rtol=1e-12)


def test_encoding_probability_for_several_layers_per_draw_is_a_frequency():
    policy, target = learnt_policy(6, 2), np.array([0, 4])
    rng = np.random.default_rng(1)
    expected = encoding_probability(policy.draw(rng, target), target, np.arange(6))
    runs, count = 1500, np.zeros(6)
    for _ in range(runs):
        draw = policy.draw(rng, target)
        count[np.unique(np.append(to_layer(target[:, None], draw.arms), target))] += 1
    assert (np.abs(count / runs - expected) <= 4 * np.sqrt(expected * (1 - expected) / runs) + 1e-12).all()


def test_free_observations_reach_the_right_instances():
    # Layers 0..4; targets 1 and 3 of this step; layers 0 and 3 are drawn by them; 0 is a target elsewhere, 4 is none.
    policy = make_policy("uniform", num_arms=4, num_instances=3)
    target, instance_of = np.array([1, 3]), np.array([0, 1, -1, 2, -1])
    draw = policy.draw(np.random.default_rng(0), [1, 2])
    object.__setattr__(draw, "arms", np.array([[2], [0]]))  # target 1 draws layer 3, target 3 draws layer 0
    layers = np.array([0, 1, 3])
    losses = np.array([[0.1, np.nan, 0.3], [0.4, 0.5, np.nan]])
    probability, extra = free_observations(draw, target, layers, losses, instance_of, symmetric=True)
    drawn_0 = 1 - 0.75 * 0.75
    assert probability == pytest.approx(np.array([[1.0], [drawn_0]]))
    rows = list(zip(extra.instance.tolist(), extra.arm.tolist(), extra.loss.tolist(), strict=True))
    # target 1 sees layer 0, target 3 sees layer 1; layer 0 hears of both targets
    assert rows == [(1, 0, 0.1), (2, 1, 0.5), (0, 0, 0.1), (0, 2, 0.4)]
    assert extra.probability[:2] == pytest.approx([drawn_0, 1.0])
    assert np.isnan(extra.probability[2:]).all()
    policy.update(draw, np.array([[0.3], [0.4]]), probability=probability, extra=extra)


def test_losses_of_drawn_layers_are_found_among_all_that_were_compared():
    layers = np.tile([1, 4, 6], (2, 1))
    losses = LayerLosses(layers, np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]))
    assert losses.of(np.array([[6, 1], [4, 6]])).tolist() == [[0.3, 0.1], [0.5, 0.6]]
    drawn = LayerLosses(np.array([[6], [4]]), np.array([[0.3], [0.5]]))
    assert drawn.of(np.array([[6], [4]])).tolist() == [[0.3], [0.5]]
