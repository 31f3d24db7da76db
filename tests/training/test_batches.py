"""Epochs: every edge once, no target twice in a step; and the pairs of a step as one flat list."""

import itertools

import numpy as np
import pytest
import torch

from banditplex.nn.relevance import Relevance, euclidean, predictive
from banditplex.pairs.visibility import Visibility
from banditplex.training.batches import Batch, StepSize, plan_epoch

CPU = torch.device("cpu")


@pytest.mark.parametrize("targets_per_step", [1, 2, 8])
def test_an_epoch_has_every_edge_once_and_a_target_at_most_once_per_step(targets_per_step):
    size = np.array([100, 7, 1, 0, 64])
    instance = np.repeat(np.arange(5), size)
    plan = plan_epoch(size, batch_edges=16, targets_per_step=targets_per_step, rng=np.random.default_rng(0))
    order, row = (each.numpy() for each in plan.edges(CPU))
    assert sorted(order.tolist()) == list(range(len(instance)))
    assert [(edges.start, edges.stop) for edges, _ in plan.steps()] == list(itertools.pairwise(plan.start.tolist()))
    rounds = np.zeros(5, int)
    for edges, targets in plan.steps():
        of_edge = instance[order[edges]]
        assert targets[row[edges]].tolist() == of_edge.tolist() == sorted(of_edge)
        found, count = np.unique(of_edge, return_counts=True)
        assert found.tolist() == targets.tolist()
        assert 0 < len(targets) <= targets_per_step
        assert count.max() <= 16
        rounds[targets] += 1
    assert rounds.tolist() == [7, 4, 1, 0, 4]  # ceil(100 / 16); at least four where there are edges; ...


def test_a_limit_of_rounds_makes_batches_of_large_targets_grow():
    size = np.array([100, 40, 3])
    plan = plan_epoch(size, batch_edges=10, max_rounds=5, targets_per_step=8, rng=np.random.default_rng(0))
    order, instance = plan.edges(CPU)[0], np.repeat(np.arange(3), size)
    sizes = [np.bincount(instance[order[edges]], minlength=3) for edges, _ in plan.steps()]
    assert np.transpose(sizes).tolist() == [[20] * 5, [10] * 4 + [0], [1] * 3 + [0] * 2]


def test_every_edge_is_as_likely_in_every_batch():
    """40 edges in 4 batches, 600 times: each is in the first batch 150 times on average."""
    rng, count = np.random.default_rng(0), np.zeros(40)
    for _ in range(600):
        plan = plan_epoch(np.array([40]), batch_edges=10, targets_per_step=1, rng=rng)
        count[plan.edges(CPU)[0][:10]] += 1
    assert ((count - 150) ** 2).sum() / (600 * 0.25 * 0.75) * 39 / 40 < 72  # chi-square, 39 degrees of freedom: .1 %


@pytest.fixture
def batch():
    """Two edges of target 5 (layer 7, which drew layer 0) and one of target 9 (layer 2, which drew layer 7)."""
    pairs = torch.tensor([[[0, 1], [2, 3], [0, 4]], [[5, 6], [5, 1], [2, 6]]])  # edges, negatives
    return Batch.of(torch.tensor([0, 0, 1]), pairs, np.array([5, 9]), np.array([[7, 0], [2, 7]]))


def test_a_batch_is_a_flat_list_of_edges_and_then_negatives(batch):
    assert batch.pairs.tolist() == [[0, 1], [2, 3], [0, 4], [5, 6], [5, 1], [2, 6]]
    assert batch.label.tolist() == [1, 1, 1, 0, 0, 0]
    assert batch.row.tolist() == [0, 0, 1, 0, 0, 1]
    assert batch.layers.tolist() == [[7, 0], [7, 0], [2, 7], [7, 0], [7, 0], [2, 7]]
    assert (batch.target.tolist(), batch.drawn.tolist()) == ([7, 2], [[0], [7]])
    assert batch.encoded.tolist() == [0, 2, 7]


@pytest.mark.parametrize(
    ("hide", "relevance", "where"),
    [
        ("edge", predictive, lambda table: table[:1]),
        ("pair", predictive, lambda table: table),
        ("edge", Relevance(lambda batch: batch.label), lambda table: table),  # compares embeddings of both layers
        ("edge", euclidean, lambda table: [0, 2, 7]),  # compares those of all encoded layers
    ],
)
def test_a_pair_of_the_step_is_hidden_where_it_must_not_be_seen(hide, relevance, where, batch):
    pairs, layer = batch.hidden_edges(Visibility(hide), relevance)
    found = sorted((at, *pair) for pair, at in zip(pairs.tolist(), layer.tolist(), strict=True))
    table = batch.layers.tolist()
    assert found == sorted(
        (at, *pair) for pair, row in zip(batch.pairs.tolist(), table, strict=True) for at in where(row)
    )


def test_every_node_of_the_step_is_wanted_in_every_encoded_layer(batch):
    layer, node = batch.every_embedding()
    found = list(zip(layer.tolist(), node.tolist(), strict=True))
    assert found == [(where, node) for where in (0, 2, 7) for node in range(7)]


def test_steps_fill_a_device_but_an_epoch_keeps_its_least_number_of_steps():
    """1,000 targets of 640 edges in 10 batches each: 10,000 batches of 128 pairs."""
    size = np.full(1000, 640)

    def steps(**options):
        plan = plan_epoch(size, batch_edges=64, targets_per_step="auto", rng=np.random.default_rng(0), **options)
        return len(plan.first) - 1

    assert steps() == 320  # 32 targets each: 32 steps, the last of which is shorter, for each of the 10 batches
    assert steps(step_size=StepSize(64_000, 1)) == 20  # 500 targets each
    assert steps(step_size=StepSize(64_000, 40)) == 40  # 250 targets each
