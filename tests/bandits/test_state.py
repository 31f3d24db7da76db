"""Arms never seen share memory: the same results as dense, little of it, and the same future when restored."""

import json
import tracemalloc

import numpy as np
import pytest

from banditplex.bandits import Draw, Observations, make_policy, state
from banditplex.bandits.state import State, _check_columns
from tests.quick import every, only
from tests.refusals import refuses

LEARNERS = ["adahedge", "epsilon-greedy", "exp3", "exp3+", "exp3-ix", "hinted", "tsallis-inf"]


def both(monkeypatch, name, **sizes):
    """Return two policies, one that keeps unseen arms together and one that is dense from the start."""
    compact = make_policy(name, **sizes)
    monkeypatch.setattr(state, "FIRST_WIDTH", 10**6)
    dense = make_policy(name, **sizes)
    monkeypatch.undo()
    assert not compact._state.dense
    assert dense._state.dense
    return compact, dense


def observe(rng, policy, share):
    """Return a random draw of some instances, losses, and further observations of a share of the arms."""
    n, chosen = policy.num_arms, rng.permutation(policy.num_instances)[: rng.integers(1, policy.num_instances + 1)]
    arms = rng.permuted(np.tile(np.arange(n), (len(chosen), 1)), axis=1)[:, : policy.k]
    draw = Draw(chosen, arms, np.maximum(np.take_along_axis(policy.inclusion(chosen), arms, 1), 1e-3))
    instance, arm = np.nonzero(rng.random((policy.num_instances, n)) < share)
    drawn = set(zip(np.repeat(chosen, policy.k).tolist(), arms.ravel().tolist(), strict=True))
    keep = [pair not in drawn for pair in zip(instance.tolist(), arm.tolist(), strict=True)]
    instance, arm = instance[keep], arm[keep]
    weighed = np.isin(instance, chosen) & (rng.random(len(arm)) < 0.5)
    probability = np.where(weighed, rng.uniform(0.1, 1.0, len(arm)), np.nan)
    extra = Observations(instance, arm, rng.random(len(arm)), probability)
    return draw, rng.random(arms.shape) * 10.0 ** rng.integers(-3, 3), extra


@pytest.mark.parametrize(("k", "name"), every(2, [1, 4], LEARNERS))
def test_compact_equals_dense(monkeypatch, name, k):
    """From nothing seen to more than half, where the compact table turns dense itself."""
    rng = np.random.default_rng(k)
    compact, dense = both(monkeypatch, name, num_arms=97, k=k, num_instances=5)
    for step in range(40):
        draw, losses, extra = observe(rng, dense, share=0.0 if step < 20 else 0.08)
        for policy in (compact, dense):
            policy.update(draw, losses, extra=extra)
        np.testing.assert_allclose(compact.inclusion(), dense.inclusion(), rtol=0, atol=1e-12)
    assert compact._state.dense or name != "hinted"


def test_columns_grow_and_turn_dense():
    table = State(3, 200, instance={"t": 0}, arm={"L": 1.5})
    one = np.array([1])
    for i in range(100):
        assert table.touch(one, np.array([2 * i])).tolist() == [i + 1]
        table.add("L", one, np.array([2 * i]), np.array([float(i)]))
        assert table.width == i + 2
    assert not table.dense
    assert table.touch(one, np.array([1])).tolist() == [1]
    assert table.dense
    want = np.full((3, 200), 1.5)
    want[1, ::2] += np.arange(100)
    assert (table.read("L", slice(0, 3)) == want).all()


@pytest.mark.parametrize("rounds", [200, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", only(["exp3+"], ["hinted", "exp3+"]))
def test_ten_thousand_instances_fit_in_a_gibibyte(name, rounds):
    """10,000 instances x 9,999 arms, as many arms seen by each as so many rounds of one play can see at most."""
    instances, arms = 10_000, 9_999
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        policy = make_policy(name, num_arms=arms, num_instances=instances)
        first = rng.integers(arms - rounds, size=instances)
        for low in range(0, rounds - 1, 40):
            block = first[:, None] + np.arange(low, min(low + 40, rounds - 1))
            seen = Observations(
                np.repeat(np.arange(instances), block.shape[1]), block.ravel(), rng.random(block.size), 0.5
            )
            draw = Draw(
                np.arange(instances), (first[:, None] + rounds - 1 + low % 7) % arms, np.full((instances, 1), 0.5)
            )
            policy.update(draw, rng.random((instances, 1)), extra=seen)
        draw = policy.draw(rng)
        policy.update(draw, rng.random((instances, 1)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert policy._state.width > rounds
    assert policy.nbytes < 2**27 * (rounds // 200)
    assert peak < 2**30


@pytest.mark.parametrize(("n", "name"), every(2, [5, 120], LEARNERS))
def test_a_state_survives_plain_storage(name, n):
    """Arrays as bytes, numbers as text: the future is the same to the last bit."""
    rng = np.random.default_rng(0)
    policy, restored = (make_policy(name, num_arms=n, k=2, num_instances=3) for _ in range(2))
    for _ in range(30):
        draw = policy.draw(rng)
        policy.update(draw, rng.random(draw.arms.shape))
    stored = policy.state_dict()
    text = json.dumps({name: value for name, value in stored.items() if not isinstance(value, np.ndarray)})
    raw = {name: (v.tobytes(), v.dtype.str, v.shape) for name, v in stored.items() if isinstance(v, np.ndarray)}
    arrays = {name: np.frombuffer(data, dtype).reshape(shape) for name, (data, dtype, shape) in raw.items()}
    restored.load_state_dict(json.loads(text) | arrays)
    for seed in range(40):
        for each in (policy, restored):
            draw = each.draw(np.random.default_rng(seed))
            each.update(draw, np.random.default_rng(seed).random(draw.arms.shape))
        assert (policy.inclusion() == restored.inclusion()).all()


def play_unevenly(policy, rounds, seed=0):
    """Play rounds of random instances, with advice: some see many arms, others few."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        draw, losses, extra = observe(rng, policy, share=rng.choice([0.0, 0.01]))
        policy.update(draw, losses, extra=extra)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_unused_columns_repeat_the_shared_one(name, k):
    policy = make_policy(name, num_arms=400, k=k, num_instances=4)
    play_unevenly(policy, 30)
    stored = policy.state_dict()
    seen, width = stored["seen"], policy._state.width
    assert len(np.unique(seen)) > 1
    for i, used in enumerate(seen.tolist()):
        assert (policy._state.size(slice(i, i + 1))[0] == [400 - used] + [1] * used + [0] * (width - 1 - used)).all()
        for values in policy._state._arm.values():
            assert (values[i, used + 1 : width] == values[i, 0]).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_what_unused_columns_hold_in_a_stored_state_does_not_matter(name):
    policy, restored = (make_policy(name, num_arms=400, num_instances=4) for _ in range(2))
    play_unevenly(policy, 30)
    stored = policy.state_dict()
    unused = np.arange(policy._state.width) > stored["seen"][:, None]
    assert unused.any()
    for per_arm in policy._state._arm:
        stored[per_arm][unused] = 7
    restored.load_state_dict(stored)
    for each in (policy, restored):
        play_unevenly(each, 10, seed=1)
    assert (policy.inclusion() == restored.inclusion()).all()


def test_a_wrong_state_is_refused_and_changes_nothing():
    policy = make_policy("hinted", num_arms=4, num_instances=2)
    policy.update(policy.draw(np.random.default_rng(0)), [[1.0], [2.0]])
    good = policy.state_dict()
    other = make_policy("exp3+", num_arms=4, num_instances=2).state_dict()
    for bad, named in (
        (good | {"num_arms": 5}, ["num_arms", 4, 5]),
        (other, ["t, S, L, m, c", "t, E, V, L"]),
        (good | {"L": good["L"][:, :3]}, ["'L'", (2, 4), (2, 3)]),
        (good | {"S": good["S"][:1]}, ["'S'", (2,), (1,)]),
    ):
        with refuses(*named):
            policy.load_state_dict(bad)
        assert all(np.array_equal(good[name], policy.state_dict()[name]) for name in good)


@pytest.mark.parametrize("arm", [0, 3])
def test_a_state_with_an_arm_twice_is_refused(arm):
    _check_columns(np.array([[-1, arm, 1]]), np.array([2]), 5)
    with refuses("arms", "twice"):
        _check_columns(np.array([[-1, arm, arm]]), np.array([2]), 5)
