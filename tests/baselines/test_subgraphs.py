"""Subgraphs and labels against networkx and a plain search; sorting against plain sorting."""

from collections import deque

import networkx as nx
import numpy as np
import pytest
import torch

from banditplex.baselines import seal
from banditplex.baselines.seal import SubgraphEncoder, choose_keep, enclosing_subgraphs, neural_sort, sort_pool
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph

NODES = 25


@pytest.fixture(scope="module")
def mx():
    rng = np.random.default_rng(3)
    layer, u, v = np.nonzero(np.triu(rng.random((2, NODES, NODES)) < 0.09, 1))
    return Multiplex.from_edges(u, v, layer, num_nodes=NODES)


def distances(graph, start, removed):
    """Breadth-first search that never enters `removed`."""
    found, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if other != removed and other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def slow_label(graph, u, v, node):
    if node in (u, v):
        return 1
    a, b = distances(graph, u, v).get(node), distances(graph, v, u).get(node)
    if a is None or b is None:
        return 0
    return 1 + min(a, b) + (a + b) // 2 * ((a + b) // 2 + (a + b) % 2 - 1)


def slow_subgraph(graph, u, v, hops, linked):
    near = set()
    for end in (u, v):
        near |= set(nx.single_source_shortest_path_length(graph, end, cutoff=hops))
    found = graph.subgraph(near).copy()
    if not linked and found.has_edge(u, v):
        found.remove_edge(u, v)
    return found


@pytest.mark.parametrize(("hops", "table"), [(1, 0), (2, 1 << 23)])
def test_subgraphs_and_labels(mx, hops, table, monkeypatch):
    """Every pair of nodes in both layers, with and without its own edge; by a search, and by a table."""
    monkeypatch.setattr(seal, "TABLE", table)
    lists = PackedGraph.from_multiplex(mx).both
    pairs = np.array([(u, v) for u in range(NODES) for v in range(u)])
    for layer in range(2):
        graph = nx.Graph(mx.edges(mx.layer_names[layer]).T.tolist())
        graph.add_nodes_from(range(NODES))
        linked = np.arange(len(pairs)) % 2 == 0
        of = torch.full((len(pairs),), layer)
        found = enclosing_subgraphs(lists, torch.from_numpy(pairs), of, torch.from_numpy(linked), hops=hops)
        for place, (u, v) in enumerate(pairs.tolist()):
            slow = slow_subgraph(graph, u, v, hops, linked[place])
            here = found.which == place
            assert found.node[here].tolist() == sorted(slow)
            inside = here[found.edge_index[0]]
            arcs = found.node[found.edge_index[:, inside]].T.tolist()
            assert sorted(map(tuple, arcs)) == sorted(nx.DiGraph(slow).edges)
            assert found.label[here].tolist() == [slow_label(slow, u, v, node) for node in sorted(slow)]


def test_labels_by_hand():
    """A triangle 0-1-2 with a tail 2-3-4; the pair (0, 1), two hops: 2 is at (1, 1), 3 at (2, 2), 4 too far."""
    mx = Multiplex.from_edges([0, 1, 0, 2, 3], [1, 2, 2, 3, 4], "a", num_nodes=5)
    found = enclosing_subgraphs(
        PackedGraph.from_multiplex(mx).both, torch.tensor([[0, 1]]), torch.tensor([0]), torch.tensor([False]), hops=2
    )
    assert found.node.tolist() == [0, 1, 2, 3]
    assert found.label.tolist() == [1, 1, 2, 5]
    assert found.edge_index.shape[1] == 6  # 0-2, 1-2, 2-3, both ways


def test_large_neighbourhoods_are_cut_for_each_pair_alone():
    """A star of 30 leaves: a hop adds 5 of the 28 other leaves, the same whatever else is asked."""
    mx = Multiplex.from_edges([0] * 30, range(1, 31), "a", num_nodes=31)
    lists, pairs = PackedGraph.from_multiplex(mx).both, torch.tensor([[0, 1], [0, 2], [3, 4]])
    layer, linked = torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.bool)
    together = enclosing_subgraphs(lists, pairs, layer, linked, max_nodes=5)
    assert together.counts.tolist() == [7, 7, 3]
    for place in range(3):
        alone = enclosing_subgraphs(
            lists, pairs[place : place + 1], layer[:1], linked[:1], max_nodes=5
        )  # fmt: skip
        assert alone.node.tolist() == together.node[together.which == place].tolist()
    assert together.node[together.which == 0].tolist() != together.node[together.which == 1].tolist()


def test_sort_pool_is_a_sort_of_each_group():
    rng = np.random.default_rng(0)
    which = np.sort(rng.integers(0, 6, 40))
    x = rng.random((40, 3))
    found = sort_pool(torch.from_numpy(x), torch.from_numpy(which), 6, 5)
    for group in range(6):
        rows = sorted(x[which == group].tolist(), key=lambda row: -row[-1])[:5]
        np.testing.assert_array_equal(found[group], rows + [[0.0] * 3] * (5 - len(rows)))


def test_as_many_vertices_are_kept_as_most_subgraphs_have():
    """A path of 6 nodes; a pair of neighbours inside has 4 nodes within a hop, at the end 3."""
    graph = PackedGraph.from_multiplex(Multiplex.from_edges(range(5), range(1, 6), "a", num_nodes=6))
    pairs = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    assert choose_keep(graph, pairs, torch.zeros(5, dtype=torch.long), hops=1, max_nodes=None) == 4


def test_embeddings_do_not_depend_on_the_names_of_nodes(mx):
    """The same graph with its nodes renamed has the same embeddings of the same pairs."""
    torch.manual_seed(0)
    encoder = SubgraphEncoder(None, 12).double()
    rename = np.random.default_rng(1).permutation(NODES)
    other = Multiplex.from_edges(*rename[mx.edge_index], mx.edge_layer, num_nodes=NODES)
    pairs = torch.tensor([[0, 1], [2, 9], [4, 20]])
    ask = torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.bool)
    one = encoder(enclosing_subgraphs(PackedGraph.from_multiplex(mx).both, pairs, *ask, hops=2))
    two = encoder(
        enclosing_subgraphs(PackedGraph.from_multiplex(other).both, torch.from_numpy(rename)[pairs], *ask, hops=2)
    )
    torch.testing.assert_close(one, two)


def test_neural_sort_is_its_formula():
    scores, temperature = np.random.default_rng(0).normal(size=5), 0.7
    expected = np.empty((5, 5))
    for i in range(1, 6):
        row = [(6 - 2 * i) * s - sum(abs(s - t) for t in scores) for s in scores]
        expected[i - 1] = np.exp(np.array(row) / temperature)
        expected[i - 1] /= expected[i - 1].sum()
    np.testing.assert_allclose(neural_sort(torch.from_numpy(scores), temperature), expected)


def test_neural_sort_sorts_at_low_temperature():
    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 6)))
    sorted_scores = (neural_sort(scores, 1e-4) @ scores.unsqueeze(2)).squeeze(2)
    torch.testing.assert_close(sorted_scores, scores.sort(1, descending=True).values)
