"""Hidden edges: in their layers and, if no other layer shows them, in the union of all layers."""

import itertools

import numpy as np
import pytest
import torch

from banditplex.nn import HiddenEdges, PackedGraph, compute_pair_features
from banditplex.nn import neighbour_sampling as sampling
from banditplex.nn.hidden_edges import hide_in_union, hide_pairs
from banditplex.nn.scoring import score
from tests.nn.test_graph import as_networkx, random_multiplex
from tests.nn.test_model import make_model, without


def pack(mx):
    """Return the packed graph of a multiplex, its union as the last layer."""
    return PackedGraph.from_multiplex(mx, union=True)


def arcs_of(graph, layer):
    """Return the arcs of a layer of a packed graph with their weights, by a loop over rows."""
    lists, found = graph.out, {}
    for row in range(lists.missing):
        where, node = divmod(lists.row_key[row].item(), graph.num_nodes)
        if where == layer:
            for arc in range(lists.indptr[row], lists.indptr[row + 1]):
                weight = 1.0 if lists.weight is None else lists.weight[arc].item()
                found[node, lists.neighbour[arc].item()] = weight
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_union_has_every_edge_once_and_sums_of_weights(directed, weighted):
    mx = random_multiplex(2, directed=directed, weighted=weighted)
    total = {}
    for layer in mx.layer_names:
        for (u, v), weight in zip(mx.edges(layer).T.tolist(), mx.weights(layer).tolist(), strict=True):
            for arc in {(u, v)} if directed else {(u, v), (v, u)}:
                if u != v:
                    total[arc] = total.get(arc, 0) + weight
    graph = pack(mx)
    assert (graph.num_layers, graph.union) == (mx.num_layers + 1, True)
    assert arcs_of(graph, mx.num_layers) == pytest.approx(total if weighted else dict.fromkeys(total, 1))
    plain = PackedGraph.from_multiplex(mx)
    assert all(arcs_of(graph, layer) == arcs_of(plain, layer) for layer in range(mx.num_layers))


def test_pairs_are_hidden_in_each_of_their_layers_in_memory_that_can_be_searched():
    table = torch.tensor([[5, 6, 0], [5, 7, 0]])
    for columns, layer in ((3, [5, 6, 0, 5, 7, 0]), (2, [5, 6, 5, 7]), (1, [5, 5]), (0, [])):
        hidden = hide_pairs(torch.tensor([[0, 1], [2, 3]]), table[:, :columns])
        assert hidden.pairs.tolist() == [[0, 1]] * columns + [[2, 3]] * columns
        assert hidden.layer.tolist() == layer
        assert hidden.layer.is_contiguous()  # torch.searchsorted warns otherwise


@pytest.mark.parametrize("directed", [False, True])
def test_features_in_the_union_are_those_of_a_graph_without_the_pairs_own_edge(directed):
    mx = random_multiplex(3, num_edges=70, directed=directed)
    graph = pack(mx)
    for target, pair in itertools.product(range(3), itertools.permutations(range(8), 2)):
        asked, where = torch.tensor([pair]), (torch.tensor([target]), torch.tensor([[3]]))
        rest = without(mx, target, pair if directed else sorted(pair))
        blind = pack(rest)
        expected = compute_pair_features(blind, asked, *where)[1].values
        torch.testing.assert_close(compute_pair_features(graph, asked, *where)[1].values, expected)
        elsewhere = any(as_networkx(mx, layer).has_edge(*pair) for layer in range(3) if layer != target)
        assert blind.has_edge(asked, torch.tensor([3])).item() == elsewhere


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("whole", [0, 4096])
def test_scores_from_the_union_are_those_of_a_graph_without_the_pairs_own_edge(directed, whole, monkeypatch):
    monkeypatch.setattr(sampling, "WHOLE", whole)
    mx = random_multiplex(5, num_edges=60, directed=directed)
    model, graph = make_model(mx, conv="gcn", union=True), pack(mx)
    edges = mx.edges(1).T.tolist()
    target, layers = torch.tensor([1]), torch.tensor([[3, 0]])
    for pair in [pair for pair in edges if pair[0] != pair[1] and pair[::-1] not in edges]:
        asked = torch.tensor([pair])
        seen = model(graph, None, asked, target, layers, hide_in_union(graph, HiddenEdges(asked, target))[1])
        unseen = model(pack(without(mx, 1, pair)), None, asked, target, layers, HiddenEdges(asked[:0], target[:0]))
        torch.testing.assert_close(seen.total, unseen.total)


@pytest.mark.parametrize("directed", [False, True])
def test_what_is_hidden_in_all_layers_that_have_it_is_hidden_in_the_union(directed):
    """Some pairs are no edges of the layers that they are hidden in, as negatives are; some are hidden twice."""
    mx = random_multiplex(3, num_edges=70, directed=directed)
    graph = pack(mx)
    edges = [{frozenset(pair) for pair in mx.edges(layer).T.tolist()} for layer in range(3)]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pairs, layer = np.array(list(itertools.permutations(range(8), 2)) * 3), np.repeat(range(3), 56)
        at = rng.random(len(pairs)) < 0.5
        hidden = HiddenEdges(torch.from_numpy(pairs[at]), torch.from_numpy(layer[at]))
        asked = {(frozenset(pair), where) for pair, where in zip(pairs[at].tolist(), layer[at].tolist(), strict=True)}
        expected = [
            set(pair)
            for pair in map(frozenset, itertools.combinations(range(8), 2))
            if any(pair in each for each in edges)
            and all((pair, where) in asked for where in range(3) if pair in edges[where])
        ]
        result, where = hide_in_union(graph, hidden)[1]
        assert torch.equal(result[: at.sum()], hidden.pairs)
        assert torch.equal(where[: at.sum()], hidden.layer)
        assert set(where[at.sum() :].tolist()) == {3}
        found = [set(pair) for pair in result[at.sum() :].tolist()]
        assert len(found) == len(expected) > 0
        assert all(pair in found for pair in expected)


@pytest.mark.parametrize("directed", [False, True])
def test_weights_of_hidden_edges_are_no_part_of_those_of_the_union(directed):
    mx = random_multiplex(5, num_edges=90, directed=directed, weighted=True)
    model, graph = make_model(mx, conv="gcn", union=True), pack(mx)
    edges = mx.edges(1).T.tolist()
    target, layers = torch.tensor([1]), torch.tensor([[3]])
    edges = [pair for pair in edges if pair[0] != pair[1] and pair[::-1] not in edges]
    assert mx.has_edges(np.array(edges), 0).any()
    for pair in edges:
        asked = torch.tensor([pair])
        seen = score(model, graph, None, asked, target, layers, HiddenEdges(asked, target))
        nothing = HiddenEdges(asked[:0], target[:0])
        unseen = score(model, pack(without(mx, 1, pair)), None, asked, target, layers, nothing)
        torch.testing.assert_close(seen, unseen)
