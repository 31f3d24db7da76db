"""What every network promises: known edges are not seen, scores depend on the pair only, few edges are enough."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from banditplex.baselines import BASELINES, SEAL, GCNDistMult
from banditplex.baselines.neural import SCORING_GROUPS, NeuralBaseline, hide_from
from banditplex.baselines.seal import SubgraphNetwork
from banditplex.evaluation import roc_auc, split
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from tests.baselines.test_baselines import layer_auc, random_multiplex
from tests.quick import every
from tests.refusals import refuses

NETWORKS = [name for name in BASELINES if isinstance(BASELINES[name](), NeuralBaseline)]
QUICK = ("seal", "ncn-all", "gcn-distmult", "attention", "thanos")
UNIONS = [name for name in NETWORKS if name.endswith("-union")]


def test_all_systems_are_there():
    both = {"seal", "gnn-bs", "thanos"}
    named = {"ncn-all", "gcn-distmult", "mean", "attention", "deeplex"}
    assert both | {f"{name}-union" for name in both} | named <= set(BASELINES)


@cache
def fitted(name, hide="layer", directed=False):
    """One epoch on random edges."""
    mx = random_multiplex(5, directed=directed, num_nodes=24, density=0.12)
    return BASELINES[name](hide=hide, epochs=1, device="cpu").fit(mx)


def some_pairs(mx, rng):
    """Known edges of layer a and other pairs."""
    return np.concatenate([mx.edges("a").T[:8], rng.permuted(np.tile(np.arange(24), (8, 1)), axis=1)[:, :2]])


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in UNIONS])
def test_scores_depend_on_the_pair_only(name):
    model, rng = fitted(name), np.random.default_rng(0)
    pairs = some_pairs(model.mx_, rng)
    scores = model.score_pairs(pairs, "a")
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 4
    order = rng.permutation(len(pairs))
    np.testing.assert_allclose(model.score_pairs(pairs[order], "a"), scores[order], atol=1e-9)
    np.testing.assert_allclose(model.score_pairs(pairs[3:4], "a"), scores[3:4], atol=1e-9)
    np.testing.assert_allclose(model.score_pairs(pairs[:, ::-1], "a"), scores, atol=1e-9)
    assert model.score_pairs([], "a").shape == (0,)


@pytest.mark.parametrize(
    ("name", "hide", "directed"),
    every(
        3,
        [(name, "layer", False) for name in NETWORKS]
        + [(name, "pair", False) for name in ("thanos-union", "seal-union", "ncn-all", "deeplex", "attention")]
        + [("gnn-bs-union", "layer", True), ("mean", "edge", True)],
    ),
)
def test_a_known_edge_is_scored_as_if_it_were_unknown(name, hide, directed):
    """The network is asked with the edges of its fold hidden, and says the same on the graph without the edge."""
    model = fitted(name, hide, directed)
    assert not model.sees_own_edge
    mx, network, visibility = model.mx_, model.network_, model.visibility_
    edge = mx.edges("a")[:, :1].T.copy()
    seen = mx.edge_index if hide == "pair" else mx.edges("a")
    fold = torch.from_numpy(seen[:, seen.sum(0) % SCORING_GROUPS == edge.sum() % SCORING_GROUPS].T.copy())
    if network.exact:
        fold = fold[:0]
    key = visibility.keys(np.zeros(1, np.int64), edge, mx.num_nodes)
    less = mx.keep_edges(~np.isin(visibility.keys(mx.edge_layer, mx.edge_index.T, mx.num_nodes), key))
    assert less.num_edges < mx.num_edges
    for graph_of in (mx, less):
        graph = PackedGraph.from_multiplex(replace(graph_of, weight=None), union=network.sees == "union")
        hidden = hide_from(graph, fold, torch.zeros(len(fold), dtype=torch.long), visibility, network.sees)
        with torch.no_grad():
            found = network(graph, torch.from_numpy(edge), torch.zeros(1, dtype=torch.long), hidden)
        np.testing.assert_allclose(found, model.score_pairs(edge, "a"), atol=1e-9)


@pytest.mark.parametrize("name", ["gcn-distmult", "seal-union", "thanos", "mean"])
def test_same_seed_same_scores(name):
    model = fitted(name)
    again = BASELINES[name](hide="layer", epochs=1, device="cpu").fit(model.mx_)
    other = BASELINES[name](hide="layer", epochs=1, device="cpu", seed=1).fit(model.mx_)
    pairs = some_pairs(model.mx_, np.random.default_rng(1))
    np.testing.assert_array_equal(again.score_pairs(pairs, "b"), model.score_pairs(pairs, "b"))
    assert not np.allclose(other.score_pairs(pairs, "b"), model.score_pairs(pairs, "b"))


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in UNIONS])
def test_few_edges_are_enough(name):
    """A layer without edges, one with one edge, one with three; and one layer alone."""
    mx = Multiplex.from_edges(
        [0, 0, 1, 2, 0, 1, 2, 3, 4, 5], [1, 1, 2, 3, 2, 3, 4, 5, 6, 7], ["one", *["three"] * 3, *["more"] * 6],
        num_nodes=9, layer_names=["none", "one", "three", "more"],
    )  # fmt: skip
    for part in (mx, mx.subset(layers=["three"])):
        model = BASELINES[name](hide="pair", epochs=1, device="cpu").fit(part)
        for layer in part.layer_names:
            assert np.isfinite(model.score_pairs([[0, 1], [0, 8], [6, 7]], layer)).all()


def blocks(seed, across=0.03):
    """Two layers of two groups of 15 nodes each, with most edges inside the groups."""
    rng = np.random.default_rng(seed)
    same = np.arange(30)[:, None] // 15 == np.arange(30) // 15
    layer, u, v = np.nonzero(np.triu(rng.random((2, 30, 30)) < np.where(same, 0.5, across), 1))
    return Multiplex.from_edges(u, v, np.array(["a", "b"])[layer], num_nodes=30)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS if name not in UNIONS],
)
def test_groups_are_found(name):
    """Pairs inside the groups are likelier: a perfect model has ROC-AUC .9 or more."""
    parts = split(blocks(0), hide="layer", share=0.3, seed=1)
    epochs = {"seal": 6, "deeplex": 5}.get(name, 15)
    model = BASELINES[name](hide="layer", device="cpu", epochs=epochs, learning_rate=0.01).fit(parts.train)
    assert layer_auc(parts, model, ["a", "b"]) > 0.7


@pytest.mark.parametrize(
    ("name", "hide"),
    [("gcn-distmult", "layer")]
    + [pytest.param(name, hide, marks=pytest.mark.slow) for name in NETWORKS for hide in ("layer", "pair")],
)
def test_nothing_is_predicted_in_random_graphs(name, hide):
    found = []
    for seed in range(3):
        parts = split(random_multiplex(seed, num_nodes=60), hide=hide, seed=seed)
        model = BASELINES[name](hide=hide, seed=seed, epochs=10, device="cpu").fit(parts.train)
        found.append(layer_auc(parts, model, parts.train.layer_names))
    assert abs(np.mean(found) - 0.5) < 0.092  # 9 layers of some 70 test pairs: standard error .023


def test_subgraphs_of_a_batch_may_be_computed_in_parts(monkeypatch):
    """Without dropout, gradients of parts add up to that of the batch."""
    pairs, scores = np.array([[0, 1], [2, 20], [5, 9]]), []
    for chunk in (512, 40):
        monkeypatch.setattr(SubgraphNetwork, "chunk", chunk)
        monkeypatch.setattr("torch.nn.Dropout.forward", lambda self, x: x)
        model = SEAL(epochs=1, device="cpu", hide="layer").fit(blocks(4), targets=["a"])
        scores.append(model.score_pairs(pairs, "a"))
    np.testing.assert_allclose(*scores, rtol=1e-4)


def test_training_is_reported_and_can_be_stopped():
    rows = []
    mx = blocks(2)
    model = GCNDistMult(epochs=9, device="cpu").fit(mx, on_epoch=lambda model, row: rows.append(row) or len(rows) == 3)
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert all(row["train_loss"] > 0 and row["validation_loss"] > 0 for row in rows)
    assert model.num_parameters_ == 30 * 64 + 64 * 64 + 64 + 2 * (64 + 1)  # vectors of nodes, a convolution, a decoder


def test_the_best_epoch_is_used():
    """With a huge learning rate, later weights are worse than the first ones."""
    kept, parts = [], split(blocks(3), hide="layer", seed=0)
    model = SEAL(epochs=3, patience=3, learning_rate=1.0, device="cpu", hide="layer")

    def keep(model, row):
        weights = {name: value.clone() for name, value in model.network_.state_dict().items()}
        kept.append((row["validation_loss"], weights))

    model.fit(parts.train, on_epoch=keep)
    best = min(kept, key=lambda each: each[0])[1]
    for name, value in model.network_.state_dict().items():
        torch.testing.assert_close(value.to(best[name].dtype), best[name])


def test_node_features_are_used():
    """Random edges between nodes whose feature has the same sign: only features can tell."""
    rng = np.random.default_rng(0)
    sign = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    flags = np.triu((sign[:, None] == sign) & (rng.random((40, 40)) < 0.2), 1)
    mx = Multiplex.from_edges(*np.nonzero(flags), "a", num_nodes=40, node_features=sign[:, None])
    parts = split(mx, hide="layer", seed=0)
    model = BASELINES["gcn-distmult"](hide="layer", epochs=15, device="cpu").fit(parts.train)
    pairs, label = parts.test("a")
    assert roc_auc(label, model.score_pairs(pairs, "a")) > 0.65
    assert len(model.network_.encoder.input.linear.weight) == 64


def test_mistakes_are_refused():
    mx = blocks(0)
    with refuses("epochs", 0):
        GCNDistMult(epochs=0).fit(mx)
    with refuses("graph", "'everything'"):
        SEAL(graph="everything", device="cpu").fit(mx)
    with refuses("kind", "'median'"):
        BASELINES["mean"](kind="median", device="cpu").fit(mx)
    with refuses("device", "'abacus'"):
        GCNDistMult(device="abacus").fit(mx)
