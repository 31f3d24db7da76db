"""What a fitted model answers: scores of single pairs, in other contexts, with each layer alone."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch

import banditplex as bx
from banditplex.evaluation import roc_auc
from tests.refusals import refuses
from tests.test_predictor import FAST, small, some_pairs, unrelated_layers
from tests.training.test_loop import random_layers


@pytest.fixture(scope="module")
def fitted():
    mx = small()
    return mx, bx.LinkPredictor(**FAST).fit(mx)


def test_scores_do_not_depend_on_what_else_is_asked(fitted):
    mx, model = fitted
    layer = mx.layer_names[0]
    pairs = np.concatenate([some_pairs(mx), mx.edges(layer).T[:10]])
    together = model.score_pairs(pairs, layer)
    alone = np.concatenate([model.score_pairs(pairs[i : i + 1], layer) for i in range(len(pairs))])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(together, model.score_pairs(pairs[:, ::-1], layer), rtol=1e-4, atol=1e-5)


def test_small_graphs_are_scored_with_one_thread_per_operation(fitted):
    mx, model = fitted
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(3)
    hook = model._fitted.model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        model.score_pairs(some_pairs(mx), mx.layer_names[0])
        model.explain(some_pairs(mx), mx.layer_names[0])
        assert seen  # each time the network scored pairs
        assert set(seen) == {1}
        assert torch.get_num_threads() == 3
    finally:
        hook.remove()
        torch.set_num_threads(before)


def test_a_table_of_pairs_may_have_their_layers(fitted):
    mx, model = fitted
    pairs, layers = mx.node_names[some_pairs(mx)[:6]], [mx.layer_names[i] for i in (0, 1, 1, 0, 2, 0)]
    table = pd.DataFrame({"Kind": 1, "Layer": layers, "from": pairs[:, 0], "to": pairs[:, 1]})
    alone = [model.predict_proba(pairs[i : i + 1], layers[i], prior=0.3)[0] for i in range(6)]
    np.testing.assert_allclose(model.predict_proba(table, prior=0.3), alone, rtol=1e-5)
    assert model.predict(table, prior=0.3).tolist() == [int(each >= 0.5) for each in alone]
    with refuses("layer=", "4 targets"):
        model.predict(pairs)
    with refuses("layer=", "Kind"):
        model.predict(table[["Kind", "from", "to"]])


def test_new_nodes_with_features_are_scored_in_their_own_context():
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    features = np.eye(2)[group] + rng.normal(0, 0.1, (60, 2))
    upper = np.array(np.triu_indices(60, 1)).T
    linked = upper[(group[upper[:, 0]] == group[upper[:, 1]]) & (rng.random(len(upper)) < 0.3)]
    names = [f"n{i}" for i in range(60)]

    def make(nodes, known):
        keep = np.isin(linked, known).all(1)
        return bx.Multiplex.from_edges(
            [names[i] for i in linked[keep, 0]], [names[i] for i in linked[keep, 1]], "a",
            node_names=[names[i] for i in nodes], node_features=features[nodes],
        )  # fmt: skip

    model = bx.LinkPredictor(epochs=30, width=16, members=1).fit(make(np.arange(40), np.arange(40)))
    new = [(names[i], names[j]) for i in range(40, 60) for j in range(i + 1, 60)]
    label = [group[i] == group[j] for i in range(40, 60) for j in range(i + 1, 60)]
    for known in (60, 40):  # with the edges of new nodes, and with nothing but their features
        context = make(np.arange(60), np.arange(known))
        assert roc_auc(label, model.score_pairs(new, "a", context=context)) > 0.9
    with refuses("node features", 2, 0):
        model.score_pairs([("n1", "n2")], "a", context=bx.Multiplex.from_edges(["n1"], ["n2"], "a"))


def test_pairs_that_cannot_be_scored_are_refused(fitted):
    _, model = fitted
    with refuses("(n, 2)", (3,)):
        model.score_pairs([0, 1, 2], "g1-base")
    with refuses("pairs", [4, 4]):
        model.score_pairs([[0, 1], [4, 4]], "g1-base")
    with refuses(99):
        model.score_pairs([[0, 99]], "g1-base")
    assert model.score_pairs([], "g1-base").shape == (0,)
    with refuses("node", "'0'", "0, 1, 2"):
        model.score_pairs([["0", "1"]], "g1-base")
    with refuses("Multiplex", "context", "dict"):
        model.score_pairs([[0, 1]], "g1-base", context={})
    for draws in (-1, 0.5):
        with refuses("draws", 0, draws):
            model.score_pairs([[0, 1]], "g1-base", draws=draws)
    for top in (-1, 2.5, None):
        with refuses("top", 0, top):
            model.recommend("g1-base", top=top)


def test_scores_of_all_targets_at_once_with_each_layer_alone():
    mx = small()
    model = bx.LinkPredictor(**FAST).fit(mx)
    pairs = some_pairs(mx, 40)
    layer = np.arange(len(pairs)) % 4
    free = ~np.array([mx.has_edges(pair[None], mx.layer_names[i])[0] for pair, i in zip(pairs, layer, strict=True)])
    pairs, layer = pairs[free], layer[free]
    others = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[layer]
    scores = model.score_by_layer(pairs, layer, others)
    assert scores.shape == others.shape
    for target, name in enumerate(mx.layer_names):
        favourite = model.layer_probabilities_.loc[name].to_numpy().argmax()
        here = layer == target
        with_favourite = scores[here][others[here] == favourite]
        np.testing.assert_allclose(with_favourite, model.score_pairs(pairs[here], name), rtol=1e-4, atol=1e-5)


def test_what_scores_by_layer_refuse(fitted):
    mx, model = fitted
    known = mx.edges(mx.layer_names[0]).T[:1]
    with refuses("edges", tuple(known[0].tolist())):
        model.score_by_layer(known, [0], [[1]])
    with refuses("layer indices", 4):
        model.score_by_layer([[0, 1]], [0], [[0]])
    with refuses("1 pairs", (1,)):
        model.score_by_layer([[0, 1]], [0], [1])
    alone = bx.LinkPredictor(**FAST).fit(mx, targets=[mx.layer_names[1]])
    with refuses("target", mx.layer_names[1], mx.layer_names[0]):
        alone.score_by_layer(some_pairs(mx, 3), [0, 0, 0], [[1]] * 3)


def test_predictions_see_the_validation_edges():
    mx = random_layers(0, copied=False)
    model = bx.LinkPredictor(epochs=2, validation=0.9).fit(mx, targets=["a"])
    pairs = list(combinations(range(20), 2))
    assert (model.score_pairs(pairs, "a") == model.score_pairs(pairs, "a", context=mx)).all()


def test_another_context_has_evidence_of_its_own():
    mx, other = unrelated_layers(1), unrelated_layers(2)
    model = bx.LinkPredictor(**FAST, policy="none").fit(mx)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(model.score_pairs(pairs, "a", context=mx), model.score_pairs(pairs, "a"))
    assert (model.score_pairs(pairs, "a", context=other) != model.score_pairs(pairs, "a")).any()
    assert not other.has_edges(model.recommend("a", top=5, context=other)[["source", "destination"]], "a").any()


def test_contexts_that_do_not_fit_are_refused():
    mx = small()
    model = bx.LinkPredictor(**FAST).fit(mx)
    layer = mx.layer_names[0]
    for other, *values in (
        (replace(mx, directed=True), "directed=False", "directed=True"),
        (replace(mx, node_names=mx.node_names[::-1]), "nodes"),
        (mx.subset(layers=mx.layer_names[:2]), "layer", repr(mx.layer_names[2])),
    ):
        with refuses(*values):
            model.score_pairs([[0, 1]], layer, context=other)


@pytest.mark.parametrize("width", [0, 4])
def test_logits_of_many_targets_are_those_of_one_at_a_time(width):
    mx = bx.planted(4, 2, 0.8, num_nodes=40, edges_per_layer=100, communities=4)
    fitted = bx.LinkPredictor(epochs=2, members=1, width=width).fit(mx)._fitted
    fitted = replace(fitted, counts=np.array([1, 0, 1, 1]))  # not the same number of layers in each target
    rng = np.random.default_rng(0)
    pairs, instance = rng.integers(0, 40, (200, 2)), rng.integers(0, 4, 200)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    instance = instance[: len(pairs)]
    found = fitted.logits_of_targets(pairs, instance)
    for number, layer in enumerate(mx.layer_names):
        at = instance == number
        assert found[at] == pytest.approx(fitted.logits(pairs[at], layer), abs=1e-5)
