"""Paths of length 3 against plain loops: from tables, and enumerated."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch

from banditplex.backend import choice, walks
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, paths
from banditplex.nn.paths import Paths
from tests.nn.test_graph import all_questions, as_networkx, random_multiplex

WAYS = [(how, table, dense) for how in ("compiled", "torch") for table in (1 << 20, 0, 250) for dense in (0.25, 2.0)]


@pytest.fixture(params=[way for way in WAYS if way[1] or way[2] == 0.25], ids=lambda way: "-".join(map(str, way)))
def way(request, monkeypatch):
    """Count by tables, by enumeration, or by tables in some layers only; in dense layers by matrices, or in none."""
    how, table, dense = request.param
    monkeypatch.setattr(paths, "TABLE", table)
    monkeypatch.setattr(walks, "DENSE", dense)
    if how == "torch":
        monkeypatch.setattr(choice, "NUMBA", False)


@pytest.fixture(params=["compiled", "torch"])
def enumerated(request, monkeypatch):
    """Enumerate all paths, by compiled loops or by torch."""
    monkeypatch.setattr(paths, "TABLE", 0)
    if request.param == "torch":
        monkeypatch.setattr(choice, "NUMBA", False)


def plain_paths(graph, u, v):
    """Return number and weight of all u - w - x - v that do not use an edge between u and v."""
    count, weight = 0, 0.0
    for w in graph[u]:
        for x in graph[w]:
            if w != v and x != u and graph.has_edge(x, v):
                count += 1
                weight += (graph.degree(w) * graph.degree(x)) ** -0.5
    return count, weight


def found_paths(mx, pairs, layers):
    graph = PackedGraph.from_multiplex(mx)
    row = graph.both.rows(layers.repeat(2), pairs.T.reshape(-1)).view(2, -1)
    return Paths.of(graph).between(pairs, layers, row).numpy()


def graph_of(edges, num_nodes):
    return Multiplex.from_edges(*np.array(edges).T, [0] * len(edges), num_nodes=num_nodes)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("directed", [False, True])
def test_paths_are_those_of_a_plain_loop(directed):
    for seed, num_edges in ((0, 25), (1, 60), (2, 150)):
        mx = random_multiplex(seed, num_edges=num_edges, num_layers=4, directed=directed)
        graphs = [as_networkx(mx, layer).to_undirected() for layer in range(4)]
        pairs, layers = all_questions(mx)
        questions = zip(pairs.tolist(), layers.tolist(), strict=True)
        expected = [plain_paths(graphs[layer], *pair) for pair, layer in questions]
        np.testing.assert_allclose(found_paths(mx, pairs, layers), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("way")
def test_paths_are_the_simple_paths_of_networkx():
    graph = nx.gnm_random_graph(11, 25, seed=3)
    for u, v in list(itertools.combinations(range(11), 2))[::3]:
        less = nx.Graph([edge for edge in graph.edges if set(edge) != {u, v}])
        less.add_nodes_from(graph)
        expected = sum(len(path) == 4 for path in nx.all_simple_paths(less, u, v, cutoff=3))
        pair, layer = torch.tensor([[u, v]]), torch.tensor([0])
        assert found_paths(graph_of(list(graph.edges), 11), pair, layer)[0, 0] == pytest.approx(expected, abs=1e-4)


def test_layers_of_very_different_sizes_are_not_padded_to_the_largest(monkeypatch):
    monkeypatch.setattr(walks, "GROUP_ENTRIES", 1 << 10)
    size = torch.tensor([0, 1, 2, 3, 3, 3, 4, 20, 25, 30, 30, 31, 100])
    groups = walks._groups(torch.arange(len(size)), size)
    assert torch.cat(groups).tolist() == list(range(len(size)))  # each layer once, in order
    for group in groups:
        padded = len(group) * int(size[group].max()) ** 2
        assert padded <= 2 * (1 << 10) or len(group) == 1


def star_with(extra):
    """Nodes 0 and 1, joined by 0 - w - x - 1 for 40 pairs of further nodes; then more edges."""
    rungs = [[(0, 2 + 2 * i), (2 + 2 * i, 3 + 2 * i), (3 + 2 * i, 1)] for i in range(40)]
    return graph_of(list(itertools.chain.from_iterable(rungs)) + extra, 100)


@pytest.mark.usefixtures("enumerated")
@pytest.mark.parametrize(("cap", "off"), [(58, 0), (8, 58 / 8)])
def test_an_enumeration_is_exact_up_to_the_cap_and_near_beyond(monkeypatch, cap, off):
    """Each of 0's 40 neighbours w has one neighbour besides 0, which is next to 1: 40 paths, each of weight 1 / 2.

    18 more neighbours of 0 and 1 are on no path of length 3. Of 8 visited ones, evenly spaced, each stands for 58 / 8.
    """
    monkeypatch.setattr(walks, "CAP", cap)
    mx = star_with([(end, 82 + i) for i in range(18) for end in (0, 1)])
    count, weight = found_paths(mx, torch.tensor([[0, 1]]), torch.tensor([0]))[0]
    assert count == pytest.approx(40, abs=off + 1e-4)
    assert weight == pytest.approx(count / 2)


@pytest.mark.usefixtures("enumerated")
@pytest.mark.parametrize("leaves", [60, 200])
def test_paths_over_a_hub(leaves):
    """0 - hub - x - 1 for three x: the hub has 0, the leaves and x as neighbours, fewer or more than 32 times three."""
    hub, between = 2, (3, 4, 5)
    edges = [(0, hub), *((hub, x) for x in between), *((x, 1) for x in between), *((hub, 6 + i) for i in range(leaves))]
    mx = graph_of(edges, 6 + leaves)
    found = found_paths(mx, torch.tensor([[0, 1]]), torch.tensor([0]))[0]
    assert found == pytest.approx((3, 3 * (2 * (4 + leaves)) ** -0.5))


@pytest.mark.usefixtures("enumerated")
@pytest.mark.parametrize("cap", [2, 3, 32])
def test_the_edge_of_a_pair_does_not_change_which_neighbours_are_visited(monkeypatch, cap):
    monkeypatch.setattr(walks, "CAP", cap)
    graph = nx.gnm_random_graph(25, 110, seed=4)
    layer = torch.tensor([0])
    for edge in list(graph.edges)[::4]:
        pair = torch.tensor([edge])
        less = graph_of([other for other in graph.edges if other != edge], 25)
        seen, unseen = (found_paths(mx, pair, layer) for mx in (graph_of(list(graph.edges), 25), less))
        np.testing.assert_array_equal(seen, unseen)


@pytest.mark.usefixtures("way")
def test_graphs_without_edges_have_no_paths():
    mx = Multiplex.from_edges([0], [0], [0], num_nodes=3, layer_names=[0, 1])
    pairs, layers = all_questions(mx)
    assert not found_paths(mx, pairs, layers).any()
    assert found_paths(mx, pairs[:0], layers[:0]).shape == (0, 2)
