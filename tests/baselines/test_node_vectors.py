"""Node vectors: formulas of MNE and GATNE-T by plain loops, scores by hand, and a planted set."""

import numpy as np
import pytest
import torch

from banditplex.baselines import GATNE, MNE, Node2Vec
from banditplex.baselines.node_vectors import _Neighbours, edge_part, layer_vectors
from banditplex.baselines.skipgram import WalkGraph
from banditplex.datasets import load_dataset
from banditplex.evaluation import roc_auc, split
from banditplex.multiplex import Multiplex
from tests.baselines.small import WALKS, make
from tests.refusals import refuses

SMALL_GRAPH = Multiplex.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 1, 4], [*"aaabb"], num_nodes=6)


@pytest.fixture(scope="module")
def twins():
    return split(load_dataset("twins").subset(["a", "a-twin", "noise-1"]), hide="layer")


def twin_auc(twins, model):
    pairs, label = twins.test("a")
    return roc_auc(label, model.fit(twins.train, targets=["a"]).score_pairs(pairs, "a"))


def test_mne_by_a_plain_loop():
    """v_n = b_n + w sum_j u_n,j X_j, node by node; both in training and in scores."""
    rng = np.random.default_rng(0)
    base, own, transform = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 2, 4))
    slow = [
        [[base[b, n, i] + 0.5 * sum(own[b, n, j] * transform[b, j, i] for j in range(2)) for i in range(4)]
         for n in range(3)]
        for b in range(2)
    ]  # fmt: skip
    fast = layer_vectors(*map(torch.from_numpy, (base, own, transform)), 0.5)
    np.testing.assert_allclose(fast, slow)
    model = make("mne", layer_weight=0.5).fit(SMALL_GRAPH)
    vector = model._vectors(np.array([3, 0, 5]), 1)
    rows = WalkGraph.of(SMALL_GRAPH).rows(np.array([3, 0]), 1)
    for at, (node, row) in enumerate(zip([3, 0], rows, strict=True)):
        expected = model.base_[node] + 0.5 * sum(model.own_[row, j] * model.transforms_[1, j] for j in range(2))
        np.testing.assert_allclose(vector[at], expected)
    np.testing.assert_array_equal(vector[2], model.base_[5])  # no edges in layer b


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


def test_scores_by_hand():
    """Vectors (3, 4), (4, 3) and 0: dot product 24, cosine 24 / 25; nodes without edges score 0."""
    model = Node2Vec(**WALKS).fit(SMALL_GRAPH, targets=["b"])
    model.vectors_ = np.zeros_like(model.vectors_)
    model.vectors_[:2, :2] = [[3, 4], [4, 3]]  # nodes 0 and 1 in layer b
    np.testing.assert_allclose(model.score_pairs([[0, 1], [0, 2], [3, 4]], "b"), [24 / 25, 0, 0])


def test_targets_and_union_have_their_own_vectors():
    """On the target layer nodes 1 and 2 are linked in a only; in the union they have one vector for all layers."""
    own, union = (Node2Vec(graph=graph, **WALKS).fit(SMALL_GRAPH) for graph in ("target", "union"))
    assert own.vectors_.shape == (4 + 4 + 1, 8)
    assert union.vectors_.shape == (5 + 1, 8)
    assert own.score_pairs([[1, 2]], "b") == 0 != own.score_pairs([[1, 2]], "a")
    assert union.score_pairs([[1, 2]], "b") == union.score_pairs([[1, 2]], "a")


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (Node2Vec(graph="union", num_walks=5, walk_length=40, q=1.0), 0.65),
        (MNE(dimension=32, epochs=1, num_walks=10), 0.65),
        (GATNE(dimension=32, epochs=1, num_walks=5), 0.65),
    ],
    ids=["node2vec", "mne", "gatne-t"],
)
def test_links_of_a_twin_layer_are_found(twins, model, least):
    """Layer a has a twin with most of its edges: methods that see both do better than chance."""
    assert twin_auc(twins, model) > least


def test_the_time_limit_stops_training(twins):
    model = MNE(epochs=1_000_000, time_limit=0.2)
    assert 0.3 < twin_auc(twins, model) < 1


def test_mistakes_are_refused():
    for options, words in (
        ({"graph": "layer"}, ("graph", "'layer'")),
        ({"p": 0}, ("p", "0")),
        ({"device": "abacus"}, ("device", "'abacus'")),
    ):
        with refuses(*words):
            Node2Vec(**options).fit(SMALL_GRAPH)
