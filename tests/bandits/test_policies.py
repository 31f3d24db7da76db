"""Every policy keeps the contract; each does what its own formula says, against plain loops."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex import testing
from banditplex.bandits import POLICIES, CostAware, Draw, Fixed, Observations, base, make_policy
from banditplex.bandits.tsallis_inf import inverse_square_weights
from banditplex.testing import check_policy
from tests.quick import every, only
from tests.refusals import refuses


def cost_aware(*, num_arms, k, num_instances):
    prices = 1.0 + np.arange(num_arms) % 3
    return CostAware(num_arms=num_arms, k=k, num_instances=num_instances, prices=prices)


def fixed(*, num_arms, k, num_instances):
    return Fixed(num_arms=num_arms, num_instances=num_instances, arms=np.arange(num_arms)[-k:])


WITH_ARMS = {
    "cost-aware": {"policy": cost_aware, "equivariant": False},
    "fixed": {"policy": fixed, "equivariant": False},
}
"""Policies with options that must be given and depend on the number of arms."""
VARIANTS = {
    "exp3+": [{"raw_range": True}, {"printed_sign": True}],
    "exp3-ix": [{"scale": 10.0}],
    "tsallis-inf": [{"scale": 10.0}],
}


SMALL = ((3, 3), (6, 2))
NAMES = [name for name in POLICIES if name != "default"]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_the_contract_at_small_sizes(name, monkeypatch):
    monkeypatch.setattr(testing, "SIZES", SMALL)
    check_policy(**{"policy": name, **WITH_ARMS.get(name, {})})


@pytest.mark.parametrize("name", only(["hinted"], NAMES))
def test_every_policy_keeps_the_contract(name):
    check_policy(**{"policy": name, **WITH_ARMS.get(name, {})})


@pytest.mark.parametrize("sizes", [SMALL, pytest.param(testing.SIZES, marks=pytest.mark.slow)], ids=["small", "all"])
@pytest.mark.parametrize(("name", "options"), every(3, [(name, each) for name in VARIANTS for each in VARIANTS[name]]))
def test_every_option_keeps_the_contract(name, options, sizes, monkeypatch):
    monkeypatch.setattr(testing, "SIZES", sizes)
    check_policy(name, **options)


def test_the_default_is_hinted():
    assert POLICIES["default"] is POLICIES["hinted"]


def test_policies_that_learn_are_listed_first():
    learning = [POLICIES[name].learns for name in POLICIES]
    assert learning == sorted(learning, reverse=True)
    assert next(iter(POLICIES)) == "default"


def test_attributes_describe_each_policy():
    assert [name for name in POLICIES if not POLICIES[name].learns] == ["uniform", "fixed", "all", "none"]
    assert [name for name in POLICIES if not POLICIES[name].takes_k] == ["fixed", "all", "none"]
    declared = {name: dict(POLICIES[name].arm_options) for name in POLICIES if POLICIES[name].arm_options}
    assert declared == {"cost-aware": {"prices": "values"}, "fixed": {"arms": "indices"}}


@pytest.mark.parametrize(
    ("inner", "options", "learns", "takes_k"),
    [("exp3", {}, True, True), ("uniform", {}, False, True), ("fixed", {"arms": [2, 0]}, False, False)],
)
def test_cost_aware_learns_and_takes_k_as_the_policy_it_wraps(inner, options, learns, takes_k):
    policy = make_policy("cost-aware", num_arms=3, prices=[1.0, 2.0, 3.0], policy=inner, **options)
    assert (policy.learns, policy.takes_k) == (learns, takes_k)


def test_options_are_those_of_the_class():
    with refuses("'uniform'", "'epsilon'"):
        make_policy("uniform", num_arms=3, epsilon=0.5)
    with refuses("'exp3+'", "raw_range", "printed_sign", "'raw'"):
        make_policy("exp3+", num_arms=3, raw=True)
    with refuses("raw_range", True, False, 7):
        make_policy("exp3+", num_arms=3, raw_range=7)
    with refuses("'hintde'", "'hinted'"):
        make_policy("hintde", num_arms=3)


@pytest.mark.parametrize(("name", "option"), [("fixed", "arms"), ("cost-aware", "prices")])
def test_an_option_without_a_default_must_be_given(name, option):
    with refuses(f"'{name}'", f"'{option}'"):
        make_policy(name, num_arms=3)


def test_importing_the_bandits_imports_nothing_heavy():
    code = "import sys, banditplex.bandits; print(*sorted({'torch', 'pandas', 'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def force(policy, arm, loss, probability):
    policy.update(Draw([0], [[arm]], [[probability]]), [[loss]])


def test_exp3_cannot_tell_arms_apart_above_one():
    """The paper's remark: with all losses above 1, capping makes them equal; Exp3+ sees the difference."""
    rng = np.random.default_rng(0)
    losses = np.array([1.5, 4.0, 9.0])
    mass = {}
    for name in ("exp3", "exp3+"):
        policy = make_policy(name, num_arms=3, num_instances=100)
        for _ in range(400):
            draw = policy.draw(rng)
            policy.update(draw, losses[draw.arms])
        mass[name] = policy.inclusion()[:, 0].mean()
    assert abs(mass["exp3"] - 1 / 3) < 0.05
    assert mass["exp3+"] > 0.7


def softmax(y):
    w = np.exp(y - np.max(y))
    return w / w.sum()


@pytest.mark.parametrize("name", ["exp3", "exp3-ix"])
def test_exp3_and_its_implicit_exploration_equal_plain_loops(name):
    rng, n = np.random.default_rng(1), 4
    policy, L, M = make_policy(name, num_arms=n), np.zeros(n), 0.0
    for t in range(1, 60):
        eta = math.sqrt(math.log(n) / (n * t))
        scale = 1.0 if name == "exp3" else M
        p = softmax(-eta * L / scale) if scale else np.full(n, 1 / n)
        np.testing.assert_allclose(policy.inclusion()[0], p, rtol=1e-11, atol=1e-200)
        arm, loss = int(rng.choice(n, p=p)), float(rng.exponential())
        force(policy, arm, loss, p[arm])
        if name == "exp3":
            L[arm] += min(loss, 1.0) / p[arm]
        else:
            L[arm] += loss / (p[arm] + eta / 2)
            M = max(M, loss)


def test_a_given_scale_is_kept():
    policy = make_policy("exp3-ix", num_arms=3, scale=7.0)
    force(policy, 0, 50.0, 0.3)
    assert policy.state_dict()["M"].tolist() == [7.0]


def test_inverse_square_weights_of_enormous_numbers():
    z = np.array([[5e99, 1e99, 1e99, 0.0]])
    np.testing.assert_allclose(inverse_square_weights(z, 1), [[0, 0, 0, 1]], atol=1e-100)
    np.testing.assert_allclose(inverse_square_weights(z, 2), [[0, 0.5, 0.5, 1]], atol=1e-100)
    np.testing.assert_allclose(inverse_square_weights(z, 3), [[0, 1, 1, 1]], atol=1e-100)


@st.composite
def gaps_and_k(draw):
    z = draw(st.lists(st.floats(0, 1e4) | st.just(0.0), min_size=2, max_size=9))
    return np.array([z]) - min(z), draw(st.integers(1, len(z) - 1))


@given(gaps_and_k())
def test_inverse_square_weights_solve_their_equation(case):
    """min(1, 4 / (z + c)^2) with one c for all: every free arm must give the same c."""
    z, k = case
    w = inverse_square_weights(z.copy(), k)[0]
    assert w.sum() == pytest.approx(k, abs=1e-12)
    assert ((w >= 0) & (w <= 1)).all()
    free = w < 1 - 1e-9
    c = 2 / np.sqrt(w[free]) - z[0, free]
    if free.any():
        np.testing.assert_allclose(c, c.mean(), rtol=1e-6, atol=1e-6 * (1 + z.max()))
        assert (z[0, ~free] + c.mean() <= 2 + 1e-4 * (1 + z.max())).all()


def test_tsallis_inf_equals_a_plain_loop():
    """c by bisection, in plain Python."""
    rng, n = np.random.default_rng(2), 5
    policy, L, M = make_policy("tsallis-inf", num_arms=n), np.zeros(n), 0.0
    for t in range(1, 40):
        z = (L - L.min()) * (2 / math.sqrt(t) / M if M else 0.0)
        low, high = 2.0, 2 * math.sqrt(n)
        for _ in range(100):
            c = (low + high) / 2
            low, high = (c, high) if (4 / (z + c) ** 2).sum() > 1 else (low, c)
        p = 4 / (z + c) ** 2
        np.testing.assert_allclose(policy.inclusion()[0], p, rtol=1e-9)
        arm, loss = int(rng.choice(n, p=p / p.sum())), float(rng.exponential())
        force(policy, arm, loss, p[arm])
        L[arm] += loss / p[arm]
        M = max(M, loss)


def test_adahedge_with_full_information_equals_a_plain_loop():
    """Every loss observed with probability 1: eta = ln n / S, S sums <w, l> + (1/eta) ln <w, exp(-eta l)>."""
    rng, n = np.random.default_rng(3), 4
    policy, L, S = make_policy("adahedge", num_arms=n), np.zeros(n), 0.0
    for _ in range(60):
        losses = rng.exponential(size=n) * [1.0, 2.0, 0.5, 3.0]
        eta = math.log(n) / S if S else math.inf
        w = softmax(-eta * L) if S else (L.min() == L) / (L.min() == L).sum()
        np.testing.assert_allclose(policy.inclusion()[0], w, rtol=1e-9)
        mix = -math.log(w @ np.exp(-eta * losses)) / eta if S else losses[w > 0].min()
        S += w @ losses - mix
        L += losses
        others = Observations([0] * 3, [1, 2, 3], losses[1:], probability=1.0)
        policy.update(Draw([0], [[0]], [[w[0]]]), [[losses[0]]], probability=[[1.0]], extra=others)


def test_adahedge_stays_below_its_bound():
    """Regret at most 2 S on every sequence (de Rooij et al. 2014, lemma 3)."""
    rng, n = np.random.default_rng(4), 6
    policy, total, lost = make_policy("adahedge", num_arms=n), np.zeros(n), 0.0
    for _ in range(300):
        losses = rng.pareto(1.5, n)
        p = policy.inclusion()[0]
        lost, total = lost + p @ losses, total + losses
        others = Observations([0] * (n - 1), np.arange(1, n), losses[1:], probability=1.0)
        policy.update(Draw([0], [[0]], [[1.0]]), [[losses[0]]], extra=others)
        assert lost - total.min() <= 2 * policy.state_dict()["S"][0] + 1e-9


def test_epsilon_greedy_plays_unseen_arms_first_then_the_smallest_mean():
    policy = make_policy("epsilon-greedy", num_arms=4, epsilon=0.2)
    for arm, loss in ((0, 3.0), (0, 1.0), (2, 1.5), (1, 9.0)):
        force(policy, arm, loss, 0.5)
    np.testing.assert_allclose(policy.inclusion()[0], [0.05, 0.05, 0.05, 0.85])
    force(policy, 3, 4.0, 0.5)
    np.testing.assert_allclose(policy.inclusion()[0], [0.05, 0.05, 0.85, 0.05])
    np.testing.assert_allclose(policy.state_dict()["mean"], [[2.0, 9.0, 1.5, 4.0]])


def test_epsilon_is_a_tenth_by_default():
    policy = make_policy("epsilon-greedy", num_arms=2)
    for arm, loss in ((0, 3.0), (1, 1.0)):
        force(policy, arm, loss, 0.5)
    np.testing.assert_allclose(policy.inclusion()[0], [0.05, 0.95])


def test_fixed_arms_may_differ_between_instances():
    policy = make_policy("fixed", num_arms=4, num_instances=2, arms=[[0, 3], [1, 2]])
    assert policy.k == 2
    assert policy.draw(np.random.default_rng(0)).arms.tolist() == [[0, 3], [1, 2]]
    assert policy.inclusion([1]).tolist() == [[0, 1, 1, 0]]


@pytest.mark.parametrize(("name", "k"), [("all", 5), ("none", 0)])
def test_all_and_none_have_a_k_of_their_own(name, k):
    policy = make_policy(name, num_arms=5, k=2, num_instances=3)
    draw = policy.draw(np.random.default_rng(0))
    assert policy.k == k
    assert draw.arms.tolist() == [list(range(k))] * 3
    policy.update(draw, np.ones((3, k)))
    assert policy.rounds.tolist() == [1, 1, 1]


def play_all(policy, losses, rounds=60, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        draw = policy.draw(rng)
        policy.update(draw, np.asarray(losses)[draw.arms])
    return policy.inclusion()


@pytest.mark.parametrize("inner", ["hinted", "exp3+", "tsallis-inf"])
def test_cost_aware_with_equal_prices_is_the_policy_it_wraps(inner):
    losses = [0.4, 0.2, 0.9]
    alone = play_all(make_policy(inner, num_arms=3, num_instances=4), losses)
    for options in ({"prices": [7.0] * 3}, {"prices": [1.0, 2.0, 3.0], "strength": 0.0}):
        wrapped = make_policy("cost-aware", num_arms=3, num_instances=4, policy=inner, **options)
        assert (play_all(wrapped, losses) == alone).all()


def test_cost_aware_looks_for_the_smallest_loss_times_price():
    """Losses .5, .4, .6 at prices 2, 4, 1: products 1, 1.6, .6."""
    policy = make_policy("cost-aware", num_arms=3, num_instances=50, prices=[2.0, 4.0, 1.0])
    assert play_all(policy, [0.5, 0.4, 0.6]).mean(axis=0).argmax() == 2
    priced = make_policy("hinted", num_arms=3, num_instances=50)
    np.testing.assert_allclose(play_all(priced, [0.25, 0.4, 0.15]), policy.inclusion(), rtol=1e-9)


def test_cost_aware_takes_prices_per_instance_and_options_of_the_policy():
    prices = [[1.0, 9.0], [9.0, 1.0]]
    policy = make_policy("cost-aware", num_arms=2, num_instances=2, prices=prices, policy="exp3+", raw_range=True)
    p = play_all(policy, [0.5, 0.5], rounds=200)
    assert p[0, 0] > 0.8
    assert p[1, 1] > 0.8


def test_prices_of_an_instance_count_relative_to_its_own_highest():
    """Losses .8 at prices 1, 2, 4 and 3, 6, 6 are .2, .4, .8 and .4, .8, .8 to the policy inside."""
    policy = make_policy("cost-aware", num_arms=3, num_instances=2, prices=[[1, 2, 4], [3, 6, 6]], policy="exp3+")
    plain = make_policy("exp3+", num_arms=3, num_instances=2)
    for arm, losses in enumerate([[0.2, 0.4], [0.4, 0.8], [0.8, 0.8]]):
        draw = Draw(np.arange(2), np.full((2, 1), arm), np.full((2, 1), 0.5))
        policy.update(draw, np.full((2, 1), 0.8))
        plain.update(draw, np.array(losses)[:, None])
    np.testing.assert_allclose(policy.inclusion(), plain.inclusion(), rtol=1e-12)


@pytest.mark.parametrize("name", ["hinted", "exp3+", "exp3", "exp3-ix", "tsallis-inf", "adahedge", "epsilon-greedy"])
@pytest.mark.parametrize("elements", [5, 10, 15, 30])
def test_batches_of_instances_change_nothing(name, elements, monkeypatch):
    """Six instances of five arms: six, three, two batches and one."""
    whole, parts = (make_policy(name, num_arms=5, k=2, num_instances=6) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(8):
        draw, losses = whole.draw(rng), rng.random((6, 2))
        whole.update(draw, losses)
        with monkeypatch.context() as patch:
            patch.setattr(base, "BATCH_ELEMENTS", elements)
            parts.update(draw, losses)
            np.testing.assert_allclose(parts.inclusion(), whole.inclusion(), rtol=1e-12)
    assert np.ptp(whole.inclusion()) > 0.01


@pytest.mark.parametrize("name", ["exp3+", "tsallis-inf", "adahedge"])
def test_estimates_are_unbiased(name):
    """Enumerate the draw: the mean change of L, up to a shift, is the loss of every arm."""
    rng = np.random.default_rng(5)
    policy = make_policy(name, num_arms=4)
    for _ in range(10):
        draw = policy.draw(rng)
        policy.update(draw, rng.random((1, 1)))
    before, p = policy.state_dict(), policy.inclusion()[0]
    losses, mean = np.array([0.9, 0.2, 0.4, 3.0]), np.zeros(4)
    for arm in range(4):
        twin = make_policy(name, num_arms=4)
        twin.load_state_dict(before)
        force(twin, arm, losses[arm], p[arm])
        change = twin.state_dict()["L"][0] - before["L"][0]
        mean += p[arm] * (change - change[0])
    np.testing.assert_allclose(mean, losses - losses[0], rtol=1e-12)


def test_estimates_of_three_plays_are_unbiased():
    """Monte Carlo: 40,000 instances in one state; every mean estimate within 4 standard errors."""
    trials, n, k = 40_000, 7, 3
    rng = np.random.default_rng(6)
    policy = make_policy("exp3+", num_arms=n, k=k, num_instances=trials)
    for _ in range(4):
        arms = rng.permutation(n)[:k]
        p = policy.inclusion([0])[0, arms]
        policy.update(
            Draw(np.arange(trials), np.tile(arms, (trials, 1)), np.tile(p, (trials, 1))),
            np.tile(rng.random(k), (trials, 1)),
        )
    losses, before = rng.random(n), policy.state_dict()["L"]
    draw = policy.draw(rng)
    policy.update(draw, losses[draw.arms])
    change = policy.state_dict()["L"] - before
    errors = change.std(axis=0) / math.sqrt(trials)
    assert (np.abs(change.mean(axis=0) - losses) <= 4 * errors + 1e-12).all()
