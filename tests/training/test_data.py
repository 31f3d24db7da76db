"""Training data: which edges are held out, what the training graph shows of them, and what negatives are."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from banditplex.training.batches import Examples
from banditplex.training.config import Config
from banditplex.training.data import choose_device, divide, divide_given, edges_of, prepare
from tests.nn.test_graph import random_multiplex
from tests.refusals import refuses

HIDE_EDGE, HIDE_PAIR = Visibility(), Visibility("pair")


def data_of(mx, targets=None, **settings):
    targets = np.arange(mx.num_layers) if targets is None else np.array(targets)
    return prepare(mx, targets, Config(**settings).checked())


# Edges, and how they are divided


def test_edges_of_targets_leave_self_loops_out():
    mx = Multiplex.from_edges([0, 1, 1, 2], [1, 1, 2, 3], ["a", "a", "b", "c"], num_nodes=4)
    examples = edges_of(mx, np.array([2, 0]))
    assert examples.instance.tolist() == [0, 1]
    assert examples.pairs.tolist() == [[2, 3], [0, 1]]
    assert mx.edge_index[:, examples.position].T.tolist() == examples.pairs.tolist()


def test_validation_takes_its_share_of_each_target():
    examples = Examples(np.repeat([0, 1], [20, 9]), np.arange(58).reshape(29, 2), np.arange(29))
    train, held_out = divide(examples, 0.1, HIDE_EDGE, np.random.default_rng(0))
    assert np.bincount(held_out.instance, minlength=2).tolist() == [2, 0]
    assert (held_out.position == held_out.pairs[:, 0] // 2).all()
    together = np.concatenate([train.pairs, held_out.pairs])
    assert sorted(together[:, 0].tolist()) == examples.pairs[:, 0].tolist()


def test_the_edges_of_a_pair_are_divided_together():
    rng = np.random.default_rng(0)
    edges = sorted({(i, *sorted(pair)) for i, *pair in rng.integers(0, 9, (120, 3)).tolist() if pair[0] != pair[1]})
    instance, *ends = np.array(edges).T
    examples = Examples(instance, np.stack(ends, 1), np.arange(len(edges)))
    train, held_out = divide(examples, 0.3, HIDE_PAIR, rng)
    kept, aside = ({tuple(pair) for pair in part.pairs.tolist()} for part in (train, held_out))
    assert not kept & aside
    assert len(aside) == int(0.3 * len(kept | aside))
    assert sorted([*train.position.tolist(), *held_out.position.tolist()]) == examples.position.tolist()


def test_no_target_loses_more_than_twice_the_share():
    instance = np.repeat(np.arange(200), 6)
    ends = np.random.default_rng(0).integers(0, 400, (1200, 2))
    examples = Examples(instance, np.stack([ends[:, 0], ends[:, 1] + 400], 1), np.arange(1200))
    train, held_out = divide(examples, 0.1, HIDE_PAIR, np.random.default_rng(1))
    assert np.bincount(train.instance).min() == 5  # 6 - 2 * 0.1 * 6, rounded up
    assert len(held_out.position) > 40


def test_no_target_is_left_without_a_training_edge():
    examples = Examples(np.array([0, 0, 0, 0, 1]), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 3]]), np.arange(5))
    for seed in range(20):
        train, held_out = divide(examples, 0.9, HIDE_PAIR, np.random.default_rng(seed))
        assert set(train.instance.tolist()) == {0, 1}
        assert len(held_out.instance) <= 3


@pytest.mark.parametrize(("size", "kept", "aside"), [(20, 18, 2), (5, 4, 1), (2, 1, 1)])
def test_given_negatives_are_for_training_or_for_validation(size, kept, aside):
    given = {3: np.arange(2 * size).reshape(size, 2)}
    train, validation = divide_given(given, 0.1, np.random.default_rng(0))
    assert (len(train[3]), len(validation[3])) == (kept, aside)
    assert sorted(np.concatenate([train[3], validation[3]]).tolist()) == given[3].tolist()


def test_a_single_negative_is_for_both():
    train, validation = divide_given({0: np.array([[1, 2]])}, 0.1, np.random.default_rng(0))
    assert train[0].tolist() == validation[0].tolist() == [[1, 2]]


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
    assert data.train_graph.num_layers == len(left) == len(data.layer_names) + 1
    pairs = torch.tensor(list(combinations(range(60), 2)))
    for layer, edges in enumerate(left):
        found = data.train_graph.has_edge(pairs, torch.full((len(pairs),), layer))
        assert sorted(map(tuple, pairs[found].tolist())) == [pair for pair in edges if pair[0] != pair[1]]
    assert data.train_graph.out.neighbour.numel() < data.full_graph.out.neighbour.numel()


def test_without_validation_edges_there_is_one_graph():
    data = data_of(random_multiplex(0), validation=0.0)
    assert data.train_mx is data.full_mx
    assert data.train_graph is data.full_graph
    assert (len(data.validation_edges), len(data.validation_negatives)) == (0, 0)


def test_instances_are_numbered_in_the_order_of_the_targets():
    data = data_of(random_multiplex(0), [2, 0])
    assert data.instance_of.tolist() == [1, -1, 0]
    assert set(data.train_edges.pairs[data.train_edges.instance == 0].ravel()) <= set(data.train_mx.edges(2).ravel())


def test_devices_that_are_not_there_are_refused():
    assert choose_device("cpu") == torch.device("cpu")
    with refuses("device", "'abacus'"):
        choose_device("abacus")
