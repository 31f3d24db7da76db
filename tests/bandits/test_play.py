"""`play` against plain loops, and the bounds that its rows carry."""

import math
from itertools import combinations, islice, repeat

import numpy as np
import pytest

from banditplex.bandits import make_policy, play
from tests.bandits import reference
from tests.quick import every
from tests.refusals import refuses


def plain_game(policy, losses, expected, rng):
    """Yield (arms, loss, expected loss, regret, estimated regret, bound) of one instance, by definition."""
    n, k = policy.num_arms, policy.k
    totals, estimates, paid, paid_by_p, E, V = [0.0] * n, [0.0] * n, 0.0, 0.0, 1.0, 0.0
    for row, mean in zip(losses.tolist(), expected.tolist(), strict=True):
        p = policy.inclusion()[0].tolist()
        draw = policy.draw(rng)
        arms = draw.arms[0].tolist()
        policy.update(draw, [[row[a] for a in arms]])
        step = sum(p[a] * mean[a] for a in range(n))
        paid_by_p += step
        paid += sum(row[a] for a in arms)
        for a in range(n):
            totals[a] += mean[a]
        for a in arms:
            estimates[a] += row[a] / p[a]
            E = max(E, row[a] / p[a])
        V += sum(row[a] ** 2 / p[a] for a in arms) - sum(row[a] for a in arms) ** 2 / k
        regret = paid_by_p - min(sum(totals[a] for a in some) for some in combinations(range(n), k))
        guess = paid - min(sum(estimates[a] for a in some) for some in combinations(range(n), k))
        D = k * math.log(n / k)
        bound = 6 * k * E + 4 * E * D + 6 * math.sqrt(V * D)
        yield arms, sum(row[a] for a in arms), step, regret, guess, bound


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", ["uniform", "exp3+", "hinted"])
@pytest.mark.parametrize("told", [False, True], ids=["losses alone", "with expected losses"])
def test_rows_equal_a_plain_loop(name, k, told):
    rng = np.random.default_rng(3)
    expected = rng.random((40, 4))
    losses = expected * rng.uniform(0.0, 2.0, (40, 4))
    policy, twin = (make_policy(name, num_arms=4, k=k) for _ in range(2))
    rows = play(policy, losses, np.random.default_rng(5), expected=expected if told else None)
    plain = plain_game(twin, losses, expected if told else losses, np.random.default_rng(5))
    for number, (row, want) in enumerate(zip(rows, plain, strict=True), start=1):
        assert row.round == number
        assert row.arms.tolist() == want[0]
        got = [row.loss, row.expected_loss, row.regret, row.estimated_regret, row.bound]
        np.testing.assert_allclose(got, want[1:], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_instances_side_by_side_equal_instances_one_by_one(k):
    """Fixed arms leave nothing to chance, so that a game of three is three games of one."""
    losses = np.random.default_rng(0).random((30, 3, 4))
    arms = list(range(k))
    policy = make_policy("fixed", num_arms=4, num_instances=3, arms=arms)
    together = list(play(policy, losses, np.random.default_rng(0)))
    for i in range(3):
        alone = play(make_policy("fixed", num_arms=4, arms=arms), losses[:, i], np.random.default_rng(0))
        for one, three in zip(alone, together, strict=True):
            assert one.round == three.round
            assert sorted(one.arms) == sorted(three.arms[i]) == arms
            for alone_value, together_value in zip(one[2:], three[2:], strict=True):
                np.testing.assert_allclose(alone_value, together_value[i], rtol=1e-12)


def test_generators_need_no_horizon():
    endless = (np.array([0.2, 0.4, 0.9]) for _ in repeat(None))
    rows = list(islice(play(make_policy("hinted", num_arms=3), endless, np.random.default_rng(0)), 25))
    assert [row.round for row in rows] == list(range(1, 26))
    array = np.tile([0.2, 0.4, 0.9], (25, 1))
    again = list(play(make_policy("hinted", num_arms=3), array, np.random.default_rng(0)))
    assert [row.regret for row in rows] == [row.regret for row in again]


def test_uniform_regret_by_hand():
    """Losses 1, 2, 6: uniform pays 3 a round, 2 above the best arm; with k = 2 it pays 6, the best pair 3."""
    losses = np.tile([1.0, 2.0, 6.0], (10, 1))
    *_, one = play(make_policy("uniform", num_arms=3), losses, np.random.default_rng(0))
    *_, two = play(make_policy("uniform", num_arms=3, k=2), losses, np.random.default_rng(0))
    assert one.regret == pytest.approx(20.0)
    assert two.regret == pytest.approx(30.0)


@pytest.mark.parametrize("name", ["all", "none"])
def test_policies_without_a_choice_have_no_regret(name):
    *_, last = play(make_policy(name, num_arms=3), np.ones((5, 3)), np.random.default_rng(0))
    assert last.regret == 0.0
    assert last.estimated_regret == 0.0


@pytest.mark.parametrize(
    ("losses", "named"),
    [
        (np.ones((2, 4)), ["round 1", (3,), (4,)]),
        (np.ones((2, 2, 3)), ["round 1", (1, 3), (2, 3)]),
        ([[1.0, 2.0, 3.0], [1.0, np.nan, 1.0]], ["round 2", "nan", "instance 0, arm 1"]),
        ([[1.0, -2.0, 3.0]], ["round 1", -2.0, "instance 0, arm 1"]),
    ],
)
def test_bad_losses_are_refused(losses, named):
    with refuses("losses", *named):
        list(play(make_policy("uniform", num_arms=3), losses, np.random.default_rng(0)))


def test_losses_and_expected_losses_must_be_as_long():
    policy = make_policy("uniform", num_arms=3)
    rows = play(policy, np.ones((4, 3)), np.random.default_rng(0), expected=np.ones((3, 3)))
    with refuses("shorter", error=ValueError):
        list(rows)


GAMES = {
    "small": lambda rng, t, shape: 1e-3 * rng.random(shape),
    "unit": lambda rng, t, shape: rng.random(shape),
    "large": lambda rng, t, shape: 1e6 * rng.random(shape),
    "growing": lambda rng, t, shape: 1.02**t * rng.random(shape),
    "heavy": lambda rng, t, shape: rng.pareto(1.1, shape),
    "one good": lambda rng, t, shape: np.broadcast_to(np.where(np.arange(shape[1]) == 1, 0.1, 1.0), shape),
    "turning": lambda rng, t, shape: np.broadcast_to((np.arange(shape[1]) + t // 50) % 2 * 1.0, shape),
}


SIZES = [(2, 1), (6, 1), (6, 2), (6, 5), (40, 1), (40, 10), (3, 3)]


def estimates(rows, losses):
    """Yield each row with E and V of the estimated losses so far."""
    E, V = 1.0, 0.0
    for row, loss in zip(rows, losses, strict=True):
        drawn = np.take_along_axis(loss, row.arms, axis=1)
        E = np.maximum(E, (drawn / row.probability).max(axis=1))
        V = V + (drawn**2 / row.probability).sum(axis=1) - drawn.sum(axis=1) ** 2 / drawn.shape[1]
        yield row, E, np.maximum(V, 0.0)


@pytest.mark.parametrize(("game", "size"), every(3, GAMES, SIZES))
def test_the_bound_of_the_estimates_holds_in_every_round(game, size):
    """Both as `play` states it and with the sharper constants that docs/bandits-theory.md derives on the way."""
    n, k = size
    rng = np.random.default_rng([n, k])
    losses = [GAMES[game](rng, t, (20, n)) for t in range(200)]
    policy = make_policy("exp3+", num_arms=n, k=k, num_instances=20)
    D, root = k * math.log(n / k), 1 + (math.e - 2) * (1 + math.sqrt(2))
    for row, E, V in estimates(play(policy, losses, rng), losses):
        sharper = 2 * math.e * k * E + 2 * E * D + root * np.sqrt(V * D)
        slack = 1e-9 * E * n * row.round
        assert (row.estimated_regret <= sharper + slack).all()
        assert (sharper <= row.bound + slack).all()


@pytest.mark.parametrize(("game", "n"), every(2, GAMES, [2, 6, 40]))
def test_the_bound_with_raw_range_holds_in_every_round(game, n):
    """Estimated regret <= 4 sqrt(V ln n) + l_max (4 ln n + 5 + log2(V / V_first)), whatever is drawn."""
    rng = np.random.default_rng(n)
    losses = [GAMES[game](rng, t, (20, n)) for t in range(200)]
    policy = make_policy("exp3+", num_arms=n, num_instances=20, raw_range=True)
    largest, first = np.zeros(20), np.zeros(20)
    for row, _, V in estimates(play(policy, losses, rng), losses):
        largest = np.maximum(largest, row.loss)
        first = np.where(first > 0, first, V)
        doublings = np.log2(np.where(first > 0, V / np.where(first > 0, first, 1.0), 1.0))
        bound = 4 * np.sqrt(V * math.log(n)) + largest * (4 * math.log(n) + 5 + doublings)
        assert (row.estimated_regret <= bound + 1e-9 * largest * n * row.round).all()


@pytest.mark.parametrize(
    ("size", "game", "chance"), every(3, [(2, 1), (5, 1), (5, 2), (6, 3)], GAMES, ["drawn", "worst"])
)
def test_estimated_regret_of_hinted_is_at_most_twice_its_s(size, game, chance):
    """With round t weighing t / T: sum <w_t, x_t> - min_K sum x_t(K) <= S_T + (T - 1)/T S_{T-1} <= 2 S_T.

    x_t are the estimates of round t, w_t the weights before exploration. It holds for every sequence of
    draws, also when the least likely arms come up each time.
    """
    n, k = size
    rng = np.random.default_rng([n, k])
    policy = reference.Hinted(n, k)
    paid, totals = 0.0, np.zeros(n)
    for t in range(1, 101):
        p = np.array(policy.inclusion())
        arms = np.argsort(p)[:k] if chance == "worst" else rng.choice(n, k, replace=False)
        loss = GAMES[game](rng, t, (1, n))[0]
        observed = {int(a): (float(loss[a]), None) for a in arms}
        if t > 1:
            x = np.array(policy.estimate(observed))
            paid += t * float(np.dot(policy.weights(), x))
            totals += t * x
        before = policy.S
        policy.update(observed)
        regret = (paid - np.sort(totals)[:k].sum()) / t
        slack = 1e-9 * np.abs(totals).max() / t
        assert regret <= policy.S + (t - 1) / t * before + slack
        assert (t - 1) / t * before <= policy.S
