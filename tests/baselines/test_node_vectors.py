"""Node vectors: the formula of MNE by a plain loop, scores by hand, and a planted set."""

import numpy as np
import pytest
import torch

from banditplex.baselines import MNE, Node2Vec
from banditplex.baselines.node_vectors import layer_vectors
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
    ],
    ids=["node2vec", "mne"],
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
