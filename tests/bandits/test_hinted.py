"""What hinted AdaHedge must do beyond its worked cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.bandits import Draw, Observations, make_policy
from tests.bandits import reference
from tests.bandits.games import forced_probabilities, loss_tables
from tests.quick import every


@given(loss_tables(), st.sampled_from([2.0**40, 2.0**-40]))
def test_scaling_by_a_power_of_two_changes_no_bit(table, scale):
    arms, losses = table
    losses = np.where(losses < 1e-200, 0.0, losses)
    one, other = (forced_probabilities("hinted", arms, losses * s) for s in (1.0, scale))
    assert (one == other).all()


@given(loss_tables(losses=st.floats(0.01, 10)))
def test_scaling_and_shifting_change_nothing_to_speak_of(table):
    """Losses are multiples of 1/64, so that adding 5 is exact and ties stay ties."""
    arms, losses = table
    losses = np.round(losses * 64) / 64
    one, scaled, shifted = (forced_probabilities("hinted", arms, x) for x in (losses, losses * 1e30, losses + 5))
    np.testing.assert_allclose(scaled, one, rtol=0, atol=1e-9)
    np.testing.assert_allclose(shifted, one, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "size"),
    every(2, [0.0, 0.1, 1 / 3, 1e-200, 7e99], [(2, 1), (5, 1), (5, 2), (70, 1), (70, 3)]),
)
def test_equal_losses_leave_all_seen_arms_alike(loss, size):
    n, k = size
    rng = np.random.default_rng(0)
    policy = make_policy("hinted", num_arms=n, k=k, num_instances=3)
    for _ in range(40):
        draw = policy.draw(rng)
        policy.update(draw, np.full(draw.arms.shape, loss))
        for p in policy.inclusion():
            assert len(np.unique(p.round(14))) <= 2  # seen and unseen
    state = policy.state_dict()
    assert (state["S"] == 0).all()
    assert (state["L"] == 0).all()


def test_estimates_are_unbiased_once_the_cap_is_off():
    """Enumerate the draw: the mean change of L_i - L_j is l_i - l_j.

    With n = 3 every p is at least (1 + 4/3)/60 = 1/26, and the cap sqrt(3 t / ln 3) exceeds 26 from t = 248.
    """
    rng = np.random.default_rng(0)
    policy = make_policy("hinted", num_arms=3)
    table = np.array([0.3, 0.7, 0.5])
    for _ in range(300):
        draw = policy.draw(rng)
        policy.update(draw, table[draw.arms] * rng.uniform(0.5, 1.5, (1, 1)))
    before, p = policy.state_dict(), policy.inclusion()
    t = int(before["t"][0]) + 1
    losses = np.array([0.9, 0.2, 0.4])
    mean = np.zeros(3)
    for arm in range(3):
        twin = make_policy("hinted", num_arms=3)
        twin.load_state_dict(before)
        twin.update(Draw([0], [[arm]], p[:, [arm]]), [[losses[arm]]])
        change = twin.state_dict()["L"][0] - (t - 1) / t * before["L"][0]
        mean += p[0, arm] * (change - change[0])
    np.testing.assert_allclose(mean, losses - losses[0], atol=1e-12)


def test_advice_changes_hints_and_counts_only():
    policy = make_policy("hinted", num_arms=4, num_instances=2)
    policy.update(Draw([0], [[1]], [[0.25]]), [[0.5]])
    before = policy.state_dict()
    policy.update(Draw([1], [[0]], [[0.25]]), [[0.5]], extra=Observations([0, 0], [1, 2], [0.9, 0.3]))
    after = policy.state_dict()
    for name in ("L", "S", "t"):
        assert (after[name][0] == before[name][0]).all()
    np.testing.assert_allclose(after["m"][0], [0, 0.7, 0.3, 0])
    assert after["c"][0].tolist() == [0, 2, 1, 0]


def test_hints_follow_the_newest_losses():
    """The first four losses count alike, from then on the newest has weight 1/4."""
    policy = make_policy("hinted", num_arms=2, k=2)
    for loss in (1.0, 2.0, 3.0, 6.0, 7.0, 7.0):
        policy.update(policy.draw(np.random.default_rng(0)), [[loss, loss]])
    mean = 3.0  # of the first four
    for loss in (7.0, 7.0):
        mean += (loss - mean) / 4
    np.testing.assert_allclose(policy.state_dict()["m"], [[mean, mean]])


@pytest.mark.parametrize(("n", "k"), [(3, 1), (6, 2)])
def test_estimated_regret_stays_below_twice_the_gaps(n, k):
    """With weights s/t on round s: sum of <w, lhat> less the k smallest L is at most 2 S, on every path."""
    rng = np.random.default_rng(n)
    plain = reference.Hinted(n, k)
    lost = 0.0
    for _ in range(300):
        p = np.array(plain.inclusion())
        arms = make_policy("fixed", num_arms=n, arms=rng.permutation(n)[:k]).arms[0].tolist()
        observed = {arm: (float(rng.exponential() * (1 + arm)), float(max(p[arm], 0.01))) for arm in arms}
        t = plain.t + 1
        w = plain.weights()
        lhat = plain.estimate(observed) if plain.t else [0.0] * n
        lost = (t - 1) / t * lost + float(np.dot(w, lhat))
        shift = min((t - 1) / t * a + b for a, b in zip(plain.L, lhat, strict=True))
        lost -= k * shift
        plain.update(observed)
        assert lost - sum(sorted(plain.L)[:k]) <= 2 * plain.S * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("name", "options", "low", "high"),
    [("hinted", {}, 0.9, 1.0), ("exp3+", {}, 0.40, 0.48), ("exp3+", {"printed_sign": True}, 0.0, 0.2)],
)
def test_mass_on_the_best_layer_after_fifty_rounds(name, options, low, high):
    """Distances sqrt(2 (1 - s)) to layers of similarity .9, .1, .1, .05, .01, known to 5 %."""
    means = np.sqrt(2 * (1 - np.array([0.9, 0.1, 0.1, 0.05, 0.01])))
    rng = np.random.default_rng(0)
    policy = make_policy(name, num_arms=5, num_instances=400, **options)
    for _ in range(50):
        draw = policy.draw(rng)
        policy.update(draw, means[draw.arms] * rng.uniform(0.95, 1.05, draw.arms.shape))
    assert low <= policy.inclusion()[:, 0].mean() <= high


def test_a_good_arm_that_turns_bad_while_others_see_more_arms():
    """What instance 0 sees makes room in the table of instance 1, whose best arm then has a huge loss."""
    policy, plain = make_policy("hinted", num_arms=200, num_instances=2), reference.Hinted(200)

    def force(arm, loss):
        p = max(float(policy.inclusion([1])[0, arm]), 1e-3)
        policy.update(Draw([1], [[arm]], [[p]]), [[loss]])
        plain.update({arm: (loss, p)})

    for r in range(60):
        force([0, 0, 0, 1, 2, 3][r % 6], [1e-3, 1e-3, 1e-3, 1.0, 1.0, 1.0][r % 6])
    others = Observations([0] * 40, np.arange(1, 41), np.linspace(0, 1, 40))
    policy.update(Draw([0], [[0]], [[0.5]]), [[1.0]], extra=others)
    for loss in (1.0, 1e4, 1e7):
        force(0, loss)
        np.testing.assert_allclose(policy.inclusion([1])[0], plain.inclusion(), rtol=1e-9)


def by_hand(draw):
    return Draw(draw.instances, draw.arms, draw.probability)


def same_draw(draw):
    return draw


@pytest.mark.parametrize("inner", ["hinted", "cost-aware"])
@pytest.mark.parametrize(("n", "k", "rounds"), [(6, 1, 20), (6, 6, 3), (300, 1, 40), (90, 3, 20)])
def test_nothing_depends_on_what_a_draw_leaves_for_its_update(inner, n, k, rounds):
    """Whatever happens between a draw and its update, a draw built by hand teaches the same, to the last bit."""
    options = {"prices": 1.0 + np.arange(n) % 3} if inner == "cost-aware" else {}
    rng = np.random.default_rng(n)
    own, other = (make_policy(inner, num_arms=n, k=k, num_instances=5, **options) for _ in range(2))
    stored = own.state_dict()
    for r in range(rounds):
        seed, table = int(rng.integers(2**30)), rng.random((5, n))
        chosen = rng.permutation(5)[: rng.integers(1, 6)] if r % 2 else np.arange(5)[rng.integers(4) :]
        advice = Observations([0], [int(rng.integers(n))], [0.5])
        for policy, as_told in ((own, same_draw), (other, by_hand)):
            draw = policy.draw(np.random.default_rng(seed), chosen)
            losses = table[draw.instances[:, None], draw.arms]
            if r % 5 == 1:  # another draw of the same instances is told first
                policy.update(as_told(policy.draw(np.random.default_rng(seed + 1), chosen)), losses)
            if r % 5 == 2:  # nobody plays, one is advised
                policy.update(policy.draw(np.random.default_rng(0), []), np.empty((0, k)), extra=advice)
            if r % 5 == 3:  # someone else plays
                policy.update(as_told(policy.draw(np.random.default_rng(seed + 2), [3])), table[3:4, :k])
            if r % 10 == 4:
                policy.load_state_dict(stored)
            if r % 10 == 9:
                policy.draw(np.random.default_rng(seed + 3))
                policy.inclusion()
            policy.update(as_told(draw), losses)
        assert all(np.array_equal(a, b) for a, b in zip(states(own), states(other), strict=True))
        if r % 10 == 0:
            stored = own.state_dict()


def states(policy):
    return list(policy.state_dict().values())
