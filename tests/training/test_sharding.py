"""Layers divided over processes: what is fetched is what the whole graph has; parts of draws are those of the whole.

What several processes do together is tested in `test_distributed.py`. Here one process asks itself.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from banditplex.multiplex import Multiplex
from banditplex.nn import compute_pair_features
from banditplex.nn.elsewhere import bring_near
from banditplex.nn.evidence import pack
from banditplex.nn.graph import PackedGraph
from banditplex.nn.hidden_edges import hide_pairs
from banditplex.nn.known import Known, lists_of
from banditplex.nn.packing import EdgeTensors
from banditplex.pairs.visibility import HIDE, Visibility
from banditplex.predictor import LinkPredictor
from banditplex.training.batches import TargetEdges, plan_epoch
from banditplex.training.config import Config
from banditplex.training.data import divide, edges_of
from banditplex.training.distributed import ALONE, Group
from banditplex.training.negatives import DeviceNegatives, Part
from banditplex.training.setup import build_network
from banditplex.training.sharding import Shard, deal_layers
from tests.nn.test_graph import all_questions, random_multiplex
from tests.refusals import refuses

CPU = torch.device("cpu")


def asking_itself(mx):
    """The way to layers elsewhere, of a process that holds all layers."""
    return Shard.of(mx, np.arange(mx.num_layers), ALONE, CPU)


# What is fetched


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_features_of_fetched_rows_are_those_of_the_graph(directed, weighted):
    mx = random_multiplex(3, directed=directed, weighted=weighted)
    visibility = Visibility(directed=directed, weighted=weighted)
    graph, (pairs, target) = PackedGraph.from_multiplex(mx), all_questions(mx)
    some = torch.arange(0, len(pairs), 7)
    pairs, target = pairs[some], target[some]
    layers = torch.stack([(target + 1) % 3, (target + 2) % 3], 1)
    key = torch.unique(torch.cat([target.unsqueeze(1), layers], 1).unsqueeze(2) * mx.num_nodes + pairs.unsqueeze(1))
    near = asking_itself(mx).fetch(graph, key)
    for found, expected in zip(
        *(compute_pair_features(each, pairs, target, layers, visibility) for each in (near, graph)), strict=True
    ):
        assert torch.equal(found.values, expected.values)
        assert torch.equal(near.both.neighbour[found.arc], graph.both.neighbour[expected.arc])
    assert torch.equal(near.has_edge(pairs, layers[:, 0]), graph.has_edge(pairs, layers[:, 0]))


def test_a_fetched_graph_has_the_rows_asked_for_and_no_others():
    mx = random_multiplex(0)
    graph = PackedGraph.from_multiplex(mx)
    asked = torch.tensor([2, 5, 11, 12 + 3])  # nodes 2, 5, 11 of layer 0, of which the last has no edge; 3 of layer 1
    near = asking_itself(mx).fetch(graph, asked)
    neighbours = [{*mx.edges(layer)[:, (mx.edges(layer) == node).any(0)].ravel().tolist()} - {node}
                  for layer, node in ((0, 2), (0, 5), (1, 3))]  # fmt: skip
    assert near.both.row_key[:-1].tolist() == [2, 5, 12 + 3]
    assert [{*part.tolist()} for part in torch.split(near.both.neighbour[:-1], near.both.row_degree[:-1].tolist())] == (
        neighbours
    )
    assert torch.diff(near.layer_rows).tolist() == [2, 1, 0]
    assert near.elsewhere is None
    assert near.origin is graph


@pytest.mark.parametrize("directed", [False, True])
def test_lists_and_rows_of_known_pairs_are_those_of_the_graph(directed):
    mx, visibility = random_multiplex(5, directed=directed), Visibility(directed=directed, evidence=True)
    graph = pack(mx, CPU, visibility)
    apart = PackedGraph.from_edges(EdgeTensors.of(mx, CPU), union=True, elsewhere=asking_itself(mx))
    apart = type(graph)(**vars_of(apart) | {"evidence": graph.evidence})
    pairs, target = all_questions(mx)
    found, expected = (lists_of(each, pairs, target) for each in (apart, graph))
    assert torch.equal(found.start, expected.start)
    assert torch.equal(found.places, expected.places)
    layers = ((target + 1) % 3).unsqueeze(1)
    near, known = bring_near(apart, pairs, target, layers, None, visibility)
    assert torch.equal(known.values, Known.of(graph, pairs, target, visibility).values)
    keys = target.repeat(2) * mx.num_nodes + pairs.T.reshape(-1)
    there = near.both.row_key[known.row.reshape(-1)]
    assert torch.equal(there == keys, graph.both.row_degree[graph.both.rows(target.repeat(2), pairs.T.flatten())] > 0)


def vars_of(graph):
    """The fields of a graph."""
    return {name: getattr(graph, name) for name in graph.__dataclass_fields__}


@pytest.mark.parametrize("conv", ["sage", "gcn"])
def test_embeddings_from_elsewhere_and_their_gradients_are_those_of_the_graph(conv):
    mx, visibility = random_multiplex(2), Visibility()
    pairs, target = all_questions(mx)
    pairs, target = pairs[::5], target[::5]
    layers = ((target + 1) % 3).unsqueeze(1)
    hidden = hide_pairs(pairs, target.unsqueeze(1))
    torch.manual_seed(0)
    model = build_network(mx, Config(width=4, conv=conv, evidence="drawn").checked(), visibility)
    for weight in model.parameters():
        torch.nn.init.normal_(weight)
    whole = PackedGraph.from_multiplex(mx)
    apart = PackedGraph.from_edges(EdgeTensors.of(mx, CPU), elsewhere=asking_itself(mx))
    results = []
    for graph in (whole, apart):
        near, known = bring_near(graph, pairs, target, layers, None, visibility)
        logits = model(near, None, pairs, target, layers, hidden, known=known).total
        gradients = torch.autograd.grad(logits.square().mean(), [*model.parameters()], allow_unused=True)
        results.append([logits, *(each for each in gradients if each is not None)])
    assert len(results[0]) > 10
    torch.testing.assert_close(results[1], results[0])


# Parts of what is drawn and planned


@pytest.mark.parametrize("size", [1, 2, 3])
def test_targets_and_other_layers_are_dealt_out_alike(size):
    edges = np.random.default_rng(0).integers(1, 1000, 40)
    targets = np.arange(0, 40, 3)
    owner = deal_layers(edges, targets, Group(0, size))
    for some in (targets, np.setdiff1d(np.arange(40), targets)):
        load = np.bincount(owner[some], edges[some], size)
        assert load.max() - load.min() <= edges.max()


def test_the_parts_of_a_plan_are_the_plan():
    size, held = np.array([100, 7, 1, 0, 64]), np.array([True, False, True, True, False])
    instance = np.repeat(np.arange(5), size)
    plan = plan_epoch(size, batch_edges=16, targets_per_step=2, rng=np.random.default_rng(0))
    order, row = plan.edges(CPU)
    parts = [(plan.edges(CPU, mine), [*plan.steps(mine)], mine) for mine in (held, ~held)]
    for step, (edges, targets) in enumerate(plan.steps()):
        expected = sorted(zip(order[edges].tolist(), row[edges].tolist(), strict=True))
        found = []
        for (some, of_step), steps, mine in parts:
            here = TargetEdges(size, torch.from_numpy(instance[mine[instance]]), torch.zeros(1), mine).places()
            at, same = steps[step]
            assert same.tolist() == targets.tolist()
            found += zip(here[some[at]].tolist(), of_step[at].tolist(), strict=True)
        assert sorted(found) == expected
        assert plan.num_pairs[step] == 2 * len(expected)


@pytest.mark.parametrize("hide", HIDE)
def test_a_part_of_the_negatives_is_a_part_of_the_whole_draw(hide):
    mx = random_multiplex(4, num_edges=120, num_nodes=16)
    layer = torch.arange(3).repeat_interleave(200)
    host = lambda: pytest.fail("drawn on the host")  # noqa: E731
    whole = DeviceNegatives(EdgeTensors.of(mx, "cpu"), Visibility(hide), host, only_host=False)
    expected = whole.draw_tensor(layer, np.random.default_rng(0))
    mine = np.array([True, False, True])
    edges = [EdgeTensors.of(mx, "cpu", each) for each in (mine, ~mine)]
    keys = torch.cat([each.source * 16 + each.destination for each in edges])  # of all processes
    for some, here in zip(edges, (mine, ~mine), strict=True):
        part = DeviceNegatives(some, Visibility(hide), host, only_host=False, join=lambda _: keys)
        place = torch.from_numpy(np.flatnonzero(here[layer.numpy()]))
        found = part.draw_tensor(layer[place], np.random.default_rng(0), Part(place, len(layer)))
        assert torch.equal(found, expected[place])


@pytest.mark.parametrize("hide", HIDE)
def test_validation_edges_of_parts_are_those_of_the_whole(hide):
    mx = random_multiplex(1, num_edges=200, num_nodes=20)
    targets, mine = np.arange(3), np.array([True, False, True])
    whole = edges_of(EdgeTensors.of(mx, "cpu"), targets)[0]
    at = divide(whole, 0.2, Visibility(hide), 20, np.random.default_rng(0))
    expected = sorted(zip(whole.instance[at].tolist(), whole.pairs[at].tolist(), strict=True))
    assert len(expected) > 10
    parts = [edges_of(EdgeTensors.of(mx, "cpu", each), targets)[0] for each in (mine, ~mine)]
    keys = torch.cat([torch.unique(each.pairs[:, 0] * 20 + each.pairs[:, 1]) for each in parts])
    found = []
    for part, here in zip(parts, (mine, ~mine), strict=True):
        counted = TargetEdges(whole.size, part.instance, part.pairs, here)
        joins = iter([lambda _: keys, lambda lost: lost])  # of all pairs; then of those that a target cannot miss
        join = (lambda values, joins=joins: next(joins)(values)) if hide == "pair" else lambda values: values
        at = divide(counted, 0.2, Visibility(hide), 20, np.random.default_rng(0), join)
        found += zip(part.instance[at].tolist(), part.pairs[at].tolist(), strict=True)
    assert sorted(found) == expected


def test_negatives_that_are_drawn_on_the_host_are_refused():
    pairs = np.array(np.triu_indices(9, 1))  # layer "b" has all pairs but one
    mx = Multiplex.from_edges(*np.concatenate([pairs[:, :3], pairs[:, 1:]], 1), np.repeat(["a", "b"], [3, 35]))
    shard = replace(asking_itself(mx), layers=np.ones(2, np.bool_))
    for only_host, said in ((True, ()), (False, ("'b'", 16))):
        negatives = DeviceNegatives(EdgeTensors.of(mx, "cpu"), Visibility(), lambda: None, only_host=only_host)
        with refuses("shard_layers", *said):
            shard.draw(negatives, np.arange(2), np.zeros(5, int), np.random.default_rng(0))


# One process


def test_one_process_says_so_and_holds_all_layers():
    mx = random_multiplex(0, num_edges=80)
    with pytest.warns(UserWarning, match="one process"):
        model = LinkPredictor(epochs=2, width=0, shard_layers=True).fit(mx)
    same = LinkPredictor(epochs=2, width=0).fit(mx)
    assert model._trainer.data.held is None
    assert model.history_.equals(same.history_)
