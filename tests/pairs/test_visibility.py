"""What is hidden of a pair, in which phase and from whom; that the rest is seen; what is held out together."""

import itertools
from functools import cache

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex import prediction
from banditplex.evaluation import roc_auc
from banditplex.multiplex import Multiplex
from banditplex.nn import Encoder, MultiplexModel, PackedGraph, compute_pair_features
from banditplex.nn.pair_features import num_features
from banditplex.nn.query import Query
from banditplex.nn.scoring import score_by_layer
from banditplex.nn.view import pack as pack_view
from banditplex.pairs.visibility import HIDE, Visibility
from banditplex.training.config import EVIDENCE
from banditplex.training.default import complete
from tests.nn.test_evidence import forget_sizes
from tests.nn.test_graph import random_multiplex
from tests.nn.test_model import make_model
from tests.quick import every
from tests.refusals import refuses
from tests.training.test_loop import random_layers

FAST = {"epochs": 2, "width": 4, "warmup": 0, "hide": "pair"}

# What is hidden of a pair (u, v) of the target layer. An undirected edge is "the edge", and has no reverse. Hidden: no
# such edge is seen, though the multiplex has it. Not hidden: every such edge of the graph of that phase is seen.

FEATURES = {
    # of hide =                                                   edge   layer  pair
    "the edge in the target layer":                              (True,  True,  True),
    "the reverse edge in the target layer":                      (False, True,  True),
    "the edge in another layer":                                 (False, False, True),
    "the reverse edge in another layer":                         (False, False, True),
}  # fmt: skip
"""Structural features, in training, validation and prediction alike."""

ENCODER = {
    # of hide =                                                   edge   layer  pair
    "a link in the target layer":                                (True,  True,  True),
    "a link in a drawn layer":                                   (False, False, True),
}  # fmt: skip
"""Messages of the encoder, which have no direction: a link is an edge either way."""

TARGET, DRAWN, NUM_LAYERS = 1, [0, 2], 4
PHASES = ("train", "validate", "predict")


def dense_multiplex(directed):
    """Return 16 nodes and four layers that have a third of all pairs each, at random."""
    rng = np.random.default_rng(0)
    pairs = np.array(list(itertools.permutations(range(16), 2) if directed else itertools.combinations(range(16), 2)))
    layer, which = np.nonzero(rng.random((NUM_LAYERS, len(pairs))) < 0.35)
    return Multiplex.from_edges(*pairs[which].T, layer, num_nodes=16, directed=directed, layer_names=range(NUM_LAYERS))


@cache
def watch(hide, directed, evidence):
    """Train, validate and predict; return for each phase its graph, and what each call of the network was given.

    A call: pairs (P, 2), layers (P, 1 + k), the two tables of features, and the arcs (layer, node, node) that the
    encoder sees. Layer 1 is the target, which looks at layers 0 and 2.
    """
    mx, calls = dense_multiplex(directed), []
    describe, forward = MultiplexModel.describe, Encoder.forward

    def features(model, view, query):
        own, other, lists = describe(model, view, query)
        without_evidence = own.values[:, : num_features(view.visibility)[0]]
        calls.append([query.pairs.tolist(), query.table.tolist(), without_evidence.clone(), other.values.clone()])
        return own, other, lists

    def encode(encoder, block, x):
        ends = block.key[block.edge_index].T.tolist()
        calls[-1].append({(a // mx.num_nodes, a % mx.num_nodes, b % mx.num_nodes) for a, b in ends})
        return forward(encoder, block, x)

    options = {"policy": "fixed", "policy_options": {"layers": DRAWN}}
    model = bx.LinkPredictor(hide=hide, evidence=evidence, width=4, validation=0.3, epochs=2, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MultiplexModel, "describe", features)
        patch.setattr(Encoder, "forward", encode)
        members = model.make_members(mx, targets=[TARGET])
        trainer = members.current
        calls.clear()
        trainer.run_epoch()
        seen = {"train": (trainer.data.train_mx, calls[: trainer.steps_per_epoch])}
        calls.clear()
        trainer.validate()
        seen["validate"] = (trainer.data.train_mx, calls[:])
        model._take(members, complete(members.trainers))
        calls.clear()
        model.score_pairs(list(itertools.permutations(range(16), 2)), TARGET)  # edges and others
        seen["predict"] = (mx, calls[:])
    return mx, seen


def edges_of(mx):
    """Return all edges (layer, u, v), undirected ones both ways."""
    edges = {(layer, u, v) for layer in range(NUM_LAYERS) for u, v in mx.edges(layer).T.tolist()}
    return edges if mx.directed else edges | {(layer, v, u) for layer, u, v in edges}


def layers_with(edges, arc):
    """Return the layers that have an edge."""
    return [layer for layer in range(NUM_LAYERS) if (layer, *arc) in edges]


def rows_of(name, where):
    """Return the row of a table that an edge, by its name, belongs to in each layer."""
    return {layer: f"{name} in {'the target layer' if layer == TARGET else where}" for layer in range(NUM_LAYERS)}


def check_encoder(calls, whole, known, hidden):
    """Compare the arcs that the encoder saw with a table {row: hidden}; return the rows that occurred.

    `whole` and `known` are the edges of the multiplex and of the graph of the phase.
    """
    occurred, rows = set(), rows_of("a link", "a drawn layer")
    for pairs, table, _, _, arcs in calls:
        for pair, layers in zip(pairs, table, strict=True):
            ways = pair, pair[::-1]
            for layer in layers:
                is_hidden = hidden[rows[layer]]
                if any(layer in layers_with(whole if is_hidden else known, arc) for arc in ways):
                    assert [(layer, *arc) in arcs for arc in ways] == [not is_hidden] * 2, (rows[layer], pair)
                    occurred.add(rows[layer])
    return occurred


def check_features(calls, graph, whole, hidden):
    """Compare features with those of `graph` without what a table {row: hidden} hides; return the rows that occurred.

    There the pair is no edge of the target, so that nothing of it is left to hide.
    """
    occurred, known = set(), edges_of(graph)
    edges = list(zip(graph.edge_layer.tolist(), *graph.edge_index.tolist(), strict=True))
    for pairs, table, own, other, _ in calls:
        for i in range(0, len(pairs), 1 + len(pairs) // 80):
            arcs = {"the edge": pairs[i], "the reverse edge": pairs[i][::-1]}
            if not graph.directed:
                del arcs["the reverse edge"]
            gone = set()
            for name, arc in arcs.items():
                for layer, row in rows_of(name, "another layer").items():
                    if layer not in layers_with(whole if hidden[row] else known, arc):
                        continue
                    occurred.add(row)
                    if hidden[row]:
                        gone |= {(layer, *arc)} if graph.directed else {(layer, *arc), (layer, *arc[::-1])}
            left = graph.keep_edges([edge not in gone for edge in edges])
            asked = torch.tensor([pairs[i]]), torch.tensor(table[i][:1]), torch.tensor([table[i][1:]])
            rest = compute_pair_features(PackedGraph.from_multiplex(left), *asked)
            found = own[i : i + 1], other.view(len(pairs), -1, other.shape[1])[i]
            for mine, theirs in zip(found, rest, strict=True):
                torch.testing.assert_close(mine, theirs.values)
    return occurred


@pytest.mark.filterwarnings("ignore:Nearly all pairs of nodes")
@pytest.mark.parametrize("who", ["features", "encoder"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("hide", "directed", "evidence"), every(5, HIDE, [False, True], EVIDENCE))
def test_what_is_hidden_of_a_pair_and_that_the_rest_is_seen(hide, directed, evidence, phase, who):
    mx, seen = watch(hide, directed, evidence)
    (graph, calls), column = seen[phase], HIDE.index(hide)
    table = FEATURES if who == "features" else ENCODER
    hidden = {row: columns[column] for row, columns in table.items()}
    if who == "features":
        occurred = check_features(calls, graph, edges_of(mx), hidden)
    else:
        occurred = check_encoder(calls, edges_of(mx), edges_of(graph), hidden)
    assert occurred == {row for row in hidden if directed or "reverse" not in row}


def apart(mx, pair, layer=None):
    """Return the multiplex without any edge between two nodes, in one layer or in all."""
    between = np.array([set(ends) == set(pair) for ends in mx.edge_index.T.tolist()])
    return mx.keep_edges(~(between & ((mx.edge_layer == layer) | (layer is None))))


@pytest.mark.parametrize(("case", "directed"), every(3, [("layer", 1), ("pair", None)], [False, True]))
def test_features_are_those_of_a_graph_without_the_pair(case, directed):
    hide, where = case
    mx = random_multiplex(3, num_edges=90, directed=directed)
    pack = PackedGraph.from_multiplex
    graph, target, layers = pack(mx), torch.tensor([1]), torch.tensor([[0, 2]])
    visibility = Visibility(hide, directed)
    linked = 0
    for pair in itertools.permutations(range(9), 2):
        asked = torch.tensor([pair])
        found = compute_pair_features(graph, asked, target, layers, visibility)
        expected = compute_pair_features(pack(apart(mx, pair, where)), asked, target, layers)
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
        views = (pack_view(each, "cpu", model.visibility) for each in (mx, apart(mx, pair)))
        seen, unseen = (score_by_layer(model, view, Query(asked, target, layers)) for view in views)
        torch.testing.assert_close(seen, unseen)


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_predictions_without_encoder_are_those_on_a_graph_without_the_pair(evidence, monkeypatch):
    forget_sizes(monkeypatch)
    mx = random_multiplex(3, num_edges=90)
    model = bx.LinkPredictor(**FAST | {"width": 0, "evidence": evidence}).fit(mx)
    for pair in itertools.combinations(range(6), 2):
        blind = model.score_pairs([pair], 1, context=apart(mx, pair))
        assert model.score_pairs([pair], 1) == pytest.approx(blind, abs=1e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_the_encoder_does_not_see_the_pair_in_any_layer_it_looks_at(directed, monkeypatch):
    """Known edges are hidden with all of the same sum of node indices; pairs are asked that are alone in that."""
    forget_sizes(monkeypatch)
    monkeypatch.setattr(prediction, "EDGE_FOLDS", 10_000)
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


@pytest.mark.parametrize("width", [0, pytest.param(8, marks=pytest.mark.slow)])
def test_a_copy_of_the_layer_gives_nothing_away(width):
    mx = random_layers(0, copied=True, features=True)
    pairs = np.array(np.triu_indices(60, 1)).T
    auc = {}
    for hide in ("layer", "pair"):
        model = bx.LinkPredictor(epochs=6, width=width, seed=0, hide=hide).fit(mx, targets=["a"])
        auc[hide] = roc_auc(mx.has_edges(pairs, "a"), model.score_pairs(pairs, "a"))
    assert auc["layer"] > 0.99
    assert abs(auc["pair"] - 0.5) < 0.08


@pytest.mark.parametrize("given", [None, "edge"])
def test_evaluation_tells_a_model_what_it_hides_unless_that_was_chosen(given, monkeypatch):
    told, fit = [], bx.LinkPredictor.fit

    def spy(model, *words, **more):
        told.append(model.hide)
        return fit(model, *words, **more)

    monkeypatch.setattr(bx.LinkPredictor, "fit", spy)
    model = bx.LinkPredictor(epochs=1, width=0, hide=given)
    mx = random_layers(0, copied=False)
    list(bx.evaluate(model, mx, hide="pair", trials=1, folds=2, engine="serial", targets=["a"]))
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
    mx = Multiplex.from_edges([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], "a", num_nodes=4)
    with refuses("hide", *HIDE, "'node'"):
        bx.LinkPredictor(hide="node").fit(mx, targets=["a"])
    told = pytest.warns(UserWarning, match="in their own layer")
    with told, refuses(1, "layer 'a'", 0):
        bx.LinkPredictor(**FAST, validation=0).fit(mx, targets=["a"])


@pytest.mark.parametrize(
    ("hide", "directed", "keys"),
    [
        ("edge", False, [0, 0, 1, 2]),  # (0, 1) and (1, 0) in layer 0, (0, 1) in layer 1, (2, 1) in layer 1
        ("edge", True, [0, 1, 2, 3]),
        ("layer", True, [0, 0, 1, 2]),
        ("pair", True, [0, 0, 0, 1]),
        ("pair", False, [0, 0, 0, 1]),
    ],
)
def test_pairs_that_are_hidden_together_have_the_same_key(hide, directed, keys):
    layer, pairs = np.array([0, 0, 1, 1]), np.array([[0, 1], [1, 0], [0, 1], [2, 1]])
    found = Visibility(hide, directed).keys(layer, pairs, 3)
    assert [found.tolist().index(key) for key in found] == [keys.index(key) for key in keys]


@pytest.mark.parametrize(("hide", "columns"), [("edge", 1), ("layer", 1), ("pair", 3)])
def test_the_encoder_sees_a_pair_in_drawn_layers_unless_it_is_hidden_everywhere(hide, columns):
    table = np.array([[1, 0, 2], [1, 0, 2]])
    assert Visibility(hide).hidden_layers(table).tolist() == table[:, :columns].tolist()


@pytest.mark.parametrize(
    ("hide", "directed", "together"),
    [
        ("edge", False, False), ("edge", True, False), ("layer", False, False), ("layer", True, True),
        ("pair", False, True), ("pair", True, True),
    ],
)  # fmt: skip
def test_edges_that_are_hidden_together(hide, directed, together):
    assert Visibility(hide, directed).hides_together == together
