"""What Exp3+ must do beyond its worked cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.bandits import Draw, Observations, make_policy
from tests.bandits.games import forced_probabilities, loss_tables


@given(loss_tables(), st.booleans())
def test_range_is_a_growing_power_of_two(table, raw_range):
    arms, losses = table
    policy = make_policy("exp3+", num_arms=losses.shape[1], raw_range=raw_range)
    last = 0.0
    for arm, row in zip(arms, losses, strict=True):
        policy.update(Draw([0], [[arm]], policy.inclusion()[:, [arm]]), [[row[arm]]])
        E = float(policy.state_dict()["E"][0])
        assert last <= E
        assert E == 0.0 or np.frexp(E)[0] == 0.5
        last = E


@given(loss_tables(), st.sampled_from([2.0**40, 2.0**-40]))
def test_raw_range_is_scale_free(table, scale):
    arms, losses = table
    losses = np.where(losses < 1e-100, 0.0, losses)
    one, other = (forced_probabilities("exp3+", arms, losses * s, raw_range=True) for s in (1.0, scale))
    assert (one == other).all()


def mean_inclusion(means, rounds=300, **options):
    """Return the inclusion after some rounds, averaged over 50 instances."""
    rng = np.random.default_rng(0)
    policy = make_policy("exp3+", num_arms=len(means), num_instances=50, **options)
    for _ in range(rounds):
        draw = policy.draw(rng)
        policy.update(draw, np.array(means)[draw.arms])
    return policy.inclusion().mean(axis=0)


def test_the_printed_range_is_not_scale_free():
    """E starts at 1, so losses of a thousandth hardly move it from uniform; with the raw range they do."""
    small = [2e-4, 9e-4, 9e-4, 9e-4]
    assert mean_inclusion([0.2, 0.9, 0.9, 0.9])[0] > 0.6
    assert abs(mean_inclusion(small)[0] - 0.25) < 0.05
    assert mean_inclusion(small, raw_range=True)[0] > 0.8


def test_printed_sign_prefers_the_worst_arm():
    p = mean_inclusion([0.1, 0.5, 0.9], printed_sign=True)
    assert p[2] > 0.5 > 1 / 3 > p[0]


def test_full_information_has_no_variance_when_losses_are_equal():
    """V is the variance of the estimates under the draw: 0 for equal losses observed with probability 1."""
    policy = make_policy("exp3+", num_arms=3)
    others = Observations([0, 0], [1, 2], [0.1, 0.1], probability=1.0)
    policy.update(Draw([0], [[0]], [[1 / 3]]), [[0.1]], probability=[[1.0]], extra=others)
    state = policy.state_dict()
    assert state["V"][0] == pytest.approx(0.0, abs=1e-17)
    assert state["E"][0] == 1.0
