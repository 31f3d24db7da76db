"""Every environment: means as its description says, losses that scatter around them."""

import numpy as np
import pytest

from experiments.regret.environments import ENVIRONMENTS, HELD_OUT, MAIN


def start(name, *, runs=200, arms=6, horizon=40):
    return ENVIRONMENTS[name].start(np.random.default_rng(0), runs=runs, arms=arms, horizon=horizon)


def expected(name, **sizes):
    return np.array(list(start(name, **sizes).expected()))


def test_what_there_is():
    assert len(MAIN) == 14
    assert len(HELD_OUT) == 8
    assert not set(MAIN) & set(HELD_OUT)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_losses_scatter_around_their_expectation(name):
    """Mean loss and mean expectation of each arm differ by at most 5 standard errors, over 40 x 200 losses.

    A Pareto variable of index 1.5 has no variance: there the chance that it exceeds 2 is compared instead.
    """
    game = start(name)
    means, losses = np.array(list(game.expected())), np.array(list(game.losses(np.random.default_rng(1))))
    assert losses.shape == means.shape == (40, 200, 6)
    assert (losses >= 0).all()
    if name == "pareto":
        tail = (1 / 6) ** 1.5  # mean 1 makes the smallest value 1/3, and the chance to exceed x is (1/3 / x)^1.5
        assert (losses / means > 2.0).mean() == pytest.approx(tail, abs=4 * np.sqrt(tail / losses.size))
        assert (losses / means).min() >= 1 / 3 - 1e-12
        return
    rest = (losses - means).reshape(-1, 6)
    error = rest.std(axis=0) / np.sqrt(len(rest))
    assert (np.abs(rest.mean(axis=0)) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("arms", [1, 2])
def test_few_arms(name, arms):
    assert expected(name, runs=3, arms=arms, horizon=7).shape == (7, 3, arms)


@pytest.mark.parametrize(("name", "scale", "shift"), [("stoch", 1, 0), ("stoch1e-3", 1e-3, 0), ("shift5", 1, 5)])
def test_one_good_arm(name, scale, shift):
    ordered = np.sort(expected(name)[0] / scale - shift, axis=1)
    np.testing.assert_allclose(ordered[:, 0], 0.3)
    assert ordered[:, 1:].min() >= 0.5 - 1e-12
    assert ordered[:, 1:].max() <= 0.9 + 1e-12
    best = expected(name)[0].argmin(axis=1)
    assert set(best) == set(range(6))


def test_shrink_and_grow():
    shrink, grow = expected("shrink", horizon=4000), expected("grow")
    assert ((shrink[0] > 0.85) & (shrink[0] < 1.1)).all()
    assert (np.diff(np.sign(np.diff(shrink, axis=0)), axis=0) == 0).all()  # each arm on its way one way
    np.testing.assert_allclose(
        grow / grow[:1], np.broadcast_to((0.1 + 2 * np.arange(1, 41) / 40)[:, None, None] / 0.15, grow.shape)
    )


def test_switch_has_four_phases_with_one_arm_at_a_tenth():
    means = expected("switch")
    for phase in range(4):
        part = means[10 * phase : 10 * phase + 10]
        assert (part == part[:1]).all()
        np.testing.assert_array_equal((part[0] == 0.1).sum(axis=1), 1)


def test_late():
    means = expected("late")
    best = means[-1].argmin(axis=1)
    run = np.arange(200)
    np.testing.assert_array_equal(means[:8, run, best], 1.0)
    np.testing.assert_array_equal(means[8:, run, best], 0.1)
    np.testing.assert_array_equal(means[:, run, (best + 1) % 6], 0.5)


def test_internship():
    similarity = np.array([0.9, 0.1, 0.1, 0.05, 0.05, 0.01])
    np.testing.assert_allclose(np.sort(expected("intern")[0], axis=1), np.tile(np.sqrt(2 - 2 * similarity), (200, 1)))


def test_the_same_generators_bring_the_same_game():
    one, two = start("drift", runs=2), start("drift", runs=2)
    for a, b in zip(one.losses(np.random.default_rng(3)), two.losses(np.random.default_rng(3)), strict=True):
        np.testing.assert_array_equal(a, b)
