"""Many rounds with losses of every size: probabilities stay probabilities."""

import numpy as np
import pytest

from banditplex.bandits import make_policy


def play_long(name, rounds, **options):
    """Play 8 instances of 5 arms whose losses span all sizes, drift, vanish or are equal."""
    rng = np.random.default_rng(0)
    policy = make_policy(name, num_arms=5, num_instances=8, **options)
    means = np.stack(
        [
            np.full(5, 0.3),
            np.zeros(5),
            np.array([0.1, 0.5, 0.5, 0.9, 0.9]),
            np.array([1e-300, 1e-200, 1e-100, 1e-50, 1.0]),
            np.array([1e99, 1e60, 1e30, 1.0, 0.0]),
            np.array([5.0, 5.1, 5.2, 5.3, 5.4]),
            10.0 ** np.arange(-2, 3),
            np.array([0.0, 1.0, 0.0, 1.0, 1e99]),
        ]
    )
    noise = rng.uniform(0.5, 1.5, (8, 997))
    noise[:2] = 1.0
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        for step in range(rounds):
            draw = policy.draw(rng)
            losses = np.take_along_axis(means, draw.arms, 1) * noise[:, [step % 997]]
            policy.update(draw, np.minimum(losses, 1e100))
            if step % 1000 == 0:
                assert_sound(policy)
    assert_sound(policy)
    return policy


def assert_sound(policy):
    p = policy.inclusion()
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert all(np.isfinite(values).all() for values in policy.state_dict().values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hinted", "exp3+"])
def test_twenty_thousand_rounds(name):
    policy = play_long(name, 20_000)
    p = policy.inclusion()
    np.testing.assert_allclose(p[1], 0.2, atol=1e-9)
    assert p[2, 0] > 0.9
    if name == "hinted":
        np.testing.assert_allclose(p[0], 0.2, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hinted", "exp3+"])
def test_a_million_rounds(name):
    policy = play_long(name, 1_000_000)
    assert policy.rounds.tolist() == [1_000_000] * 8
    assert policy.inclusion()[2, 0] > 0.9
