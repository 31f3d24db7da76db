"""Epochs: every edge once, no target twice in a step; and the pairs of a step as one flat list."""

import itertools

import numpy as np
import pytest
import torch

from banditplex.nn.relevance import Relevance, euclidean, predictive
from banditplex.pairs.visibility import Visibility
from banditplex.training.batches import Batch, plan_epoch


@pytest.mark.parametrize("targets_per_step", [1, 2, 8])
def test_an_epoch_has_every_edge_once_and_a_target_at_most_once_per_step(targets_per_step):
    instance = np.repeat(np.arange(4), [100, 7, 1, 64])
    plan = plan_epoch(instance, batch_edges=16, targets_per_step=targets_per_step, rng=np.random.default_rng(0))
    assert sorted(plan.order.tolist()) == list(range(len(instance)))
    batches = np.zeros(4, int)
    for low, high in zip(plan.start[:-1], plan.start[1:], strict=True):
        targets, count = np.unique(instance[plan.order[low:high]], return_counts=True)
        assert 0 < len(targets) <= targets_per_step
        assert count.max() <= 16
        batches[targets] += 1
    assert batches.tolist() == [7, 4, 1, 4]  # ceil(100 / 16); at least four where there are edges; ...


def test_a_limit_of_rounds_makes_batches_of_large_targets_grow():
    instance = np.repeat(np.arange(3), [100, 40, 3])
    plan = plan_epoch(instance, batch_edges=10, targets_per_step=8, max_rounds=5, rng=np.random.default_rng(0))
    sizes = [np.bincount(instance[plan.order[a:b]], minlength=3) for a, b in itertools.pairwise(plan.start)]
    assert np.transpose(sizes).tolist() == [[20] * 5, [10] * 4 + [0], [1] * 3 + [0] * 2]


@pytest.fixture
def batch():
    """Two edges of target 5 (layer 7, which drew layer 0) and one of target 9 (layer 2, which drew layer 7)."""
    pairs = torch.tensor([[[0, 1], [2, 3], [0, 4]], [[5, 6], [5, 1], [2, 6]]])  # edges, negatives
    return Batch.of(np.array([5, 5, 9]), pairs, np.array([5, 9]), np.array([[7, 0], [2, 7]]))


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
