"""Bad input is refused in one voice: what must be, what came, for which instance and arm."""

import numpy as np
import pytest

from banditplex.bandits import Draw, Observations, make_policy

N, K = 5, 2
ARMS, P = [[0, 1], [3, 4]], [[0.4, 0.4], [0.4, 0.4]]
ONES = np.ones((2, 2))


def draw(instances=(2, 0), arms=ARMS, probability=P):
    return Draw(instances, arms, probability)


def spoiled(value):
    losses = np.ones((2, 2))
    losses[1, 0] = value
    return losses


RANGE = r"losses must lie between 0 and 1e\+100; got {} for instance 0, arm 3\."
CHANCE = r"{} must be above 0 and at most 1; got {} for instance 0, arm 3\."
REFUSED = {
    "nan": (lambda: (draw(), spoiled(np.nan)), RANGE.format("nan")),
    "infinite": (lambda: (draw(), spoiled(np.inf)), RANGE.format("inf")),
    "negative": (lambda: (draw(), spoiled(-0.5)), RANGE.format(r"-0\.5")),
    "too large": (lambda: (draw(), spoiled(1.1e100)), RANGE.format(r"1\.1e\+100")),
    "flat losses": (lambda: (draw(), [1.0, 1.0]), r"losses must have shape \(2, 2\); got \(2,\)\."),
    "ragged losses": (lambda: (draw(), [[1.0], [1.0, 2.0]]), r"losses must be an array of real numbers; got a ragged"),
    "words": (lambda: (draw(), [["a", "b"]] * 2), r"losses must be an array of real numbers; got <U1\."),
    "complex": (lambda: (draw(), ONES * 1j), r"losses must be an array of real numbers; got complex128\."),
    "no draw": (lambda: ("draw", ONES), r"draw must be a Draw; got str\."),
    "arm too large": (
        lambda: (draw(arms=[[0, 1], [3, 5]]), ONES),
        r"draw\.arms must be integers from 0 to 4; got 5 for instance 0\.",
    ),
    "arm negative": (
        lambda: (draw(arms=[[0, -1], [3, 4]]), ONES),
        r"draw\.arms must be integers from 0 to 4; got -1 for instance 2\.",
    ),
    "arm twice": (
        lambda: (draw(arms=[[0, 1], [3, 3]]), ONES),
        r"draw\.arms must be distinct within an instance; got arm 3 twice for instance 0\.",
    ),
    "too few arms": (
        lambda: (draw(arms=[[0], [3]], probability=[[0.4], [0.4]]), [[1.0], [1.0]]),
        r"draw\.arms must have shape \(2, 2\); got \(2, 1\)\.",
    ),
    "instance too large": (
        lambda: (draw(instances=[2, 3]), ONES),
        r"instances must be integers from 0 to 2; got 3\.",
    ),
    "instance twice": (lambda: (draw(instances=[2, 2]), ONES), r"instances must be distinct; got 2 more than once\."),
    "drawn with probability 0": (
        lambda: (draw(probability=[[0.4, 0.4], [0.0, 0.4]]), ONES),
        CHANCE.format(r"draw\.probability", r"0\.0"),
    ),
    "observed with probability 0": (
        lambda: (draw(), ONES, {"probability": spoiled(0.0)}),
        CHANCE.format("probability", r"0\.0"),
    ),
    "probability above 1": (
        lambda: (draw(), ONES, {"probability": spoiled(1.01)}),
        CHANCE.format("probability", r"1\.01"),
    ),
    "probability nan": (lambda: (draw(), ONES, {"probability": spoiled(np.nan)}), CHANCE.format("probability", "nan")),
    "probability of wrong shape": (
        lambda: (draw(), ONES, {"probability": [0.5, 0.5]}),
        r"probability must have shape \(2, 2\); got \(2,\)\.",
    ),
    "extra of another kind": (lambda: (draw(), ONES, {"extra": [1]}), r"extra must be Observations; got list\."),
    "extra loss": (
        lambda: (draw(), ONES, {"extra": Observations([1, 2], [0, 4], [1.0, np.inf])}),
        r"extra\.loss must lie between 0 and 1e\+100; got inf for instance 2, arm 4\.",
    ),
    "extra probability": (
        lambda: (draw(), ONES, {"extra": Observations([2, 2], [3, 4], [1.0, 1.0], [0.5, 0.0])}),
        r"extra\.probability must be above 0 and at most 1; got 0\.0 for instance 2, arm 4\.",
    ),
    "extra arm": (
        lambda: (draw(), ONES, {"extra": Observations([1], [5], [1.0])}),
        r"extra\.arm must be integers from 0 to 4; got 5 for instance 1\.",
    ),
    "extra instance": (
        lambda: (draw(), ONES, {"extra": Observations([3], [0], [1.0])}),
        r"extra\.instance must be integers from 0 to 2; got 3\.",
    ),
    "extra twice": (
        lambda: (draw(), ONES, {"extra": Observations([1, 1], [3, 3], [1.0, 2.0])}),
        r"extra must hold arms that were not drawn, each once; got instance 1, arm 3 again\.",
    ),
    "extra drawn": (
        lambda: (draw(), ONES, {"extra": Observations([0], [4], [1.0], [0.9])}),
        r"extra must hold arms that were not drawn, each once; got instance 0, arm 4 again\.",
    ),
    "extra with a probability outside the draw": (
        lambda: (draw(), ONES, {"extra": Observations([1], [4], [1.0], [0.9])}),
        r"extra\.probability must be NaN \(advisory\) for instances outside the draw; got 0\.9 for instance 1, arm 4\.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", ["hinted", "exp3+"])
def test_a_refused_update_changes_nothing(name, case):
    policy = make_policy(name, num_arms=N, k=K, num_instances=3)
    policy.update(draw(), ONES)
    before = policy.state_dict()
    make, message = REFUSED[case]
    handed, losses, *options = make()
    with pytest.raises(ValueError, match=message):
        policy.update(handed, losses, **(options[0] if options else {}))
    after = policy.state_dict()
    assert all(np.array_equal(before[field], after[field]) for field in before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_policy("hinted", num_arms=0), r"num_arms must be an integer of at least 1; got 0\."),
        (lambda: make_policy("hinted", num_arms=3, k=4), r"k must be an integer from 1 to 3; got 4\."),
        (lambda: make_policy("hinted", num_arms=3, k=0), r"k must be an integer from 1 to 3; got 0\."),
        (lambda: make_policy("hinted", num_arms=3, k=True), r"k must be an integer from 1 to 3; got True\."),
        (lambda: make_policy("hinted", num_arms=2.5), r"num_arms must be an integer of at least 1; got 2\.5\."),
        (
            lambda: make_policy("hinted", num_arms=3, num_instances=0),
            r"num_instances must be an integer of at least 1; got 0\.",
        ),
        (
            lambda: make_policy("epsilon-greedy", num_arms=3, epsilon=1.5),
            r"epsilon must be a number from 0 to 1; got 1\.5\.",
        ),
        (
            lambda: make_policy("exp3-ix", num_arms=3, scale=0.0),
            r"scale must be a number from 1e-300 to 1e\+100; got 0",
        ),
        (
            lambda: make_policy("fixed", num_arms=3, arms=[0, 0]),
            r"arms must be distinct within an instance; got arm 0 twice for instance 0\.",
        ),
        (lambda: make_policy("fixed", num_arms=3, arms=[3]), r"^arms must be integers from 0 to 2; got 3"),
        (
            lambda: make_policy("fixed", num_arms=3, num_instances=2, arms=[[0]]),
            r"arms must have shape \(k,\) or \(2, k\); got \(1, 1\)\.",
        ),
        (lambda: make_policy("fixed", num_arms=3, arms=[0.5]), r"arms must be an array of integers; got float64\."),
        (
            lambda: Draw([0], [[1], [1, 2]], [[1.0]]),
            r"Draw\.arms must be an array of integers; got a ragged sequence\.",
        ),
        (
            lambda: make_policy("cost-aware", num_arms=3, prices=[1.0, 2.0]),
            r"prices must have shape \(3,\) or \(1, 3\); got \(2,\)\.",
        ),
        (
            lambda: make_policy("cost-aware", num_arms=3, prices=[1.0, 2.0, 0.0]),
            r"prices must be finite and above 0; got 0\.0\.",
        ),
        (lambda: Draw([0.5], [[1]], [[1.0]]), r"Draw\.instances must be an array of integers; got float64\."),
        (lambda: Draw([0], [[1]], [["a"]]), r"Draw\.probability must be an array of real numbers; got <U1\."),
        (
            lambda: Observations([0, 1], [1], [1.0]),
            r"Observations must be flat arrays of one length; got shapes instance \(2,\), arm \(1,\)",
        ),
        (lambda: draw().inclusion, r"Draw\.inclusion must come from a policy's own draw; got a draw built by hand"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("instances", [[0, 0], [3], [-1], [[0]], [0.0], ["a"]])
def test_bad_instances_are_refused(instances):
    policy = make_policy("hinted", num_arms=N, num_instances=3)
    for ask in (policy.inclusion, lambda chosen: policy.draw(np.random.default_rng(0), chosen)):
        with pytest.raises(ValueError, match="instances must be"):
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
    with pytest.raises(ValueError, match="read-only"):
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
