"""The public checks complain of broken policies, each for its own reason."""

from types import MappingProxyType

import numpy as np
import pytest

from banditplex.bandits import Draw, Exp3Plus, Policy
from banditplex.bandits.hedge import exponential_weights
from banditplex.bandits.marginals import Marginals
from banditplex.testing import check_policy
from tests.refusals import refuses


class Sound(Policy):
    """A policy of a user's own: exponential weights on mean losses."""

    def __init__(self, *, num_arms, k=1, num_instances=1):
        super().__init__(num_arms=num_arms, k=k, num_instances=num_instances, per_arm={"L": 0.0})

    def _marginals(self, rows):
        L = np.minimum(self._state.read("L", rows), 5.0)
        return self._state.marginals(rows, exponential_weights(L, np.ones(len(L)), self.k, self._state.size(rows)))

    def _learn(self, rows, seen):
        self._state.add("L", self._instances(rows)[seen.row], seen.arm, np.minimum(seen.loss, 1.0))


def test_a_sound_policy_passes():
    check_policy(Sound)


class SumsToLess(Sound):
    def _marginals(self, rows):
        m = super()._marginals(rows)
        return Marginals(m.num_arms, m.p * (1 - 1e-9), m.arms, m.seen)


class DrawsByChoice(Sound):
    """Draws k arms one after the other, without replacement."""

    def draw(self, rng, instances=None):
        draw = super().draw(rng, instances)
        p = self.inclusion(draw.instances)
        arms = np.array([rng.choice(self.num_arms, self.k, replace=False, p=row / row.sum()) for row in p])
        arms = arms.reshape(draw.arms.shape)
        return Draw(draw.instances, arms, np.take_along_axis(p, arms, 1), draw.marginals)


class StatesOtherProbabilities(Sound):
    def draw(self, rng, instances=None):
        draw = super().draw(rng, instances)
        return Draw(draw.instances, draw.arms, draw.probability * 0.99, draw.marginals)


class UsesTheGlobalGenerator(Sound):
    def draw(self, rng, instances=None):
        np.random.random()  # noqa: NPY002
        return super().draw(rng, instances)


class IgnoresTheGenerator(Sound):
    def draw(self, rng, instances=None):
        return super().draw(np.random.default_rng(), instances)


class Forgets(Sound):
    """Keeps something outside its state."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.bonus = 0.0

    def _marginals(self, rows):
        L = self._state.read("L", rows) + 0.0
        L[:, 0] += np.minimum(self.bonus, 1.0)
        return self._state.marginals(rows, exponential_weights(L, np.ones(len(L)), self.k, self._state.size(rows)))

    def _learn(self, rows, seen):
        super()._learn(rows, seen)
        self.bonus += 0.01 * len(seen.row) / len(np.unique(seen.row)) / self.num_instances


class ChangesBeforeItRefuses(Sound):
    def update(self, draw, losses, *, probability=None, extra=None):
        self._state.instance["t"] += 1
        super().update(draw, losses, probability=probability, extra=extra)
        self._state.instance["t"] -= 1


class TakesAnyLoss(Sound):
    def update(self, draw, losses, *, probability=None, extra=None):
        super().update(draw, np.nan_to_num(losses, posinf=1.0), probability=probability, extra=extra)


class PrefersSmallNumbers(Sound):
    def _marginals(self, rows):
        m = super()._marginals(rows)
        p = m.dense() * 0.9
        p[:, : self.k] += 0.1
        return Marginals(self.num_arms, p)


class LearnsFromNeighbours(Sound):
    """Instances share the mean of what was observed."""

    def _learn(self, rows, seen):
        loss = np.full_like(seen.loss, np.minimum(seen.loss, 1.0).mean())
        self._state.add("L", self._instances(rows)[seen.row], seen.arm, loss)


class TouchesOthers(Sound):
    def _learn(self, rows, seen):
        super()._learn(rows, seen)
        everyone = np.arange(self.num_instances)
        self._state.add("L", everyone, np.zeros(self.num_instances, dtype=np.int64), np.full(len(everyone), 0.1))


class Overflows(Sound):
    """Raw weights, multiplied up."""

    def _marginals(self, rows):
        w = np.exp(self._state.read("L", rows) * 1e3)
        size = self._state.size(rows)
        total = (w if size is None else w * size).sum(axis=1, keepdims=True)
        return self._state.marginals(rows, np.minimum(self.k * w / total, 1.0))


class TakesTooMany(Sound):
    def __init__(self, *, num_arms, k=1, num_instances=1):
        super().__init__(num_arms=max(num_arms, k), k=k, num_instances=num_instances)


class LearnsThoughItSaysNo(Sound):
    learns = False


class HasItsOwnK(Sound):
    """Draws one arm, whatever k was passed, and does not say so in `takes_k`."""

    def __init__(self, *, num_arms, k=1, num_instances=1):
        super().__init__(num_arms=num_arms, num_instances=num_instances)


class DeclaresAnOptionThatItLacks(Sound):
    arm_options = MappingProxyType({"prices": "values"})


class HasNoPlainState(Sound):
    def state_dict(self):
        return super().state_dict() | {"names": ["a", "b"]}

    def load_state_dict(self, state):
        super().load_state_dict({name: value for name, value in state.items() if name != "names"})


BROKEN = {
    SumsToLess: ["SumsToLess(num_arms=5, k=1, num_instances=4)", "inclusion", "k = 1"],
    DrawsByChoice: ["probability", "of 20000 draws"],
    StatesOtherProbabilities: ["draw.probability", 0.99],
    UsesTheGlobalGenerator: ["global generator"],
    IgnoresTheGenerator: ["equal generators"],
    Forgets: ["instances outside the draw"],
    ChangesBeforeItRefuses: ["losses of the wrong shape", "changed state"],
    TakesAnyLoss: ["loss of nan", "no error"],
    PrefersSmallNumbers: ["renumber"],
    LearnsFromNeighbours: ["one by one"],
    TouchesOthers: ["instances outside the draw"],
    Overflows: ["inclusion", "[0, 1]"],
    TakesTooMany: ["k = 4", "3 arms"],
    LearnsThoughItSaysNo: ["inclusion", "learns", False],
    HasItsOwnK: ["k = 2", "takes_k", "k = 1"],
    DeclaresAnOptionThatItLacks: ["arm_options", "num_arms", "prices"],
    HasNoPlainState: ["state_dict()['names']", "list"],
}


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("policy", BROKEN, ids=lambda policy: policy.__name__)
def test_a_broken_policy_is_found_out(policy):
    with refuses(*BROKEN[policy], error=AssertionError):
        check_policy(policy)


def test_arms_that_differ_by_design_may_be_excepted():
    check_policy(PrefersSmallNumbers, equivariant=False)


def test_options_reach_the_policy():
    check_policy(Exp3Plus, raw_range=True)
    with refuses("'uniform'", "'raw_range'"):
        check_policy("uniform", raw_range=True)
