"""The union as one more layer: it never shows a pair's own edge, and everything else treats it as a layer."""

import itertools

import numpy as np
import pytest
import torch
from banditplex.nn.union import hide_in_union
from banditplex.training.union import UNION, UNION_NUMBER, with_union, without_union

import banditplex as bx
from banditplex.errors import InputError
from banditplex.evaluation import roc_auc
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, describe, sampling
from banditplex.nn.scoring import score
from tests.nn.test_graph import as_networkx, random_multiplex
from tests.nn.test_model import make_model, without

FAST = {"epochs": 2, "width": 4, "warmup": 0}


def random_layers(seed, num_layers=3, features=False):
    """Layers of 60 nodes that have nothing to do with each other, nor with anything."""
    rng = np.random.default_rng(seed)
    upper = np.array(np.triu_indices(60, 1))
    layers = [upper[:, rng.random(upper.shape[1]) < 0.1] for _ in range(num_layers)]
    name = np.repeat(list("abcdefg")[:num_layers], [layer.shape[1] for layer in layers])
    ends = np.concatenate(layers, axis=1)
    return Multiplex.from_edges(*ends, name, num_nodes=60, node_features=np.ones((60, 1)) if features else None)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_union_has_every_edge_once_and_sums_of_weights(weighted):
    mx = random_multiplex(2, weighted=weighted)
    merged = with_union(mx)
    total = {}
    for layer in mx.layer_names:
        for pair, weight in zip(mx.edges(layer).T.tolist(), mx.weights(layer).tolist(), strict=True):
            total[tuple(pair)] = total.get(tuple(pair), 0) + weight
    assert list(map(tuple, merged.edges(UNION_NUMBER).T.tolist())) == sorted(total)
    assert merged.weights(UNION_NUMBER) == pytest.approx([total[pair] if weighted else 1 for pair in sorted(total)])
    assert without_union(merged) == mx


@pytest.mark.parametrize("directed", [False, True])
def test_features_in_the_union_are_those_of_a_graph_without_the_pairs_own_edge(directed):
    mx = random_multiplex(3, num_edges=70, directed=directed)
    merged = with_union(mx)
    graph = PackedGraph.from_multiplex(merged, union=True)
    for target, pair in itertools.product(range(3), itertools.permutations(range(8), 2)):
        asked, where = torch.tensor([pair]), (torch.tensor([target]), torch.tensor([[3]]))
        rest = with_union(without(mx, target, pair if directed else sorted(pair)))
        expected = describe(PackedGraph.from_multiplex(rest), asked, *where)[1].values
        torch.testing.assert_close(describe(graph, asked, *where)[1].values, expected)
        elsewhere = any(as_networkx(mx, layer).has_edge(*pair) for layer in range(3) if layer != target)
        assert as_networkx(rest, UNION_NUMBER).has_edge(*pair) == elsewhere


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("whole", [0, 4096])
def test_scores_from_the_union_are_those_of_a_graph_without_the_pairs_own_edge(directed, whole, monkeypatch):
    monkeypatch.setattr(sampling, "WHOLE", whole)
    mx = random_multiplex(5, num_edges=60, directed=directed)
    model = make_model(with_union(mx), conv="gcn")
    graph = PackedGraph.from_multiplex(with_union(mx), union=True)
    edges = mx.edges(1).T.tolist()
    target, layers = torch.tensor([1]), torch.tensor([[3, 0]])
    for pair in [pair for pair in edges if pair[0] != pair[1] and pair[::-1] not in edges]:
        asked = torch.tensor([pair])
        seen = model(graph, None, asked, target, layers, hide_in_union(graph, (asked, target)))
        blind = PackedGraph.from_multiplex(with_union(without(mx, 1, pair)), union=True)
        unseen = model(blind, None, asked, target, layers, (asked[:0], target[:0]))
        torch.testing.assert_close(seen.total, unseen.total)


@pytest.mark.parametrize("directed", [False, True])
def test_what_is_hidden_in_all_layers_that_have_it_is_hidden_in_the_union(directed):
    """Some pairs are no edges of the layers that they are hidden in, as negatives are; some are hidden twice."""
    mx = random_multiplex(3, num_edges=70, directed=directed)
    graph = PackedGraph.from_multiplex(with_union(mx), union=True)
    edges = [{frozenset(pair) for pair in mx.edges(layer).T.tolist()} for layer in range(3)]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pairs, layer = np.array(list(itertools.permutations(range(8), 2)) * 3), np.repeat(range(3), 56)
        at = rng.random(len(pairs)) < 0.5
        hidden = torch.from_numpy(pairs[at]), torch.from_numpy(layer[at])
        asked = {(frozenset(pair), where) for pair, where in zip(pairs[at].tolist(), layer[at].tolist(), strict=True)}
        expected = [
            set(pair)
            for pair in map(frozenset, itertools.combinations(range(8), 2))
            if any(pair in each for each in edges)
            and all((pair, where) in asked for where in range(3) if pair in edges[where])
        ]
        result, where = hide_in_union(graph, hidden)
        assert torch.equal(result[: at.sum()], hidden[0])
        assert torch.equal(where[: at.sum()], hidden[1])
        assert set(where[at.sum() :].tolist()) == {3}
        found = [set(pair) for pair in result[at.sum() :].tolist()]
        assert len(found) == len(expected) > 0
        assert all(pair in found for pair in expected)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_of_hidden_edges_are_no_part_of_those_of_the_union(directed):
    mx = random_multiplex(5, num_edges=90, directed=directed, weighted=True)
    model = make_model(with_union(mx), conv="gcn")
    graph = PackedGraph.from_multiplex(with_union(mx), union=True)
    edges = mx.edges(1).T.tolist()
    target, layers = torch.tensor([1]), torch.tensor([[3]])
    edges = [pair for pair in edges if pair[0] != pair[1] and pair[::-1] not in edges]
    assert mx.has_edges(np.array(edges), 0).any()
    for pair in edges:
        asked = torch.tensor([pair])
        seen = score(model, graph, None, asked, target, layers, (asked, target))
        blind = PackedGraph.from_multiplex(with_union(without(mx, 1, pair)), union=True)
        torch.testing.assert_close(seen, score(model, blind, None, asked, target, layers, (asked[:0], target[:0])))


@pytest.mark.parametrize("width", [0, 8])
def test_known_edges_of_a_random_layer_cannot_be_told_from_other_pairs(width):
    mx = random_layers(0, features=True)
    options = {"policy": "fixed", "policy_options": {"layers": [UNION]}}
    model = bx.LinkPredictor(epochs=6, width=width, union=True, **options).fit(mx, targets=["a"])
    pairs = np.array(np.triu_indices(60, 1)).T
    assert model.layer_probabilities_.loc["a", UNION] == 1
    assert abs(roc_auc(mx.has_edges(pairs, "a"), model.score_pairs(pairs, "a")) - 0.5) < 0.08


def test_validation_edges_are_neither_in_their_layer_nor_alone_in_the_union():
    mx = random_layers(5)
    trainer = bx.LinkPredictor(union=True, validation=0.4).make_trainer(mx)
    held = {(target, *pair) for target, pair in zip(trainer.held.instance, trainer.held.pairs.tolist(), strict=True)}
    left = [
        [pair for pair in map(tuple, mx.edges(name).T.tolist()) if (target, *pair) not in held]
        for target, name in enumerate("abc")
    ]
    left.append(sorted(set().union(*left)))
    for layer, name in enumerate(trainer.seen.layer_names):
        assert sorted(map(tuple, trainer.seen.edges(name).T.tolist())) == left[layer]
        every = np.array(left[layer])
        assert trainer.graph.has_edge(torch.from_numpy(every), torch.full((len(every),), layer)).all()
    assert trainer.graph.out.neighbour.numel() < trainer.whole.out.neighbour.numel()


def test_bandits_find_the_union_where_each_layer_tells_a_part():
    """Links of the target are those of eight layers together: every one of them knows an eighth."""
    rng = np.random.default_rng(0)
    upper = np.array(np.triu_indices(60, 1))
    links = upper[:, rng.random(upper.shape[1]) < 0.3]
    layer = np.append(rng.integers(1, 9, links.shape[1]), np.zeros(links.shape[1], np.int64))
    mx = Multiplex.from_edges(*np.tile(links, 2), layer, num_nodes=60)
    model = bx.LinkPredictor(epochs=12, width=0, union=True).fit(mx, targets=[0])
    assert model.layer_probabilities_.loc[0, UNION_NUMBER] > 0.7
    pairs = upper.T
    known = mx.has_edges(pairs, 0)
    assert roc_auc(known, model.score_pairs(pairs, 0)) > 0.99
    assert roc_auc(known, bx.LinkPredictor(epochs=12, width=0).fit(mx, targets=[0]).score_pairs(pairs, 0)) < 0.8


def test_the_union_is_a_layer_in_probabilities_history_and_files(tmp_path):
    mx = random_layers(1)
    model = bx.LinkPredictor(k=3, union=True, **FAST).fit(mx)
    table = model.layer_probabilities_
    assert list(table.columns) == ["a", "b", "c", UNION]
    assert list(table.index) == ["a", "b", "c"]
    assert table.sum(axis=1).tolist() == pytest.approx([3, 3, 3])
    assert all(set(row) == set("abc") - {layer} | {UNION} for layer, row in model.history_[["layer", "drawn"]].values)
    assert model.multiplex_ == mx
    model.save(tmp_path)
    again = bx.LinkPredictor.load(tmp_path)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(again.score_pairs(pairs, "b"), model.score_pairs(pairs, "b"))
    assert again.union
    assert again.multiplex_ == mx


def test_another_context_has_a_union_of_its_own():
    mx, other = random_layers(1), random_layers(2)
    options = {"policy": "fixed", "policy_options": {"layers": [UNION]}, "union": True}
    model = bx.LinkPredictor(**options, **FAST).fit(mx)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(model.score_pairs(pairs, "a", context=mx), model.score_pairs(pairs, "a"))
    assert (model.score_pairs(pairs, "a", context=other) != model.score_pairs(pairs, "a")).any()
    assert not other.has_edges(model.recommend("a", top=5, context=other)[["source", "destination"]], "a").any()


@pytest.mark.parametrize("relevance", ["predictive", "euclidean"])
def test_a_run_with_the_union_can_be_resumed_and_started_warm(relevance, tmp_path):
    mx = random_layers(3, num_layers=4)
    settings = FAST | {"union": True, "relevance": relevance}
    straight = bx.LinkPredictor(**settings).fit(mx)
    stopped = bx.LinkPredictor(**settings).fit(mx, on_epoch=lambda *_: True, checkpoint=tmp_path)
    assert len(stopped.history_) == 4
    resumed = bx.LinkPredictor(**settings).fit(mx, checkpoint=tmp_path, resume=True)
    pairs = np.array(np.triu_indices(60, 1)).T
    np.testing.assert_array_equal(resumed.score_pairs(pairs, "a"), straight.score_pairs(pairs, "a"))
    warm = resumed.set_params(warm_start=True).fit(random_layers(4, num_layers=4))
    assert warm.layer_probabilities_.shape == (4, 5)


def test_two_layers_have_no_union_and_its_name_is_taken():
    assert with_union(random_layers(0, num_layers=2)).num_layers == 2
    with pytest.raises(InputError, match=r"other names than '\(union\)'"):
        with_union(with_union(random_layers(0)))
    with pytest.raises(InputError, match="other names than -1"):
        bx.LinkPredictor(union=True).fit(
            Multiplex.from_edges(range(12), range(1, 13), [0, -1] * 6, layer_names=[0, -1])
        )
    with pytest.raises(InputError, match="Expected k from 1 to 3, the number of other layers, got 4"):
        bx.LinkPredictor(k=4, union=True).fit(random_layers(0))
    with pytest.raises(InputError, match="Expected union to be True or False, got 1"):
        bx.LinkPredictor(union=1).fit(random_layers(0))


def test_a_layer_may_have_the_name_of_the_union_where_there_is_none():
    mx = Multiplex.from_edges(range(18), range(1, 19), ["a", "b", UNION] * 6, layer_names=["a", "b", UNION])
    model = bx.LinkPredictor(**FAST).fit(mx)
    assert model.multiplex_ == mx
    assert list(model.layer_probabilities_.index) == ["a", "b", UNION]


def test_settings_from_a_grid_of_numpy(tmp_path):
    model = bx.LinkPredictor(union=np.array([False, True])[1], **FAST).fit(random_layers(0))
    model.save(tmp_path)
    assert bx.LinkPredictor.load(tmp_path).union is True
