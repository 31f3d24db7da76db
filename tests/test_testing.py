"""The public checks complain of broken policies, layer losses and link scorers, each for its own reason."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import torch

from banditplex.bandits import Draw, Exp3Plus, Policy
from banditplex.bandits.hedge import exponential_weights
from banditplex.bandits.state import Marginals
from banditplex.nn.relevance import RELEVANCES, Relevance, euclidean, predictive
from banditplex.testing import check_policy, check_relevance, check_scorer
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


@pytest.mark.parametrize("arm", ["t", "seen", "k", "S"])
def test_names_in_the_state_are_used_once(arm):
    """`state_dict` would hold one of the two."""

    class Twice(Sound):
        def __init__(self):
            Policy.__init__(self, num_arms=3, k=1, num_instances=1, per_instance={"S": 0.0}, per_arm={arm: 0.0})

    with refuses("per_arm", repr(arm)):
        Twice()


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
        with np.errstate(divide="ignore"):
            late = rng.exponential(size=p.shape) / p  # the order of the least is that of choices one by one
        arms = np.argsort(late, 1)[:, : self.k]
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
    Forgets: ["one by one"],
    ChangesBeforeItRefuses: ["losses of the wrong shape", "changed state"],
    TakesAnyLoss: ["loss of nan", "no error"],
    PrefersSmallNumbers: ["renumber"],
    LearnsFromNeighbours: ["one by one"],
    TouchesOthers: ["one by one"],
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


# Layer losses


@pytest.mark.parametrize("name", RELEVANCES)
def test_named_layer_losses_pass(name):
    check_relevance(name)


def manhattan(batch):
    distance = (batch.target_embedding - batch.layer_embedding).abs().sum(1)
    return batch.mean(distance, batch.node_group)


def both_kinds(batch):
    return manhattan(batch) + batch.mean(torch.sigmoid(batch.own), batch.pair_group)


@pytest.mark.parametrize(
    "relevance",
    [
        manhattan,
        both_kinds,
        Relevance(manhattan, needs={"embeddings"}, symmetric=True),
        Relevance(both_kinds, symmetric=True),
        replace(euclidean, function=lambda batch: euclidean(batch).square()),
        lambda batch: torch.zeros(batch.num_groups, dtype=torch.int64),
    ],
    ids=["function", "both", "free", "symmetric", "wrapped", "integers"],
)
def test_sound_layer_losses_pass(relevance):
    check_relevance(relevance)


def one_number(batch):
    return batch.own.square().mean()


def a_list(batch):
    return [0.0] * batch.num_groups


def negative(batch):
    return manhattan(batch) - 5


def divides_by_the_negatives(batch):
    negatives = batch.mean(1 - batch.label, batch.pair_group)
    return batch.mean(torch.sigmoid(batch.own), batch.pair_group) / negatives


def not_clamped(batch):
    a, b = batch.target_embedding, batch.layer_embedding
    return batch.mean(1 - (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1)), batch.node_group).clamp(min=0)


def overflows(batch):
    return batch.mean(torch.exp(batch.own - 2 * batch.other).square(), batch.pair_group)


def changes_its_input(batch):
    batch.own.sigmoid_()
    return batch.mean(batch.own, batch.pair_group)


def looks_at_the_first_node(batch):
    first = [torch.nonzero(batch.node_group == group)[0, 0] for group in range(batch.num_groups)]
    return (batch.target_embedding - batch.layer_embedding)[torch.stack(first)].norm(dim=1)


def compares_comparisons(batch):
    losses = manhattan(batch)
    return losses / losses.mean().clamp(min=1)


def reads_logits_too(batch):
    return manhattan(batch) + batch.own.square().sum()


def reads_embeddings_if_there_are_any(batch):
    extra = manhattan(batch).nan_to_num(7) if len(batch.node_group) else 0
    return batch.mean(torch.sigmoid(batch.own), batch.pair_group) + extra


def one_way(batch):
    return batch.mean((batch.target_embedding - batch.layer_embedding).relu().sum(1), batch.node_group)


def raises(batch):
    return batch.logits


WRONG = {
    one_number: ["(4,)", "()", "a random batch"],
    a_list: ["(4,)", "list"],
    negative: [">= 0", "a random batch"],
    divides_by_the_negatives: ["finite", "inf"],
    not_clamped: ["finite", "all 0", "nan"],
    overflows: ["finite", "100", "inf"],
    changes_its_input: ["batch stays", "own"],
    looks_at_the_first_node: ["order"],
    compares_comparisons: ["other comparisons"],
    Relevance(reads_logits_too, needs={"embeddings"}): ["needs (embeddings)", "NaN"],
    Relevance(reads_embeddings_if_there_are_any, needs={"logits"}): ["needs (logits)"],
    Relevance(one_way, needs={"embeddings"}, symmetric=True): ["swapped", "symmetric"],
    raises: ["no error", "AttributeError", "logits"],
}


@pytest.mark.parametrize("relevance", WRONG, ids=lambda each: getattr(each, "name", None) or each.__name__)
def test_a_wrong_layer_loss_is_found_out(relevance):
    name = relevance.name if isinstance(relevance, Relevance) else relevance.__name__
    with refuses(repr(name), *WRONG[relevance], error=AssertionError):
        check_relevance(relevance)


def test_what_is_no_relevance_is_refused():
    with refuses("'nearness'", *RELEVANCES):
        check_relevance("nearness")


def test_what_is_only_wrong_about_the_claim_passes_without_it():
    check_relevance(Relevance(one_way, needs={"embeddings"}))
    check_relevance(replace(predictive, function=lambda batch: batch.mean(batch.label, batch.pair_group)))


class Degrees:
    """A sound scorer of a user's own: the product of the degrees in the layer, without the pair's own edge."""

    sees_own_edge = False

    def fit(self, mx, targets=None, on_epoch=None):
        self.mx = mx
        return self

    def score_pairs(self, pairs, layer):
        edges = self.mx.edges(layer)
        degree = np.bincount(edges.ravel(), minlength=self.mx.num_nodes)[pairs]
        own = self.mx.has_edges(pairs, layer) | (self.mx.directed & self.mx.has_edges(pairs[:, ::-1], layer))
        return (degree - own[:, None]).prod(1).astype(float)


class AveragesOverTheBatch(Degrees):
    """The mistake of a published method: positives and negatives that are scored apart are told apart."""

    def score_pairs(self, pairs, layer):
        scores = super().score_pairs(pairs, layer)
        return scores - scores.mean() if len(scores) else scores


class CountsPairs(Degrees):
    def score_pairs(self, pairs, layer):
        return super().score_pairs(pairs, layer) + np.arange(len(pairs))


class HasDirections(Degrees):
    def score_pairs(self, pairs, layer):
        return super().score_pairs(pairs, layer) + (pairs[:, 0] < pairs[:, 1])


class IsRandom(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        self.noise = np.random.default_rng().random((mx.num_nodes, mx.num_nodes))
        self.noise += self.noise.T
        return super().fit(mx)

    def score_pairs(self, pairs, layer):
        return self.noise[pairs[:, 0], pairs[:, 1]]


class SeesItsEdge(Degrees):
    def score_pairs(self, pairs, layer):
        return super().score_pairs(pairs, layer) + 100 * self.mx.has_edges(np.sort(pairs, 1), layer)


class SaysSo(SeesItsEdge):
    sees_own_edge = True


class KnowsTheAnswer(Degrees):
    """Scores held-out edges of the check's own graphs."""

    def score_pairs(self, pairs, layer):
        from banditplex.testing import _independent_edges

        if self.mx.num_nodes < 60:
            return super().score_pairs(pairs, layer)
        return np.mean([_independent_edges(60, trial).has_edges(pairs, layer) for trial in range(2)], 0)


class ReturnsColumns(Degrees):
    def score_pairs(self, pairs, layer):
        return super().score_pairs(pairs, layer)[:, None]


class ReturnsNothing(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        super().fit(mx)


class FailsToFit(Degrees):
    def fit(self, mx, targets=None, on_epoch=None):
        raise ZeroDivisionError


def test_sound_scorers_pass():
    check_scorer(Degrees)
    check_scorer(Degrees, hide="pair")
    check_scorer(SaysSo)


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        (AveragesOverTheBatch, "same alone"),
        (CountsPairs, "another order"),
        (HasDirections, "score alike"),
        (IsRandom, "equal seeds"),
        (SeesItsEdge, "training edges"),
        (KnowsTheAnswer, "without signal"),
        (ReturnsColumns, "shape"),
        (ReturnsNothing, "fit returns"),
        (FailsToFit, "ZeroDivisionError"),
    ],
)
def test_broken_scorers_do_not(scorer, words):
    with pytest.raises(AssertionError, match=words):
        check_scorer(scorer)
