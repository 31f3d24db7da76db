"""Training data: which edges are held out, what the training graph shows of them, and what negatives are."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from banditplex.backend.packing import EdgeTensors
from banditplex.backend.random_numbers import BITS
from banditplex.multiplex import Multiplex
from banditplex.nn.panels import Panels
from banditplex.pairs.visibility import Visibility
from banditplex.training.batches import TargetEdges
from banditplex.training.config import Config
from banditplex.training.data import choose_device, divide, edges_of, least, others, prepare
from tests.nn.test_graph import random_multiplex
from tests.refusals import refuses

HIDE_EDGE, HIDE_PAIR = Visibility(), Visibility("pair")


def data_of(mx, targets=None, **settings):
    targets = np.arange(mx.num_layers) if targets is None else np.array(targets)
    return prepare(mx, targets, Config(**settings).checked())


def test_panels_that_are_given_are_those_of_the_data():
    mx, targets = random_multiplex(0, num_nodes=14, num_edges=100), np.array([0, 2])
    panels = Panels({0: (0, 1), 2: (2,)})
    assert prepare(mx, targets, Config().checked(), panels=panels).panels is panels
    assert prepare(mx, targets, Config().checked()).panels.layers == {0: (), 2: ()}


# Edges, and how they are divided


def target_edges(instance, pairs):
    """Edges of targets, sorted by target."""
    return TargetEdges(np.bincount(instance), torch.as_tensor(instance), torch.as_tensor(pairs))


def divided(examples, share, visibility, rng):
    """Return training and validation edges as arrays, with their places."""
    at = divide(examples, share, visibility, int(examples.pairs.max()) + 1, rng)
    rest = others(at, len(examples))
    assert at.tolist() == sorted(at.tolist())
    assert sorted(at.tolist() + rest.tolist()) == list(range(len(examples)))
    return examples.take(rest).to_host(), examples.take(at).to_host()


def test_edges_of_targets_leave_self_loops_out():
    mx = Multiplex.from_edges([0, 1, 1, 2], [1, 1, 2, 3], ["a", "a", "b", "c"], num_nodes=4)
    examples, position = edges_of(EdgeTensors.of(mx, "cpu"), np.array([2, 0]))
    assert examples.instance.tolist() == [0, 1]
    assert examples.size.tolist() == [1, 1]
    assert examples.pairs.tolist() == [[2, 3], [0, 1]]
    assert mx.edge_index[:, position].T.tolist() == examples.pairs.tolist()
    assert [examples.of(target).tolist() for target in range(2)] == [[[2, 3]], [[0, 1]]]


def test_validation_takes_its_share_of_each_target():
    examples = target_edges(np.repeat([0, 1], [20, 9]), np.arange(58).reshape(29, 2))
    _, held_out = divided(examples, 0.1, HIDE_EDGE, np.random.default_rng(0))
    assert np.bincount(held_out.instance, minlength=2).tolist() == [2, 0]


@pytest.mark.parametrize("enough", [True, False])
def test_the_least_numbers_of_each_group_are_found(enough, monkeypatch):
    monkeypatch.setattr("banditplex.training.data.SPREAD", 6 if enough else -1)  # too few candidates at first
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(0, 7, 5000))
    number = rng.integers(0, 400, 5000) * (2**BITS // 400)  # many come several times
    distinct = [sorted(set(number[group == g].tolist())) for g in range(7)]
    count = np.array([0, 1, 5, 40, 200, 390, 2])
    count = np.minimum(count, [len(each) for each in distinct])
    size = np.array([len(each) for each in distinct])
    found = least(torch.from_numpy(number), torch.from_numpy(group), size, count)
    chosen = [set(each[:n]) for each, n in zip(distinct, count.tolist(), strict=True)]
    assert found.tolist() == [i for i in range(5000) if int(number[i]) in chosen[group[i]]]


def test_every_edge_is_as_likely_to_be_held_out():
    """2 of 20 edges, 1,000 times: each is held out 100 times on average."""
    examples, rng = target_edges(np.zeros(20, int), np.arange(40).reshape(20, 2)), np.random.default_rng(0)
    count = np.zeros(20)
    for _ in range(1000):
        count[divide(examples, 0.1, HIDE_EDGE, 40, rng)] += 1
    assert count.sum() == 2000
    assert ((count - 100) ** 2).sum() / (1000 * 0.1 * 0.9) * 19 / 20 < 43.8  # chi-square, 19 degrees of freedom: .1 %


def test_the_edges_of_a_pair_are_divided_together():
    rng = np.random.default_rng(0)
    edges = sorted({(i, *sorted(pair)) for i, *pair in rng.integers(0, 9, (120, 3)).tolist() if pair[0] != pair[1]})
    instance, *ends = np.array(edges).T
    train, held_out = divided(target_edges(instance, np.stack(ends, 1)), 0.3, HIDE_PAIR, rng)
    kept, aside = ({tuple(pair) for pair in part.pairs.tolist()} for part in (train, held_out))
    assert not kept & aside
    assert len(aside) == int(0.3 * len(kept | aside))


def test_no_target_loses_more_than_twice_the_share():
    instance = np.repeat(np.arange(200), 6)
    ends = np.random.default_rng(0).integers(0, 400, (1200, 2))
    examples = target_edges(instance, np.stack([ends[:, 0], ends[:, 1] + 400], 1))
    train, held_out = divided(examples, 0.1, HIDE_PAIR, np.random.default_rng(1))
    assert np.bincount(train.instance).min() == 5  # 6 - 2 * 0.1 * 6, rounded up
    assert len(held_out) > 40


def test_no_target_is_left_without_a_training_edge():
    examples = target_edges(np.array([0, 0, 0, 0, 1]), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 3]]))
    for seed in range(20):
        train, held_out = divided(examples, 0.9, HIDE_PAIR, np.random.default_rng(seed))
        assert set(train.instance.tolist()) == {0, 1}
        assert len(held_out) <= 3


# What the training graph and the negatives show


def dense_layer(seed):
    """One random layer of 24 nodes in which four pairs in five are edges."""
    upper = np.array(np.triu_indices(24, 1))
    return Multiplex.from_edges(*upper[:, np.random.default_rng(seed).random(276) < 0.8], "a", num_nodes=24)


def test_training_negatives_are_drawn_from_all_but_the_training_edges():
    mx = dense_layer(0)
    data = data_of(mx, validation=0.5)
    seen = set(map(tuple, data.train_edges.pairs.tolist()))
    expected = {pair for pair in combinations(range(24), 2) if pair not in seen}
    assert set(map(tuple, data.validation_edges.pairs.tolist())) < expected
    assert not mx.has_edges(data.validation_negatives, "a").any()
    drawn = data.negatives.draw(np.zeros(10_000, int), np.random.default_rng(0))
    assert set(map(tuple, drawn.tolist())) == expected  # about 160 pairs, each expected some 60 times


@pytest.mark.parametrize("directed", [False, True])
def test_validation_pairs_are_linked_in_no_layer_that_is_seen(directed):
    mx = random_multiplex(5, num_edges=90, directed=directed)
    data = data_of(mx, [0, 1], hide="pair", validation=0.3)
    held_out = {frozenset(pair) for pair in data.validation_edges.pairs.tolist()}
    expected = [set(ends) not in held_out for ends in mx.edge_index.T.tolist()]
    assert data.train_mx == mx.keep_edges(expected)
    assert not held_out & {frozenset(pair) for pair in data.train_edges.pairs.tolist()}
    linked = {frozenset(pair) for pair in data.train_mx.edge_index.T.tolist()}
    drawn = data.negatives.draw(np.zeros(4000, int), np.random.default_rng(0))
    free = {pair for pair in map(frozenset, combinations(range(12), 2)) if pair not in linked}
    assert {frozenset(pair) for pair in drawn.tolist()} == free
    every = {frozenset(pair) for pair in mx.edge_index.T.tolist()}
    assert not every & {frozenset(pair) for pair in data.validation_negatives.tolist()}


def test_of_a_directed_layer_both_arcs_are_divided_together_and_hidden():
    mx = random_multiplex(5, num_edges=120, directed=True)
    data = data_of(mx, hide="layer", validation=0.3)
    validation = data.validation_edges
    held_out = set(zip(validation.instance.tolist(), map(frozenset, validation.pairs.tolist()), strict=True))
    edges = zip(mx.edge_layer.tolist(), map(frozenset, mx.edge_index.T.tolist()), strict=True)
    assert data.train_mx == mx.keep_edges([edge not in held_out for edge in edges])
    for layer in range(3):
        pairs = {frozenset(ends) for ends in mx.edges(layer).T.tolist() if ends[0] != ends[1]}
        assert sum(target == layer for target, _ in held_out) == int(0.3 * len(pairs))
        drawn = data.negatives.draw(np.full(2000, layer), np.random.default_rng(0)).tolist()
        seen = {pair for pair in pairs if (layer, pair) not in held_out}
        free = {arc for arc in permutations(range(12), 2) if frozenset(arc) not in seen}
        assert set(map(tuple, drawn)) == free


def test_validation_edges_are_neither_in_their_layer_nor_alone_in_the_union():
    mx = random_multiplex(5, num_nodes=60, num_edges=500)
    data = data_of(mx, validation=0.4)
    validation = data.validation_edges
    held_out = {(target, *pair) for target, pair in zip(validation.instance, validation.pairs.tolist(), strict=True)}
    left = [
        [pair for pair in map(tuple, mx.edges(name).T.tolist()) if (target, *pair) not in held_out]
        for target, name in enumerate(mx.layer_names)
    ]
    for name, edges in zip(mx.layer_names, left, strict=True):
        assert sorted(map(tuple, data.train_mx.edges(name).T.tolist())) == edges
    left.append(sorted(set().union(*left)))
    assert data.train_view.graph.num_layers == len(left) == len(data.layer_names) + 1
    pairs = torch.tensor(list(combinations(range(60), 2)))
    for layer, edges in enumerate(left):
        found = data.train_view.graph.has_edge(pairs, torch.full((len(pairs),), layer))
        assert sorted(map(tuple, pairs[found].tolist())) == [pair for pair in edges if pair[0] != pair[1]]
    assert data.train_view.graph.out.neighbour.numel() < data.full_view.graph.out.neighbour.numel()


def test_without_validation_edges_there_is_one_graph():
    data = data_of(random_multiplex(0), validation=0.0)
    assert data.train_mx is data.full_mx
    assert data.train_view is data.full_view
    assert (len(data.validation_edges), len(data.validation_negatives)) == (0, 0)


def test_instances_are_numbered_in_the_order_of_the_targets():
    data = data_of(random_multiplex(0), [2, 0])
    assert data.instance_of.tolist() == [1, -1, 0]
    assert set(data.train_edges.of(0).ravel()) <= set(data.train_mx.edges(2).ravel())


@pytest.mark.parametrize("name", ["abacus", "meta", "cuda:99", "cpu:x", ""])
def test_devices_that_are_not_there_or_hold_no_numbers_are_refused(name):
    assert choose_device("cpu") == torch.device("cpu")
    with refuses("device", f"{name!r}"):
        choose_device(name)
