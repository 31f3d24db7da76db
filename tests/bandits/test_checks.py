"""Bad input is refused: an error names what was expected, what came, and the instance and arm."""

import numpy as np
import pytest

from banditplex.bandits import Draw, Observations, make_policy
from tests.refusals import refuses

N, K = 5, 2
ARMS, P = [[0, 1], [3, 4]], [[0.4, 0.4], [0.4, 0.4]]
ONES = np.ones((2, 2))


def draw(instances=(2, 0), arms=ARMS, probability=P):
    return Draw(instances, arms, probability)


def spoiled(value):
    losses = np.ones((2, 2))
    losses[1, 0] = value
    return losses


REFUSED = {
    "nan": (lambda: (draw(), spoiled(np.nan)), ["losses", "1e+100", "nan", "instance 0, arm 3"]),
    "infinite": (lambda: (draw(), spoiled(np.inf)), ["losses", "1e+100", "inf", "instance 0, arm 3"]),
    "negative": (lambda: (draw(), spoiled(-0.5)), ["losses", "1e+100", -0.5, "instance 0, arm 3"]),
    "too large": (lambda: (draw(), spoiled(1.1e100)), ["losses", "1e+100", "1.1e+100", "instance 0, arm 3"]),
    "flat losses": (lambda: (draw(), [1.0, 1.0]), ["losses", (2, 2), (2,)]),
    "ragged losses": (lambda: (draw(), [[1.0], [1.0, 2.0]]), ["losses", "ragged"]),
    "words": (lambda: (draw(), [["a", "b"]] * 2), ["losses", "real", "<U1"]),
    "complex": (lambda: (draw(), ONES * 1j), ["losses", "real", "complex128"]),
    "no draw": (lambda: ("draw", ONES), ["Draw", "str"]),
    "arm too large": (lambda: (draw(arms=[[0, 1], [3, 5]]), ONES), ["draw.arms", "0 to 4", 5, "instance 0"]),
    "arm negative": (lambda: (draw(arms=[[0, -1], [3, 4]]), ONES), ["draw.arms", "0 to 4", -1, "instance 2"]),
    "arm twice": (lambda: (draw(arms=[[0, 1], [3, 3]]), ONES), ["draw.arms", "distinct", "arm 3", "instance 0"]),
    "too few arms": (
        lambda: (draw(arms=[[0], [3]], probability=[[0.4], [0.4]]), [[1.0], [1.0]]),
        ["draw.arms", (2, 2), (2, 1)],
    ),
    "instance too large": (lambda: (draw(instances=[2, 3]), ONES), ["instances", "0 to 2", 3]),
    "instance twice": (lambda: (draw(instances=[2, 2]), ONES), ["distinct", "instances", 2]),
    "drawn with probability 0": (
        lambda: (draw(probability=[[0.4, 0.4], [0.0, 0.4]]), ONES),
        ["draw.probability", 0.0, "instance 0, arm 3"],
    ),
    "observed with probability 0": (
        lambda: (draw(), ONES, {"probability": spoiled(0.0)}),
        ["probability", 0.0, "instance 0, arm 3"],
    ),
    "probability above 1": (
        lambda: (draw(), ONES, {"probability": spoiled(1.01)}),
        ["probability", 1.01, "instance 0, arm 3"],
    ),
    "probability nan": (
        lambda: (draw(), ONES, {"probability": spoiled(np.nan)}),
        ["probability", "nan", "instance 0, arm 3"],
    ),
    "probability of wrong shape": (
        lambda: (draw(), ONES, {"probability": [0.5, 0.5]}),
        ["probability", (2, 2), (2,)],
    ),
    "extra of another kind": (lambda: (draw(), ONES, {"extra": [1]}), ["extra", "Observations", "list"]),
    "extra loss": (
        lambda: (draw(), ONES, {"extra": Observations([1, 2], [0, 4], [1.0, np.inf])}),
        ["extra.loss", "1e+100", "inf", "instance 2, arm 4"],
    ),
    "extra probability": (
        lambda: (draw(), ONES, {"extra": Observations([2, 2], [3, 4], [1.0, 1.0], [0.5, 0.0])}),
        ["extra.probability", 0.0, "instance 2, arm 4"],
    ),
    "extra arm": (
        lambda: (draw(), ONES, {"extra": Observations([1], [5], [1.0])}),
        ["extra.arm", "0 to 4", 5, "instance 1"],
    ),
    "extra instance": (
        lambda: (draw(), ONES, {"extra": Observations([3], [0], [1.0])}),
        ["extra.instance", "0 to 2", 3],
    ),
    "extra twice": (
        lambda: (draw(), ONES, {"extra": Observations([1, 1], [3, 3], [1.0, 2.0])}),
        ["extra", "instance 1, arm 3"],
    ),
    "extra drawn": (
        lambda: (draw(), ONES, {"extra": Observations([0], [4], [1.0], [0.9])}),
        ["extra", "instance 0, arm 4"],
    ),
    "extra with a probability outside the draw": (
        lambda: (draw(), ONES, {"extra": Observations([1], [4], [1.0], [0.9])}),
        ["extra.probability", "NaN", 0.9, "instance 1, arm 4"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", ["hinted", "exp3+"])
def test_a_refused_update_changes_nothing(name, case):
    policy = make_policy(name, num_arms=N, k=K, num_instances=3)
    policy.update(draw(), ONES)
    before = policy.state_dict()
    make, named = REFUSED[case]
    handed, losses, *options = make()
    with refuses(*named):
        policy.update(handed, losses, **(options[0] if options else {}))
    after = policy.state_dict()
    assert all(np.array_equal(before[field], after[field]) for field in before)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: make_policy("hinted", num_arms=0), ["num_arms", "at least 1", 0]),
        (lambda: make_policy("hinted", num_arms=3, k=4), ["k", "1 to 3", 4]),
        (lambda: make_policy("hinted", num_arms=3, k=0), ["k", "1 to 3", 0]),
        (lambda: make_policy("hinted", num_arms=3, k=True), ["k", "1 to 3", True]),
        (lambda: make_policy("hinted", num_arms=2.5), ["num_arms", "at least 1", 2.5]),
        (lambda: make_policy("hinted", num_arms=3, num_instances=0), ["num_instances", "at least 1", 0]),
        (lambda: make_policy("epsilon-greedy", num_arms=3, epsilon=1.5), ["epsilon", "0 to 1", 1.5]),
        (lambda: make_policy("exp3-ix", num_arms=3, scale=0.0), ["scale", "1e-300 to 1e+100", 0.0]),
        (lambda: make_policy("fixed", num_arms=3, arms=[0, 0]), ["arms", "distinct", "arm 0", "instance 0"]),
        (lambda: make_policy("fixed", num_arms=3, arms=[3]), ["arms", "0 to 2", 3]),
        (lambda: make_policy("fixed", num_arms=3, num_instances=2, arms=[[0]]), ["arms", "(k,)", "(2, k)", (1, 1)]),
        (lambda: make_policy("fixed", num_arms=3, arms=[0.5]), ["arms", "integers", "float64"]),
        (lambda: Draw([0], [[1], [1, 2]], [[1.0]]), ["Draw.arms", "integers", "ragged"]),
        (lambda: make_policy("cost-aware", num_arms=3, prices=[1.0, 2.0]), ["prices", (3,), (1, 3), (2,)]),
        (lambda: make_policy("cost-aware", num_arms=3, prices=[1.0, 2.0, 0.0]), ["prices", "above 0", 0.0]),
        (lambda: Draw([0.5], [[1]], [[1.0]]), ["Draw.instances", "integers", "float64"]),
        (lambda: Draw([0], [[1]], [["a"]]), ["Draw.probability", "real", "<U1"]),
        (lambda: Observations([0, 1], [1], [1.0]), ["Observations", "instance (2,)", "arm (1,)", "loss (1,)"]),
        (lambda: draw().inclusion, ["Policy.draw", "by hand", "Policy.inclusion(draw.instances)"]),
    ],
)
def test_bad_arguments_are_refused(make, named):
    with refuses(*named):
        make()


@pytest.mark.parametrize("instances", [[0, 0], [3], [-1], [[0]], [0.0], ["a"]])
def test_bad_instances_are_refused(instances):
    policy = make_policy("hinted", num_arms=N, num_instances=3)
    for ask in (policy.inclusion, lambda chosen: policy.draw(np.random.default_rng(0), chosen)):
        with refuses("instances"):
            ask(instances)


def test_tiny_losses_count_as_zero():
    one, other = (make_policy("exp3+", num_arms=2, raw_range=True) for _ in range(2))
    one.update(Draw([0], [[0]], [[0.5]]), [[9e-301]])
    other.update(Draw([0], [[0]], [[0.5]]), [[0.0]])
    assert (one.state_dict()["L"] == other.state_dict()["L"]).all()


def test_no_instances_at_all():
    policy = make_policy("hinted", num_arms=N, k=K, num_instances=3)
    nobody = policy.draw(np.random.default_rng(0), [])
    assert nobody.arms.shape == (0, K)
    assert nobody.inclusion.shape == (0, N)
    assert policy.inclusion([]).shape == (0, N)
    policy.update(nobody, np.empty((0, K)), extra=Observations([1], [4], [0.5]))
    assert policy.state_dict()["c"][1].tolist() == [0, 0, 0, 0, 1]


def test_values_are_frozen_copies():
    arms = np.array([[1]])
    one = Draw([0], arms, [[0.5]])
    arms[0, 0] = 3
    assert one.arms.tolist() == [[1]]
    with refuses("read-only", error=ValueError):
        one.arms[0, 0] = 2
    with pytest.raises(AttributeError):
        one.arms = arms


def test_a_draw_remembers_its_inclusion():
    policy = make_policy("hinted", num_arms=N, num_instances=3)
    rng = np.random.default_rng(0)
    one = policy.draw(rng)
    before = policy.inclusion()
    policy.update(one, np.ones((3, 1)))
    policy.update(policy.draw(rng), np.ones((3, 1)))
    assert (one.inclusion == before).all()
