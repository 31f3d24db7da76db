"""Terms and gradients of compiled passes, against the same in plain torch, and a term by hand."""

import gc
import math
import weakref
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from banditplex.backend import Lists, begin_pass, choice, terms
from banditplex.nn import MultiplexModel
from banditplex.nn.pair_features import PairFeatures
from banditplex.pairs.visibility import Visibility

pytestmark = pytest.mark.skipif(not choice.NUMBA, reason="numba is not installed")
NUM_LAYERS = 7


def make_model(*, hidden_units=40, evidence=True, directed=False):
    torch.manual_seed(0)
    model = MultiplexModel(
        num_nodes=9, num_layers=NUM_LAYERS, num_node_features=0, width=0, depth=1, conv="sage",
        visibility=Visibility(evidence=evidence, directed=directed), hidden_units=hidden_units,
    )  # fmt: skip
    for weight in model.parameters():
        weight.data.normal_(0, 0.3)
    for head in (model.own, model.other):
        head.mean.normal_()
        head.scale.uniform_(0.5, 2)
    return model


def describe(model, *, pairs=300, k=2, sort=True):
    """Return random features of pairs, their targets and drawn layers; layers are those of the target, or of a pair."""
    target = torch.randint(NUM_LAYERS, (pairs,))
    layers = torch.randint(NUM_LAYERS, (pairs, k))
    if sort:
        target = target.sort().values
        layers = torch.randint(NUM_LAYERS, (NUM_LAYERS, k))[target]

    def features(head, layer):
        none = torch.zeros(2, len(layer), dtype=torch.int64)
        return PairFeatures.without_lists(torch.randn(len(layer), len(head.mean)), none.T, layer, none)

    lists = None
    if model.listed is not None:
        start = torch.cat([torch.zeros(1, dtype=torch.int64), torch.randint(0, 5, (pairs,)).cumsum(0)])
        lists = Lists(start, torch.randint(len(model.listed.of_layer), (int(start[-1]),)))
    return (features(model.own, target), features(model.other, layers.reshape(-1)), lists), target, layers


def terms_and_gradients(model, described, target, k, given):
    found = model.terms(described, target, k)
    loss = sum((each * weight).sum() for each, weight in zip(found, given, strict=True))
    return found, torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({}, {}),
        ({"hidden_units": 8}, {"k": 1}),  # no second hidden layer
        ({"evidence": False}, {"k": 3, "sort": False}),
        ({"directed": True}, {"pairs": 1}),
        ({}, {"k": 0}),
        ({}, {"pairs": 0}),
    ],
)
def test_terms_and_gradients_are_those_of_torch(monkeypatch, settings, shape, threads):
    monkeypatch.setattr(terms, "FEW", 64)
    monkeypatch.setattr(terms, "MANY", 128)  # gradients are added up from several parts
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    model = make_model(**settings)
    described, target, layers = describe(model, **shape)
    given = torch.randn(len(target)), torch.randn(layers.numel())
    found = terms_and_gradients(model, described, target, layers.shape[1], given)
    with torch.no_grad():
        unkept = model.terms(described, target, layers.shape[1])
    torch.set_num_threads(before)
    monkeypatch.setattr(choice, "NUMBA", False)
    expected = terms_and_gradients(model, described, target, layers.shape[1], given)
    for ours, theirs in zip((*found[0], *found[1]), (*expected[0], *expected[1]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert all(map(torch.equal, unkept, found[0]))


def test_no_bit_depends_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(terms, "FEW", 64)
    monkeypatch.setattr(terms, "MANY", 128)
    model = make_model()
    described, target, layers = describe(model, pairs=1000)
    given = torch.randn(len(target)), torch.randn(layers.numel())
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        scored, gradients = terms_and_gradients(model, described, target, layers.shape[1], given)
        found.append([*scored, *gradients])
    torch.set_num_threads(before)
    for other in found[1:]:
        assert all(map(torch.equal, found[0], other))


def test_memory_is_freed_after_each_step(monkeypatch):
    """Whether the gradient was asked for or not."""
    alive, make = [], terms.Pass.of

    def noted(*arguments, **options):
        found = make(*arguments, **options)
        alive.append(weakref.ref(found.own))
        return found

    monkeypatch.setattr(terms.Pass, "of", noted)
    model = make_model()
    described, target, layers = describe(model)
    terms_and_gradients(model, described, target, layers.shape[1], (torch.ones(300), torch.ones(600)))
    model.terms(described, target, layers.shape[1])
    gc.collect()
    assert [each() for each in alive] == [None, None]


@pytest.mark.parametrize("hidden_units", [8, 40])
def test_a_pair_is_scored_the_same_at_every_place(hidden_units):
    model = make_model(hidden_units=hidden_units)
    (own, other, _), target, _ = describe(model, pairs=200, k=1)
    own.values[:] = own.values[0]
    other.values[:] = other.values[0]
    target.fill_(3)
    own.layer.fill_(3)
    other.layer.fill_(1)
    for size in (1, 3, 63, 200):
        some = [replace(each, values=each.values[:size], layer=each.layer[:size]) for each in (own, other)]
        found = model.terms((*some, None), target[:size], 1)
        for each, first in zip(found, model.terms((own, other, None), target, 1), strict=True):
            assert each.unique().tolist() == [first[0].item()]


@pytest.mark.parametrize("k", [0, 2])
def test_the_gradient_of_the_link_loss_is_that_of_autograd(k):
    model = make_model()
    described, target, layers = describe(model, k=k)
    label, size = (torch.rand(len(target)) < 0.5).float(), 1234
    own, other = model.terms(described, target, k)
    loss = F.binary_cross_entropy_with_logits(own + other.view_as(layers).sum(1), label, reduction="sum") / size
    expected = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
    gradient = make_model()
    for weight in gradient.parameters():
        weight.data.zero_()
    found = begin_pass(model.asked(described, target, k), model.weights())[2]
    found.add_loss_gradient(label, size, gradient.weights())
    for ours, theirs in zip(gradient.parameters(), expected, strict=True):
        torch.testing.assert_close(ours.data, theirs, rtol=1e-4, atol=1e-6)


def test_a_term_by_hand():
    model = make_model(hidden_units=1)
    for weight in model.parameters():
        weight.data.zero_()
    for head in (model.own, model.other):
        head.mean.zero_()
        head.scale.fill_(2)
    model.own.linear.bias.data.fill_(0.5)
    model.own.net.first.bias.data.fill_(3)
    model.own.net.last.weight.data.fill_(2)
    model.own.of_layer.data[4, 0] = 10  # the first input, in layer 4
    model.other.of_layer.data[5, :, -1] = torch.tensor([1.0, 2.0])  # the constant, in layer 5
    model.other.of_target.data[4] = torch.tensor([1.0, 10.0])
    model.listed.of_layer.data[6] = 1
    model.listed.of_target.data[4] = 0.25
    described, target, _ = describe(model, pairs=1, k=1)
    target.fill_(4)
    described[0].values[0, 0], described[0].layer[0], described[1].layer[0] = 6, 4, 5
    lists = Lists(torch.tensor([0, 3]), torch.tensor([6, 6, 0]))
    own, other = model.terms((*described[:2], lists), target, 1)
    listed = 2 * 8 * 0.25 / math.sqrt(4)
    assert own.item() == pytest.approx(0.5 + 2 * 3 / (1 + math.exp(-3)) + 10 * 6 / 2 + listed, rel=1e-6)
    assert other.item() == pytest.approx(1 + 20, rel=1e-6)


def test_what_is_not_finite_is_passed_on():
    model = make_model()
    described, target, _ = describe(model, pairs=5)
    described[0].values[2, 3] = math.nan
    own, other = model.terms(described, target, 2)
    assert own.isnan().tolist() == [False, False, True, False, False]
    assert not other.isnan().any()
