"""Many rounds with losses of every size: probabilities stay probabilities."""

import os

import numpy as np
import pytest

from banditplex.bandits import POLICIES, make_policy

OPTIONS = {"cost-aware": {"prices": [1.0, 1.0, 1.5, 2.0, 2.0]}, "fixed": {"arms": [1, 4]}}
EVERY = [name for name in POLICIES if name != "default"]
CLEAR, MEANS = 2, [0.1, 0.5, 0.5, 0.9, 0.9]
"""The instance whose best arm is clear, and its mean losses."""
FIXED = {"all": 2.9, "none": 0.0, "fixed": 0.5 + 0.9}
"""Policies that take no k, and what they pay a round where the best arm is clear."""
LONG = bool(os.environ.get("BANDITPLEX_LONG"))
"""A million rounds of one policy take minutes."""


def play_long(name, rounds, *, every=1, **options):
    """Play 8 instances of 5 arms whose losses span all sizes, drift, vanish or are equal; check one round in `every`.

    How often an arm is drawn, less the probabilities that were stated before, is a martingale: in units of its standard
    deviation, it is a standard normal variable.
    """
    rng = np.random.default_rng(0)
    policy = make_policy(name, num_arms=5, num_instances=8, **OPTIONS.get(name, {}), **options)
    excess, variance = np.zeros((2, 8, 5))
    means = np.stack(
        [
            np.full(5, 0.3),
            np.zeros(5),
            np.array(MEANS),
            np.array([1e-300, 1e-200, 1e-100, 1e-50, 1.0]),
            np.array([1e99, 1e60, 1e30, 1.0, 0.0]),
            np.array([5.0, 5.1, 5.2, 5.3, 5.4]),
            10.0 ** np.arange(-2, 3),
            np.array([0.0, 1.0, 0.0, 1.0, 1e99]),
        ]
    )
    noise = rng.uniform(0.5, 1.5, (997, 8, 1))
    noise[:, :2] = 1.0
    row, paid = np.arange(8)[:, None], 0.0
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        for step in range(rounds):
            stated = policy.inclusion() if step % every == 0 else None
            draw = policy.draw(rng)
            if stated is not None:
                assert (np.abs(draw.probability - np.take_along_axis(stated, draw.arms, 1)) <= 1e-12).all()
                excess -= stated
                np.add.at(excess, (draw.instances[:, None], draw.arms), 1)
                variance += np.maximum(stated * (1 - stated), 0)
            losses = means[row, draw.arms] * noise[step % 997]
            paid += losses[CLEAR].sum()
            policy.update(draw, np.minimum(losses, 1e100))
            if step % (100 * every) == 0:
                assert_sound(policy)
    assert_sound(policy)
    assert (np.abs(excess) <= 5 * np.sqrt(variance) + 5).all()  # arms of probability 1e-9 are drawn a few times
    return policy, paid / rounds / noise[:, CLEAR].mean()


def assert_sound(policy):
    p = policy.inclusion()
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), policy.k, rtol=0, atol=1e-12)
    assert all(np.isfinite(values).all() for values in policy.state_dict().values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hinted", "exp3+"])
def test_twenty_thousand_rounds(name):
    policy, _ = play_long(name, 20_000)
    p = policy.inclusion()
    np.testing.assert_allclose(p[1], 0.2, atol=1e-9)
    assert p[2, 0] > 0.9
    if name == "hinted":
        np.testing.assert_allclose(p[0], 0.2, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_two_thousand_rounds_of_two_arms(name):
    policy, _ = play_long(name, 2_000, **({} if name in FIXED else {"k": 2}))
    assert policy.rounds.tolist() == [2_000] * 8


LONGEST = [(name, 1, 1_000_000) for name in EVERY]
LONGEST += [(name, k, 100_000) for name in EVERY if name not in FIXED for k in (2, 4)]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "k", "rounds"), LONGEST)
def test_a_million_rounds(name, k, rounds):
    """Where the best arms are clear, what is paid exceeds theirs by a fifth at most of what uniform draws pay more."""
    if not LONG:
        pytest.skip("BANDITPLEX_LONG=1 plays them")
    policy, paid = play_long(name, rounds, every=100, **({} if name in FIXED else {"k": k}))
    assert policy.rounds.tolist() == [rounds] * 8
    best, uniform = sum(sorted(MEANS)[:k]), k * sum(MEANS) / len(MEANS)
    if name in FIXED:
        assert paid == pytest.approx(FIXED[name], rel=1e-3, abs=1e-9)
    elif policy.learns:
        assert best * 0.99 <= paid <= best + (uniform - best) / 5
    else:
        assert paid == pytest.approx(uniform, rel=0.01)
