"""A model that looks at all layers: a pair's own edge never shows, and noise stays noise."""

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.evaluation import roc_auc
from banditplex.pairs.visibility import HIDE
from tests.nn.test_evidence import forget_sizes, without
from tests.nn.test_graph import random_multiplex
from tests.quick import every

QUICK = {"epochs": 2, "warmup": 0, "device": "cpu"}


@pytest.mark.parametrize(("hide", "directed"), every(5, HIDE, [False, True]))
def test_an_edge_is_scored_as_if_it_were_not_there(hide, directed, monkeypatch):
    forget_sizes(monkeypatch)
    mx = random_multiplex(1, num_nodes=40, num_layers=4, num_edges=220, directed=directed)
    model = bx.LinkPredictor(**QUICK, hide=hide, k=2, hidden_units=32).fit(mx)
    torch.manual_seed(0)
    for weight in model._fitted.model.parameters():
        torch.nn.init.normal_(weight, std=0.3)  # whatever it may learn
    scores = []
    for (u, v), layer in list(zip(mx.edge_index.T.tolist(), mx.edge_layer.tolist(), strict=True))[::20]:
        if u != v:
            scores += model.score_pairs([(u, v)], layer).tolist()
            context = without(mx, (u, v), layer, hide)
            assert context.num_edges < mx.num_edges
            assert model.score_pairs([(u, v)], layer, context=context) == pytest.approx(scores[-1:], abs=1e-3)
    assert np.std(scores) > 0.5


def random_network(seed, *, directed, num_nodes=100, num_layers=5, num_edges=1000):
    """Layers of random edges, which say nothing about each other; half of them are held out."""
    rng = np.random.default_rng(seed)
    every = np.array([(u, v) for u in range(num_nodes) for v in range(num_nodes) if u < v or (directed and u > v)])
    chosen = [every[rng.permutation(len(every))[: 2 * num_edges]] for _ in range(num_layers)]
    known = np.concatenate([pairs[: num_edges // 2] for pairs in chosen])
    mx = bx.Multiplex.from_edges(
        *known.T, np.repeat(range(num_layers), num_edges // 2), num_nodes=num_nodes, directed=directed
    )
    edges = [pairs[num_edges // 2 : num_edges] for pairs in chosen]
    return mx, edges, [pairs[num_edges:] for pairs in chosen]


@pytest.mark.parametrize(
    ("settings", "directed"),
    [
        ({}, False),
        pytest.param({"hide": "layer", "hidden_units": 32, "learning_rate": 0.03}, True, marks=pytest.mark.slow),
        ({"hide": "pair", "policy": "none"}, False),
    ],
)
def test_held_out_edges_of_random_layers_cannot_be_told_from_other_pairs(settings, directed):
    """The mean AUC of 5 layers, with n edges and m other pairs each, deviates by sqrt((n + m + 1) / (12 n m) / 5)."""
    mx, edges, others = random_network(0, directed=directed)
    model = bx.LinkPredictor(epochs=8, **settings).fit(mx)
    auc = [
        roc_auc(np.arange(len(a) + len(b)) < len(a), model.score_pairs(np.concatenate([a, b]), layer))
        for layer, (a, b) in enumerate(zip(edges, others, strict=True))
    ]
    n, m = len(edges[0]), len(others[0])
    assert abs(np.mean(auc) - 0.5) < 4 * np.sqrt((n + m + 1) / (12 * n * m) / 5)


def test_scores_depend_neither_on_other_pairs_nor_on_their_order():
    mx = random_multiplex(3, num_nodes=40, num_layers=3, num_edges=200)
    model = bx.LinkPredictor(**QUICK).fit(mx)
    rng, pairs = np.random.default_rng(0), np.array(np.triu_indices(40, 1)).T
    together, order = model.score_pairs(pairs, 1), rng.permutation(len(pairs))
    np.testing.assert_allclose(model.score_pairs(pairs[order], 1), together[order], atol=1e-5)
    np.testing.assert_allclose(model.score_pairs(pairs[:, ::-1], 1), together, atol=1e-5)
    for i in range(0, len(pairs), 100):
        assert model.score_pairs(pairs[i : i + 1], 1) == pytest.approx(together[i : i + 1], abs=1e-5)
    assert model.score_pairs(pairs[:0], 1).shape == (0,)


@pytest.mark.parametrize(
    ("case", "directed"),
    every(3, [(1, "default"), (1, "none"), (2, "default"), (2, "all"), (4, "none")], [False, True]),
)
def test_few_layers_and_no_draws_work(case, directed):
    num_layers, policy = case
    mx = random_multiplex(4, num_nodes=30, num_layers=num_layers, num_edges=90, directed=directed)
    model = bx.LinkPredictor(**QUICK, policy=policy).fit(mx)
    assert np.isfinite(model.score_pairs([[0, 1], [2, 29], [5, 6]], 0)).all()
    assert len(model.recommend(0, top=3)) == 3


def test_draws_stay_what_is_looked_at_with_evidence_drawn():
    """A layer that is neither target nor drawn makes no difference."""
    mx = random_multiplex(5, num_nodes=30, num_layers=3, num_edges=200)
    options = {"policy": "fixed", "policy_options": {"layers": [1]}}
    pairs, other = np.array(np.triu_indices(30, 1)).T, mx.keep_edges(mx.edge_layer != 2)
    for evidence, same in (("drawn", True), ("all", False)):
        model = bx.LinkPredictor(**QUICK, **options, k=1, evidence=evidence).fit(mx, targets=[0])
        scores = model.score_pairs(pairs, 0)
        assert np.array_equal(scores, model.score_pairs(pairs, 0, context=other)) is same
