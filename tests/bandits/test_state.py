"""A policy has the same future when its state is restored, and refuses the states of others."""

import json

import numpy as np
import pytest

from banditplex.bandits import make_policy
from tests.quick import every
from tests.refusals import refuses

LEARNERS = ["adahedge", "epsilon-greedy", "exp3", "exp3+", "exp3-ix", "hinted", "tsallis-inf"]


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
