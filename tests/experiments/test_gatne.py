"""GATNE-T: its formulas by plain loops, and a planted set."""

import numpy as np
import pytest
import torch

from banditplex.baselines.skipgram import WalkGraph
from banditplex.multiplex import Multiplex
from experiments.gatne import GATNE, _Neighbours, edge_part
from tests.baselines.test_node_vectors import SMALL_GRAPH, twin_auc, twins  # noqa: F401


def test_gatne_by_a_plain_loop():
    """M^T U a with a = softmax(w . tanh(W u_p)), for one node with three layers."""
    rng = np.random.default_rng(0)
    near, hidden, query, transform = (rng.normal(size=size) for size in ((3, 2), (2, 4), 4, (2, 5)))
    energy = np.array([query @ np.tanh([near[p] @ hidden[:, k] for k in range(4)]) for p in range(3)])
    weight = np.exp(energy) / np.exp(energy).sum()
    mixed = sum(weight[p] * near[p] for p in range(3))
    others = rng.normal(size=near.shape)  # another node of the same group
    fast = edge_part(*(torch.from_numpy(each)[None] for each in (np.stack([others, near]), hidden, query, transform)))
    np.testing.assert_allclose(fast[0, 1], [mixed @ transform[:, i] for i in range(5)])


def test_gatne_aggregates_neighbours_in_every_layer():
    """The mean over the neighbours in each layer; a node without any is its own neighbour."""
    lists = _Neighbours(WalkGraph.of(SMALL_GRAPH), 2, torch.device("cpu"), np.random.default_rng(0))
    values = np.arange(12.0)[:, None]  # row node * 2 + layer
    found = lists.mean(values)[:, 0].reshape(6, 2)
    expected = {
        (0, 0): [2], (1, 0): [0, 4], (2, 0): [2, 6], (3, 0): [4], (4, 0): [8], (5, 0): [10],
        (0, 1): [3], (1, 1): [1], (2, 1): [5], (3, 1): [9], (4, 1): [7], (5, 1): [11],
    }  # fmt: skip
    for (node, layer), near in expected.items():
        assert found[node, layer] == np.mean(near)
    sampled = lists.sample(torch.tensor([1, 5]), 200)
    assert sampled.shape == (2, 2, 200)
    assert set(sampled[0, 0].tolist()) == {0, 4}
    assert set(sampled[0, 1].tolist()) == {1}
    assert set(sampled[1, 0].tolist()) == {10}


@pytest.mark.parametrize("normalise", [True, False])
def test_gatne_does_not_learn_lengths_that_its_cosine_ignores(normalise):
    """What a loss of v / |v| teaches is orthogonal to v. Every node has one neighbour: all its samples are the same."""
    mx = Multiplex.from_edges([0, 2], [1, 3], ["a", "a"])
    options = {"dimension": 6, "num_walks": 1, "normalise": normalise}
    before, after, later = (GATNE(epochs=epochs, **options).fit(mx) for epochs in (0, 1, 2))
    assert not (after.base_ - before.base_).any()  # contexts start at 0: the first step moves them alone
    along = ((later.base_ - after.base_) * after._vectors(np.arange(4), 0)).sum(1)
    size = np.linalg.norm(later.base_ - after.base_, axis=1) * np.linalg.norm(after._vectors(np.arange(4), 0), axis=1)
    assert (np.abs(along / size) < 1e-3).all() == normalise


def test_links_of_a_twin_layer_are_found(twins):  # noqa: F811
    assert twin_auc(twins, GATNE(dimension=32, epochs=1, num_walks=5)) > 0.65
