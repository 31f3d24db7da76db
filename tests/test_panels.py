"""Models with a panel: what is hidden of a pair stays hidden, and saved models, reasons and new nodes see it."""

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.pairs.visibility import HIDE
from tests.nn.test_evidence import forget_sizes, without
from tests.nn.test_graph import random_multiplex
from tests.quick import every

TARGETS, PANEL = [0, 2], [1, 3]
QUICK = {"epochs": 1, "warmup": 0, "device": "cpu", "policy": "fixed", "policy_options": {"layers": PANEL}}
KINDS = ["undirected", "directed", "weighted", "typed"]


def network(kind, seed=1):
    if kind != "typed":
        options = {"directed": kind == "directed", "weighted": kind == "weighted"}
        return random_multiplex(seed, num_nodes=40, num_layers=5, num_edges=260, **options)
    rng = np.random.default_rng(seed)  # users and items
    users, items, layer = rng.integers(0, 20, 260), rng.integers(20, 40, 260), rng.integers(0, 5, 260)
    types = ["user"] * 20 + ["item"] * 20
    return bx.Multiplex.from_edges(users, items, layer, num_nodes=40, node_types=types, duplicates="max")


def trained(kind, **settings):
    """Return a multiplex and a model with a panel, whose weights are anything."""
    mx = network(kind)
    model = bx.LinkPredictor(**QUICK, weighted=kind == "weighted", **settings).fit(mx, TARGETS)
    panel = model.panel_
    assert {target: set(panel.loc[(panel["target"] == target) & (panel["weight"] > 0), "layer"]) for target in TARGETS}
    assert set(panel.loc[panel["weight"] > 0, "layer"]) == set(PANEL)
    torch.manual_seed(0)
    for weight in model._fitted.model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return mx, model


def edges_of(mx, layer, step=9):
    pairs = mx.edges(layer).T
    return pairs[pairs[:, 0] != pairs[:, 1]][::step].tolist()


@pytest.mark.parametrize(("hide", "kind"), every(4, HIDE, KINDS))
def test_an_edge_is_scored_as_if_it_were_not_there(hide, kind, monkeypatch):
    forget_sizes(monkeypatch)
    mx, model = trained(kind, hide=hide)
    scores = []
    for target in TARGETS:
        for pair in edges_of(mx, target):
            less = without(mx, tuple(pair), target, hide)
            assert less.num_edges < mx.num_edges
            scores += model.score_pairs([pair], target).tolist()
            assert model.score_pairs([pair], target, context=less) == pytest.approx(scores[-1:], abs=1e-3)
    assert np.std(scores) > 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_add_up_and_a_saved_model_is_the_same(kind, tmp_path):
    mx, model = trained(kind)
    pairs = np.array(edges_of(mx, 4) + edges_of(mx, 0))
    pairs = np.unique(pairs, axis=0)
    score = model.score_pairs(pairs, 0)
    table = model.explain(pairs, 0)
    total = table.groupby(["source", "destination"])["value"].sum()
    assert [total[tuple(pair)] for pair in pairs.tolist()] == pytest.approx(score.tolist(), rel=1e-4, abs=1e-4)
    model.save(tmp_path / "model")
    same = bx.LinkPredictor.load(tmp_path / "model")
    assert same.panel_.equals(model.panel_)
    assert same.score_pairs(pairs, 0).tolist() == pytest.approx(score.tolist(), abs=1e-5)


@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted"])
def test_new_nodes_are_seen_through_the_panel(kind):
    """A new node has the same edges in the panel or in another layer; the union says the same of both."""
    mx, model = trained(kind)
    known = sorted({node for pair in edges_of(mx, 0, 1) for node in pair})[:6]
    asked = np.array([[40, node] for node in known])

    def scores_with(layer):
        weight = np.ones(4) if kind == "weighted" else None
        names = {"num_nodes": 41, "layer_names": mx.layer_names, "directed": mx.directed}
        new = bx.Multiplex.from_edges([40] * 4, known[2:], [layer] * 4, weight=weight, **names)
        context = mx.with_edges(new)
        assert context.num_nodes == 41
        return model.score_pairs(asked, 0, context=context)

    in_panel, elsewhere = scores_with(PANEL[0]), scores_with(4)
    assert np.isfinite([in_panel, elsewhere]).all()
    assert np.abs(in_panel - elsewhere).max() > 1e-2
