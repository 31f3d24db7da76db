"""Features by scipy against a slow plain loop that removes edges from networkx graphs, and against values by hand."""

import math

import networkx as nx
import numpy as np
import pytest

from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from tests.baselines import graph as graph_module
from tests.baselines.features import StructuralFeatures
from tests.quick import every

NODES = 12
EVERY_PAIR = np.array([(u, v) for u in range(NODES) for v in range(NODES) if u != v])


def random_multiplex(seed, *, directed=False, layers=3):
    rng = np.random.default_rng(seed)
    flags = rng.random((layers, NODES, NODES)) < 0.25
    layer, source, destination = np.nonzero(flags)
    return Multiplex.from_edges(
        source, destination, layer, num_nodes=NODES, directed=directed, self_loops="drop", duplicates="sum"
    )


# The slow loop


def layer_graphs(mx):
    kind = nx.DiGraph if mx.directed else nx.Graph
    graphs = []
    for name in mx.layer_names:
        graph = kind()
        graph.add_nodes_from(range(mx.num_nodes))
        graph.add_edges_from(mx.edges(name).T.tolist())
        graphs.append(graph)
    return graphs


def hide_pair(graphs, target, u, v, hide):
    """Copies of the graphs without what is hidden of the pair."""
    graphs = [graph.copy() for graph in graphs]
    for index, graph in enumerate(graphs):
        if index == target or hide == "pair":
            for edge in [(u, v)] if hide == "edge" else [(u, v), (v, u)]:
                if graph.has_edge(*edge):
                    graph.remove_edge(*edge)
    return graphs


def slow_neighbourhood(graph, u, v):
    graph = nx.Graph(graph)
    common = set(graph[u]) & set(graph[v])
    degree = dict(graph.degree)
    paths = [
        (w, x) for w in graph[u] for x in graph[v] if graph.has_edge(w, x) and w != v and x != u
    ]  # fmt: skip
    low, high = sorted([degree[u], degree[v]])
    return {
        "common": len(common),
        "adamic": sum(1 / math.log(degree[w]) for w in common),
        "allocation": sum(1 / degree[w] for w in common),
        "jaccard": len(common) / max(len(set(graph[u]) | set(graph[v])), 1),
        "low degree": low,
        "high degree": high,
        "paths": len(paths),
        "weighted paths": sum(1 / math.sqrt(degree[w] * degree[x]) for w, x in paths),
    }


def slow_own(graphs, target, u, v):
    graph = graphs[target]
    found = slow_neighbourhood(graph, u, v)
    if graph.is_directed():
        found["reverse"] = graph.has_edge(v, u)
        found["directed paths"] = len(set(graph.successors(u)) & set(graph.predecessors(v)))
        found["out-degree"], found["in-degree"] = graph.out_degree(u), graph.in_degree(v)
    return found


def slow_rest(graphs, target, u, v):
    others = [nx.Graph(graph) for index, graph in enumerate(graphs) if index != target]
    count = np.sum([nx.to_numpy_array(graph) for graph in others], axis=0)
    low, high = sorted([count[u].sum(), count[v].sum()])
    union = nx.compose_all(others)
    found = {"common product": count[u] @ count[v], "low strength": low, "high strength": high}
    return slow_neighbourhood(union, u, v) | found


def slow_overlap(graphs, target, u, v):
    def pairs(graph):
        return {frozenset(edge) for edge in graph.edges}

    own, found = pairs(graphs[target]), {}
    for start, end, word in ((u, v, ""), (v, u, "reverse ")):
        having = [g for index, g in enumerate(graphs) if index != target and g.has_edge(start, end)]
        similarity = [len(own & pairs(g)) / len(own | pairs(g)) for g in having]
        found |= {f"{word}overlap": len(having), f"weighted {word}overlap": sum(similarity)}
    return found if graphs[target].is_directed() else dict(list(found.items())[:2])


def slow_other(graphs, target, other, u, v):
    one, two = nx.Graph(graphs[target]), nx.Graph(graphs[other])
    found = slow_neighbourhood(two, u, v)
    del found["paths"], found["weighted paths"]
    crossing = [*(set(one[u]) & set(two[v])), *(set(one[v]) & set(two[u]))]
    weights = [1 / math.sqrt(one.degree[w] * two.degree[w]) for w in crossing]
    found |= {"edge": graphs[other].has_edge(u, v), "cross": len(crossing), "weighted cross": sum(weights)}
    return found | ({"reverse": graphs[other].has_edge(v, u)} if graphs[other].is_directed() else {})


def assert_same(fast, slow):
    assert set(fast) == set(slow[0])
    for name, column in fast.items():
        np.testing.assert_allclose(column, [row[name] for row in slow], atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("directed", "hide", "small"), every(5, [False, True], ["edge", "layer", "pair"], [True, False])
)
def test_every_feature_is_that_of_the_graph_without_what_is_hidden(directed, hide, small, monkeypatch):
    """Every ordered pair of nodes, edges and others, in the middle layer."""
    if not small:
        monkeypatch.setattr(graph_module, "SMALL", 0)
        monkeypatch.setattr(graph_module, "ROOM", 40)  # many pieces
    mx = random_multiplex(1, directed=directed)
    features, target = StructuralFeatures(mx, Visibility(hide, directed)), 1
    graphs = layer_graphs(mx)
    seen = [(hide_pair(graphs, target, u, v, hide), u, v) for u, v in EVERY_PAIR.tolist()]
    assert_same(features.own(EVERY_PAIR, target), [slow_own(g, target, u, v) for g, u, v in seen])
    assert_same(features.rest(EVERY_PAIR, target), [slow_rest(g, target, u, v) for g, u, v in seen])
    assert_same(features.overlap(EVERY_PAIR, target), [slow_overlap(g, target, u, v) for g, u, v in seen])
    assert_same(features.other(EVERY_PAIR, target, 2), [slow_other(g, target, 2, u, v) for g, u, v in seen])
    merged = [slow_neighbourhood(nx.compose_all(list(map(nx.Graph, g))), u, v) for g, u, v in seen]
    found = features.merged(EVERY_PAIR, target)
    assert_same(found, [{name: row[name] for name in found} for row in merged])


@pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_without_some_edges(directed, hide):
    """The same as the features of the multiplex from which they are removed."""
    mx, visibility = random_multiplex(2, directed=directed), Visibility(hide, directed)
    gone = mx.edges(1)[:, ::3].T
    keys = visibility.keys(np.ones(len(gone), np.int64), gone, NODES)
    keep = ~np.isin(visibility.keys(mx.edge_layer, mx.edge_index.T, NODES), keys)
    full, less = StructuralFeatures(mx, visibility), StructuralFeatures(mx.keep_edges(keep), visibility)
    full.every(EVERY_PAIR, 1)  # what it caches must not be used
    found, expected = full.without(gone, 1).every(EVERY_PAIR, 1), less.every(EVERY_PAIR, 1)
    assert list(found) == list(expected)
    for name, column in found.items():
        np.testing.assert_allclose(column, expected[name], atol=1e-12, err_msg=name)


def test_by_hand():
    """The square 0-1-3-2-0 with the diagonal 0-3; in layer b 1-2.

    Pair 0-3 without its edge: common neighbours 1 and 2, of degree 2; no path of length 3. Pair 1-2: common neighbours
    0 and 3, of degree 3, and the paths 1-0-3-2 and 1-3-0-2.
    """
    mx = Multiplex.from_edges([0, 1, 2, 0, 0, 1], [1, 3, 3, 2, 3, 2], [*"aaaaab"], num_nodes=4)
    features = StructuralFeatures(mx, Visibility("layer"))
    own = features.own(np.array([[0, 3], [1, 2]]), 0)
    np.testing.assert_allclose(own["common"], [2, 2])
    np.testing.assert_allclose(own["adamic"], [2 / math.log(2), 2 / math.log(3)])
    np.testing.assert_allclose(own["allocation"], [1, 2 / 3])
    np.testing.assert_allclose(own["jaccard"], [1, 1])
    np.testing.assert_allclose(own["low degree"], [2, 2])
    np.testing.assert_allclose(own["paths"], [0, 2])
    np.testing.assert_allclose(own["weighted paths"], [0, 2 / 3])
    assert features.overlap(np.array([[0, 3], [1, 2]]), 0)["overlap"].tolist() == [0, 1]


def test_self_loops_and_empty_layers_do_not_matter():
    mx = Multiplex.from_edges([0, 0, 1, 2], [0, 1, 2, 2], "a", num_nodes=4, layer_names=["a", "b"], self_loops="keep")
    features = StructuralFeatures(mx, Visibility("layer"))
    own = features.own(np.array([[0, 2], [0, 3]]), 0)
    assert own["common"].tolist() == [1, 0]
    assert own["low degree"].tolist() == [1, 0]
    assert features.own(np.array([[0, 2]]), 1)["high degree"].tolist() == [0]
    assert features.rest(np.array([[0, 2]]), 1)["common product"].tolist() == [1]
