"""The packed graph and pair features against plain loops and networkx on small graphs."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import torch

from banditplex.backend import find_common
from banditplex.multiplex import Multiplex
from banditplex.nn import HiddenEdges, PackedGraph, compute_pair_features, pair_features


def random_multiplex(seed=0, num_nodes=12, num_layers=3, num_edges=40, directed=False, weighted=False):
    rng = np.random.default_rng(seed)
    source, destination = rng.integers(0, num_nodes - 1, (2, num_edges))  # the last node has no edge at all
    return Multiplex.from_edges(
        source, destination, rng.integers(0, num_layers, num_edges), num_nodes=num_nodes, directed=directed,
        layer_names=range(num_layers), weight=rng.random(num_edges) if weighted else None, duplicates="max",
    )  # fmt: skip


def own_features(graph, pairs, target):
    return compute_pair_features(graph, pairs, target, torch.zeros(len(pairs), 0, dtype=torch.long))[0]


def other_features(graph, pairs, layer, target):
    return compute_pair_features(graph, pairs, target, layer.unsqueeze(1))[1]


def as_networkx(mx, layer):
    graph = nx.DiGraph() if mx.directed else nx.Graph()
    graph.add_nodes_from(range(mx.num_nodes))
    graph.add_edges_from((u, v) for u, v in mx.edges(layer).T.tolist() if u != v)
    return graph


def all_questions(mx):
    pairs = [(u, v) for u in range(mx.num_nodes) for v in range(mx.num_nodes) if u != v]
    pairs, layers = zip(*itertools.product(pairs, range(mx.num_layers)), strict=True)
    return torch.tensor(pairs), torch.tensor(layers)


@pytest.mark.parametrize("directed", [False, True])
def test_edges_and_degrees_are_those_of_networkx(directed):
    mx = random_multiplex(directed=directed)
    graph = PackedGraph.from_multiplex(mx)
    pairs, layers = all_questions(mx)
    plain = [as_networkx(mx, layer) for layer in range(mx.num_layers)]
    expected = [plain[layer].has_edge(u, v) for (u, v), layer in zip(pairs.tolist(), layers.tolist(), strict=True)]
    assert graph.has_edge(pairs, layers).tolist() == expected
    for lists, degree in ((graph.out, "out_degree"), (graph.into, "in_degree")) if directed else ():
        found = lists.row_degree[lists.rows(layers, pairs[:, 0])].tolist()
        questions = zip(pairs.tolist(), layers.tolist(), strict=True)
        assert found == [getattr(plain[layer], degree)(u) for (u, _), layer in questions]


def test_rows_are_those_of_a_plain_loop_whether_keys_are_listed_or_searched_for():
    mx = Multiplex.from_edges([0, 2, 5], [2, 3, 0], ["a", "a", "c"], num_nodes=7, layer_names=["a", "b", "c", "d"])
    lists = PackedGraph.from_multiplex(mx).both
    keys = lists.row_key.tolist()
    layer, node = (torch.tensor(each) for each in zip(*itertools.product(range(4), range(7)), strict=True))
    expected = [keys.index(key) if key in keys else len(keys) - 1 for key in (layer * 7 + node).tolist()]
    assert keys[:-1] == [0, 2, 3, 14, 19]
    assert lists.rows(layer, node).tolist() == expected  # 28 keys, of which 20 are up to the largest
    for number in range(28):  # one key is not a 16th of 20
        assert lists.rows(layer[number : number + 1], node[number : number + 1]).tolist() == [expected[number]]


@pytest.mark.parametrize("directed", [False, True])
def test_features_list_common_neighbours_and_their_degrees(directed):
    mx = random_multiplex(directed=directed)
    graph, plain = PackedGraph.from_multiplex(mx), [as_networkx(mx, layer).to_undirected() for layer in range(3)]
    pairs, layers = all_questions(mx)
    own = own_features(graph, pairs, layers)
    found = pair_features.with_lists(graph, own.values, pairs, layers, own.row)
    other = pair_features.other_features(graph, pairs, own.row, layers.unsqueeze(1), listed=True)
    for field in ("which", "arc", "degree"):
        assert torch.equal(getattr(other, field), getattr(found, field))
    node = graph.both.neighbour[found.arc]
    expected = [
        (at, w, plain[layer].degree(w))
        for at, ((u, v), layer) in enumerate(zip(pairs.tolist(), layers.tolist(), strict=True))
        for w in sorted(nx.common_neighbors(plain[layer], u, v))
    ]
    listed = zip(found.which.tolist(), node.tolist(), found.degree.tolist(), strict=True)
    assert sorted(listed) == expected
    assert len(expected) > 50
    nobody = torch.zeros(len(pairs), 1, dtype=torch.long)
    for each in compute_pair_features(graph, pairs, layers, nobody):
        assert (len(each.which), len(each.arc), len(each.degree)) == (0, 0, 0)


def test_common_neighbours_are_those_of_networkx_also_across_layers():
    mx = random_multiplex(1)
    graph = PackedGraph.from_multiplex(mx)
    pairs, layers = all_questions(mx)
    plain = [as_networkx(mx, layer) for layer in range(mx.num_layers)]
    lists = graph.both
    for shift in range(mx.num_layers):
        second = (layers + shift) % mx.num_layers
        which, arc, other = find_common(lists, lists.rows(layers, pairs[:, 0]), lists.rows(second, pairs[:, 1]))
        assert torch.equal(lists.neighbour[arc], lists.neighbour[other])
        found = [set() for _ in pairs]
        for i, node in zip(which.tolist(), lists.neighbour[arc].tolist(), strict=True):
            found[i].add(node)
        for i, ((u, v), a, b) in enumerate(zip(pairs.tolist(), layers.tolist(), second.tolist(), strict=True)):
            assert found[i] == set(plain[a][u]) & set(plain[b][v])


def slow_own(graph, u, v):
    """The seven numbers of a pair whose own edge has been taken out."""
    graph = graph.copy()
    graph.remove_edges_from([(u, v), (v, u)] if graph.has_edge(u, v) else [])
    common = set(graph[u]) & set(graph[v])
    low, high = sorted([math.log1p(graph.degree(u)), math.log1p(graph.degree(v))])
    return [
        math.log1p(len(common)),
        math.log1p(sum(1 / math.log(graph.degree(w)) for w in common)),
        math.sqrt(sum(1 / graph.degree(w) for w in common)),
        low,
        high,
        len(common) / max(1, len(set(graph[u]) | set(graph[v]))),
        low * high,
    ]


def test_own_features_are_those_of_the_graph_without_the_pair():
    mx = random_multiplex(2)
    pairs, layers = all_questions(mx)
    plain = [as_networkx(mx, layer) for layer in range(mx.num_layers)]
    questions = zip(pairs.tolist(), layers.tolist(), strict=True)
    expected = [slow_own(plain[layer], u, v) for (u, v), layer in questions]
    found = own_features(PackedGraph.from_multiplex(mx), pairs, layers).values
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_adamic_adar_and_resource_allocation_are_those_of_networkx():
    mx = random_multiplex(3, num_layers=1)
    graph = as_networkx(mx, 0)
    pairs, layers = all_questions(mx)
    found = own_features(PackedGraph.from_multiplex(mx), pairs, layers).values
    adamic = [score for *_, score in nx.adamic_adar_index(graph, pairs.tolist())]
    allocation = [score for *_, score in nx.resource_allocation_index(graph, pairs.tolist())]
    np.testing.assert_allclose(found[:, 1], np.log1p(adamic), rtol=1e-5)
    np.testing.assert_allclose(found[:, 2], np.sqrt(allocation), rtol=1e-5)


def test_other_features_see_the_edge_and_paths_through_both_layers():
    # target 0: 0-1, 1-3, 0-4        layer 1: 0-2, 1-2, 0-3, 3-4, 0-1
    mx = Multiplex.from_edges([0, 1, 0, 0, 1, 0, 3, 0], [1, 3, 4, 2, 2, 3, 4, 1], [0, 0, 0, 1, 1, 1, 1, 1], num_nodes=5)
    pair = torch.tensor([[0, 1]])
    values = other_features(PackedGraph.from_multiplex(mx), pair, torch.tensor([1]), torch.tensor([0])).values[0]
    degree_0, degree_1 = 3, 2  # in layer 1, the pair's own edge included
    assert values[0].item() == pytest.approx(math.log1p(1))  # node 2
    assert values[1].item() == pytest.approx(math.log1p(1 / math.log(2)))
    assert values[3].item() == pytest.approx(math.log1p(degree_1))
    assert values[4].item() == pytest.approx(math.log1p(degree_0))
    assert values[7].item() == 1  # the pair is an edge of layer 1
    # 0 -layer 1- 3 -target- 1; node 4 is next to 0 in the target, but not next to 1 in layer 1. Degrees of 3: 1 and 2.
    assert values[8].item() == pytest.approx(math.log1p(1))
    assert values[10].item() == pytest.approx(math.sqrt(1 / math.sqrt(1 * 2)))


def test_directed_features_see_the_reverse_arc_but_not_the_pair():
    # 0 -> 1, 1 -> 0, 0 -> 2, 2 -> 1, 3 -> 1
    mx = Multiplex.from_edges([0, 1, 0, 2, 3], [1, 0, 2, 1, 1], [0] * 5, num_nodes=4, directed=True)
    values = own_features(PackedGraph.from_multiplex(mx), torch.tensor([[0, 1], [2, 1]]), torch.tensor([0, 0])).values
    assert values[:, 7].tolist() == [1, 0]  # reverse arc
    assert values[:, 8].tolist() == pytest.approx([math.log1p(1), 0])  # 0 -> 2 -> 1
    assert values[:, 9].tolist() == pytest.approx([math.log1p(1), 0])  # out-degree without the pair: 0 -> 2; none
    assert values[:, 10].tolist() == pytest.approx([math.log1p(2), math.log1p(2)])  # in-degree of 1: 2, 3; 0, 3
    assert values[0, 3].item() == pytest.approx(math.log1p(2))  # node 0 keeps its neighbour 1: 1 -> 0 is there


def test_block_has_exactly_the_visible_edges_of_the_layers_asked_for():
    mx = random_multiplex(4, weighted=True)
    graph = PackedGraph.from_multiplex(mx)
    u, v = next((u, v) for u, v in mx.edges(2).T.tolist() if u != v)
    hidden = HiddenEdges(torch.tensor([[u, v]]), torch.tensor([2]))
    lonely = mx.num_nodes - 1
    block = graph.block(torch.tensor([2, 0, 0]), torch.tensor([u, lonely, 0]), hidden)
    key = block.key[block.edge_index]
    arcs = {
        (int(a) // mx.num_nodes, int(a) % mx.num_nodes, int(b) % mx.num_nodes): float(w)
        for a, b, w in zip(*key, block.weight, strict=True)
    }
    expected = {}
    for layer in (0, 2):
        for (a, b), weight in zip(mx.edges(layer).T.tolist(), mx.weights(layer).tolist(), strict=True):
            if a != b and (layer, a, b) != (2, u, v):
                expected[layer, a, b] = expected[layer, b, a] = weight
    assert arcs == pytest.approx(expected)
    assert block.key[block.vertex(torch.tensor([0]), torch.tensor([lonely]))].item() == lonely


def test_an_empty_graph_answers_all_questions():
    mx = Multiplex.from_edges([0], [0], [0], num_nodes=3, layer_names=[0, 1])
    graph = PackedGraph.from_multiplex(mx)
    pairs = torch.tensor([[0, 1], [1, 2]])
    assert own_features(graph, pairs, torch.tensor([0, 1])).values.abs().sum() == 0
    assert graph.has_edge(pairs, torch.tensor([1, 1])).tolist() == [False, False]


@pytest.mark.parametrize("directed", [False, True])
def test_the_graph_of_some_layers_says_the_same_about_them(directed):
    mx = random_multiplex(9, num_layers=5, num_edges=120, directed=directed, weighted=True)
    graph = PackedGraph.from_multiplex(mx)
    part = graph.only(torch.tensor([1, 4]))
    pairs, _ = all_questions(mx)
    target, layers = torch.full((len(pairs),), 4), torch.full((len(pairs), 1), 1)
    asked = pairs, target, layers
    both = compute_pair_features(graph, *asked), compute_pair_features(part, *asked)
    for whole, some in zip(*both, strict=True):
        assert torch.equal(whole.values, some.values)
    asked = torch.tensor([1, 4]), torch.tensor([0, 0]), HiddenEdges(pairs[:5], target[:5])
    a, b = graph.block(*asked), part.block(*asked)
    assert torch.equal(a.key, b.key)
    assert torch.equal(a.edge_index, b.edge_index)
    assert torch.equal(a.weight, b.weight)
    assert not part.has_edge(pairs, torch.zeros(len(pairs), dtype=torch.long)).any()
