"""`hide`: what is between two nodes shows neither in its layer nor, if so wished, in any, as if it were not there."""

import itertools

import numpy as np
import pytest
import torch
from banditplex.training.union import with_union

import banditplex as bx
from banditplex import prediction
from banditplex.errors import InputError
from banditplex.evaluation import roc_auc
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, describe
from banditplex.nn.scoring import between, score_by_layer
from banditplex.training.batches import Examples, divide_pairs
from tests.nn.test_graph import random_multiplex
from tests.nn.test_model import make_model
from tests.training.test_loop import random_layers

FAST = {"epochs": 2, "width": 4, "warmup": 0, "hide": "pair"}


def apart(mx, pair, layer=None):
    """Return the multiplex without any edge between two nodes, in one layer or in all."""
    between = np.array([set(ends) == set(pair) for ends in mx.edge_index.T.tolist()])
    return mx.keep_edges(~(between & ((mx.edge_layer == layer) | (layer is None))))


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("hide", "where"), [("layer", 1), ("pair", None)])
def test_features_are_those_of_a_graph_without_the_pair(hide, where, directed, union):
    mx = random_multiplex(3, num_edges=90, directed=directed)
    pack = (lambda mx: PackedGraph.from_multiplex(with_union(mx), union=True)) if union else PackedGraph.from_multiplex
    graph, target, layers = pack(mx), torch.tensor([1]), torch.tensor([[0, 3 if union else 2]])
    linked = 0
    for pair in itertools.permutations(range(9), 2):
        asked = torch.tensor([pair])
        found = describe(graph, asked, target, layers, hide=hide)
        expected = describe(pack(apart(mx, pair, where)), asked, target, layers)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine.values, theirs.values)
        linked += apart(mx, pair, where) != mx
    assert linked > 20


@pytest.mark.parametrize("directed", [False, True])
def test_scores_by_layer_are_those_of_a_graph_without_the_pair(directed):
    mx = random_multiplex(5, num_edges=60, directed=directed)
    model = make_model(mx, conv="gcn", hide="pair")
    target, layers = torch.tensor([1]), torch.tensor([[0, 2]])
    pairs = [pair for pair in itertools.permutations(range(11), 2) if apart(mx, pair) != mx]
    for pair in [pair for pair in pairs if not mx.has_edges([pair, pair[::-1]], 1).any()][:20]:
        asked = torch.tensor([pair])
        seen = score_by_layer(model, PackedGraph.from_multiplex(mx), None, asked, target, layers)
        unseen = score_by_layer(model, PackedGraph.from_multiplex(apart(mx, pair)), None, asked, target, layers)
        torch.testing.assert_close(seen, unseen)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("hide", "where"), [("layer", 1), ("pair", None)])
def test_scores_by_the_union_are_those_of_a_graph_without_the_pair(hide, where, weighted):
    mx = random_multiplex(5, num_edges=90, directed=True, weighted=weighted)
    model = make_model(with_union(mx), conv="gcn", hide=hide)
    target, layers = torch.tensor([1]), torch.tensor([[3]])
    pairs = [pair for pair in itertools.permutations(range(11), 2) if apart(mx, pair, where) != mx]
    for pair in [pair for pair in pairs if not mx.has_edges([pair], 1).any()][:20]:
        asked = torch.tensor([pair])
        seen, unseen = (
            score_by_layer(model, PackedGraph.from_multiplex(with_union(each), union=True), None, asked, target, layers)
            for each in (mx, apart(mx, pair, where))
        )
        torch.testing.assert_close(seen, unseen)


@pytest.mark.parametrize(("hide", "layers"), [("edge", [1]), ("pair", [1, 0])])
def test_validation_hides_pairs_where_training_does(hide, layers):
    pairs = torch.tensor([[0, 1], [2, 3]])
    hidden, where = between(pairs, torch.tensor([1, 1]), torch.tensor([[0], [0]]), hide=hide)
    assert hidden.tolist() == [pair for pair in pairs.tolist() for _ in layers]
    assert where.tolist() == layers * 2


def test_a_warm_start_hides_what_was_hidden():
    mx = random_layers(0, copied=True)
    model = bx.LinkPredictor(**FAST, warm_start=True).fit(mx)
    with pytest.raises(InputError, match="Expected hide='pair', as in the first fit, for a warm start"):
        model.set_params(hide="edge").fit(mx)


@pytest.mark.parametrize("union", [False, True])
def test_predictions_without_encoder_are_those_on_a_graph_without_the_pair(union):
    mx = random_multiplex(3, num_edges=90)
    model = bx.LinkPredictor(**FAST | {"width": 0, "union": union}).fit(mx)
    for pair in itertools.combinations(range(6), 2):
        blind = model.score_pairs([pair], 1, context=apart(mx, pair))
        assert model.score_pairs([pair], 1) == pytest.approx(blind, abs=1e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_the_encoder_does_not_see_the_pair_in_any_layer_it_looks_at(directed, monkeypatch):
    """Known edges are hidden with all of the same sum of node indices; pairs are asked that are alone in that."""
    monkeypatch.setattr(prediction, "FOLDS", 10_000)
    mx = random_multiplex(7, num_edges=60, directed=directed)
    model = bx.LinkPredictor(**FAST | {"conv": "gcn"}, k=2).fit(mx, targets=[1])
    asked = 0
    for pair in itertools.permutations(range(11), 2):
        same = [set(ends) for ends in mx.edge_index.T.tolist() if sum(ends) == sum(pair)]
        if same and all(ends == set(pair) for ends in same):
            blind = model.score_pairs([pair], 1, context=apart(mx, pair))
            assert model.score_pairs([pair], 1) == pytest.approx(blind, abs=1e-6)
            asked += 1
    assert asked >= 3


@pytest.mark.parametrize("width", [0, 8])
def test_a_copy_of_the_layer_gives_nothing_away(width):
    mx = random_layers(0, copied=True, features=True)
    pairs = np.array(np.triu_indices(60, 1)).T
    auc = {}
    for hide in ("layer", "pair"):
        model = bx.LinkPredictor(epochs=6, width=width, seed=0, hide=hide).fit(mx, targets=["a"])
        auc[hide] = roc_auc(mx.has_edges(pairs, "a"), model.score_pairs(pairs, "a"))
    assert auc["layer"] > 0.99
    assert abs(auc["pair"] - 0.5) < 0.08


@pytest.mark.parametrize("directed", [False, True])
def test_validation_pairs_are_linked_in_no_layer_that_is_seen(directed):
    mx = random_multiplex(5, num_edges=90, directed=directed)
    trainer = bx.LinkPredictor(**FAST, validation=0.3).make_trainer(mx, targets=[0, 1])
    held = {frozenset(pair) for pair in trainer.held.pairs.tolist()}
    expected = [set(ends) not in held for ends in mx.edge_index.T.tolist()]
    assert trainer.seen == mx.keep_edges(expected)
    assert not held & {frozenset(pair) for pair in trainer.train.pairs.tolist()}
    linked = {frozenset(pair) for pair in trainer.seen.edge_index.T.tolist()}
    drawn = trainer.sampler.draw(np.zeros(4000, int), np.random.default_rng(0))
    free = {pair for pair in map(frozenset, itertools.combinations(range(12), 2)) if pair not in linked}
    assert {frozenset(pair) for pair in drawn.tolist()} == free
    every = {frozenset(pair) for pair in mx.edge_index.T.tolist()}
    assert not every & {frozenset(pair) for pair in trainer.held_negatives.tolist()}


def test_the_edges_of_a_pair_are_divided_together():
    rng = np.random.default_rng(0)
    edges = sorted({(i, *sorted(pair)) for i, *pair in rng.integers(0, 9, (120, 3)).tolist() if pair[0] != pair[1]})
    instance, *ends = np.array(edges).T
    examples = Examples(instance, np.stack(ends, 1), np.arange(len(edges)))
    train, held = divide_pairs(examples, 0.3, rng, everywhere=True)
    kept, aside = ({tuple(pair) for pair in part.pairs.tolist()} for part in (train, held))
    assert not kept & aside
    assert len(aside) == int(0.3 * len(kept | aside))
    assert sorted([*train.place.tolist(), *held.place.tolist()]) == examples.place.tolist()


def test_no_target_loses_more_than_twice_the_share():
    instance = np.repeat(np.arange(200), 6)
    ends = np.random.default_rng(0).integers(0, 400, (1200, 2))
    examples = Examples(instance, np.stack([ends[:, 0], ends[:, 1] + 400], 1), np.arange(1200))
    train, held = divide_pairs(examples, 0.1, np.random.default_rng(1), everywhere=True)
    assert np.bincount(train.instance).min() == 5  # 6 - 2 * 0.1 * 6, rounded up
    assert len(held.place) > 40


def test_no_target_is_left_without_a_training_edge():
    examples = Examples(np.array([0, 0, 0, 0, 1]), np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 3]]), np.arange(5))
    for seed in range(20):
        train, held = divide_pairs(examples, 0.9, np.random.default_rng(seed), everywhere=True)
        assert set(train.instance.tolist()) == {0, 1}
        assert len(held.instance) <= 3


def test_of_a_directed_layer_both_arcs_are_divided_together_and_hidden():
    mx = random_multiplex(5, num_edges=120, directed=True)
    trainer = bx.LinkPredictor(**FAST | {"hide": "layer"}, validation=0.3).make_trainer(mx)
    held = set(zip(trainer.held.instance.tolist(), map(frozenset, trainer.held.pairs.tolist()), strict=True))
    edges = zip(mx.edge_layer.tolist(), map(frozenset, mx.edge_index.T.tolist()), strict=True)
    assert trainer.seen == mx.keep_edges([edge not in held for edge in edges])
    for layer in range(3):
        pairs = {frozenset(ends) for ends in mx.edges(layer).T.tolist() if ends[0] != ends[1]}
        assert sum(target == layer for target, _ in held) == int(0.3 * len(pairs))
        drawn = trainer.sampler.draw(np.full(2000, layer), np.random.default_rng(0)).tolist()
        seen = {pair for pair in pairs if (layer, pair) not in held}
        free = {arc for arc in itertools.permutations(range(12), 2) if frozenset(arc) not in seen}
        assert set(map(tuple, drawn)) == free


@pytest.mark.parametrize("given", [None, "edge"])
def test_evaluation_tells_a_model_what_it_hides_unless_that_was_chosen(given, monkeypatch):
    told, fit = [], bx.LinkPredictor.fit

    def spy(model, *words, **more):
        told.append(model.hide)
        return fit(model, *words, **more)

    monkeypatch.setattr(bx.LinkPredictor, "fit", spy)
    model = bx.LinkPredictor(epochs=1, width=0, hide=given)
    list(bx.evaluate(model, bx.load_dataset("twins"), hide="pair", trials=1, folds=2, engine="serial", targets=["a"]))
    assert told == [given or "pair"] * 2
    assert model.hide is given


def test_a_model_remembers_what_it_hides(tmp_path):
    mx = random_layers(0, copied=True)
    model = bx.LinkPredictor(**FAST).fit(mx)
    model.save(tmp_path / "model")
    again = bx.LinkPredictor.load(tmp_path / "model")
    assert again.hide == "pair"
    pairs = [(0, 1), (2, 3), (5, 9)]
    assert (again.score_pairs(pairs, "a") == model.score_pairs(pairs, "a")).all()


def test_what_cannot_be_hidden_is_refused():
    mx = Multiplex.from_edges([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], ["a", "a", "a", "a", "a", "b"], num_nodes=4)
    with pytest.raises(InputError, match="Expected hide to be one of edge, layer, pair, got 'node'"):
        bx.LinkPredictor(hide="node").fit(mx, targets=["a"])
    with pytest.raises(InputError, match="at least 1 pairs without an edge in any layer, for layer 'a', got 0"):
        bx.LinkPredictor(**FAST, validation=0).fit(mx, targets=["a"])
