"""Bridges against a plain loop over paths u - w = x - v, and what they are relative to."""

import numpy as np
import pytest
import torch

from banditplex import Multiplex
from banditplex.nn import PackedGraph, bridges
from banditplex.nn.bridges import Bridges
from tests.nn.test_graph import random_multiplex


def neighbours(mx, layer, node):
    """All nodes that an edge of the layer joins with a node, in either direction."""
    source, destination = mx.edges(mx.layer_names[layer])
    there = {*destination[source == node].tolist(), *source[destination == node].tolist()}
    return sorted(there - {node})


def bridges_of(mx, target, pairs):
    graph, pairs = PackedGraph.from_multiplex(mx), torch.tensor(pairs)
    return Bridges.of(graph, pairs, graph.both.rows_of(pairs, torch.full((len(pairs),), target)))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("most", [100, 3])
def test_bridges_are_counted_as_by_a_loop(monkeypatch, directed, most):
    """Of more than `most` neighbours 0, 1, ... but the other end, those at i * degree // most are looked at."""
    monkeypatch.setattr(bridges, "MOST", most)
    mx = random_multiplex(2, num_nodes=12, num_layers=4, num_edges=120, directed=directed)
    target, layers, pairs = 2, [3, 0], [(u, v) for u in range(12) for v in range(12) if u != v]
    found = bridges_of(mx, target, pairs)
    expected, places = np.zeros((len(pairs), 2)), []
    for number, (u, v) in enumerate(pairs):
        ends = [[one for one in neighbours(mx, target, node) if one not in (u, v)] for node in (u, v)]
        ends = [some if len(some) <= most else [some[i * len(some) // most] for i in range(most)] for some in ends]
        middle = [(w, x) for w in ends[0] for x in ends[1] if w != x]
        places.append(len(middle))
        for column, layer in enumerate(layers):
            expected[number, column] = sum(x in neighbours(mx, layer, w) for w, x in middle)
    assert found.places.tolist() == places
    assert found.count(torch.tensor(layers)).tolist() == expected.tolist()
    assert expected.sum() > 100


def test_fewer_neighbours_are_looked_at_where_more_edges_would_be_found(monkeypatch):
    """Layers "b" and "c" have all 36 pairs of 9 nodes; "a" joins 0 with 1 to 4, and 8 with 5 to 7."""
    every = [(u, v) for u in range(9) for v in range(u + 1, 9)]
    star = [(0, 1), (0, 2), (0, 3), (0, 4), (5, 8), (6, 8), (7, 8)]
    names = ["a"] * len(star) + ["b"] * len(every) + ["c"] * len(every)
    mx = Multiplex.from_edges(*np.array(star + every + every).T, names, num_nodes=9, directed=False)
    assert PackedGraph.from_multiplex(mx).layers_per_pair == pytest.approx(79 / 36)
    for edges, places in ((1_000_000, 12), (20, 9), (19, 4), (1, 4)):  # three of each end have 79 / 36 * 3 ** 2 = 19.75
        monkeypatch.setattr(bridges, "EDGES", edges)
        found = bridges_of(mx, 0, [(0, 8)])
        assert found.places.tolist() == [places]
        assert found.count(torch.tensor([2, 1])).tolist() == [[found.places.item()] * 2]


@pytest.mark.parametrize("directed", [False, True])
def test_the_own_edge_in_the_target_changes_nothing(monkeypatch, directed):
    """Neither whether a neighbour is looked at, nor how many are; a pair with many and with few neighbours."""
    monkeypatch.setattr(bridges, "MOST", 3)
    mx = random_multiplex(3, num_nodes=14, num_layers=3, num_edges=150, directed=directed)
    layers, name, changed = torch.tensor([0, 2]), mx.layer_names[1], 0
    for u, v in mx.edges(name).T.tolist():
        if u == v:
            continue
        table = mx.to_pandas()
        own = (table["layer"] == name) & (table[["source", "destination"]].apply(set, axis=1) == {u, v})
        less = Multiplex.from_pandas(
            table[~own], directed=directed, num_nodes=14, layer_names=list(mx.layer_names), self_loops="keep"
        )
        with_edge, without = (bridges_of(each, 1, [(u, v)]) for each in (mx, less))
        assert with_edge.places.tolist() == without.places.tolist()
        assert with_edge.columns(layers).tolist() == without.columns(layers).tolist()
        changed += int(without.places.item() > 0)
    assert changed > 20


def test_columns_are_relative_to_edges_at_random():
    """Layer "b" has 3 of the 6 pairs of 4 nodes; each pair that is asked about has one place for a bridge."""
    edges = [(0, 2), (1, 3), (2, 3), (0, 3), (1, 2)]
    mx = Multiplex.from_edges(*np.array(edges).T, ["a", "a", "b", "b", "b"], num_nodes=4, directed=False)
    found = bridges_of(mx, 0, [(0, 1), (0, 3)])
    assert found.places.tolist() == [1, 1]  # 2 - 3, and 2 - 1, which are edges
    expected = [np.log(2 / 1.5)] * 2
    np.testing.assert_allclose(found.columns(torch.tensor([1])).squeeze(1), expected, rtol=1e-6)


def test_a_dense_layer_at_random_says_nothing_of_degrees():
    """On average; its bridges alone say how many neighbours the two ends have."""
    rng, nodes = np.random.default_rng(0), 60
    hub = [(0, node) for node in range(1, 7)] + [(30, 31)]
    pairs = np.array([(u, v) for u in range(nodes) for v in range(u + 1, nodes)])
    many = [pairs[rng.random(len(pairs)) < 0.5] for _ in range(40)]
    every = np.concatenate([hub, *many])
    names = ["a"] * len(hub) + [f"b{place:02}" for place, some in enumerate(many) for _ in some]
    mx = Multiplex.from_edges(*every.T, names, num_nodes=nodes, directed=False)
    found = bridges_of(mx, 0, [(0, 30), (1, 31)])  # six places and one
    layers = torch.arange(1, 41)
    count, column = found.count(layers).double(), found.columns(layers)
    assert found.places.tolist() == [6, 1]
    assert count[0].mean() - count[1].mean() > 2
    assert (column.mean(1).abs() < 0.15).all()


def test_renamed_nodes_are_those_of_a_renamed_multiplex():
    """The target keeps its names."""
    mx = random_multiplex(4, num_nodes=12, num_layers=3, num_edges=120)
    names, pairs = np.random.default_rng(0).permutation(12), torch.tensor([(u, v) for u in range(12) for v in range(u)])
    place = np.argsort(names)  # node names[i] of the other layers is node i of the target
    table = [
        (name, mx.edges(name) if layer == 1 else place[mx.edges(name)]) for layer, name in enumerate(mx.layer_names)
    ]
    source, destination = np.concatenate([edges for _, edges in table], axis=1)
    layer = [name for name, edges in table for _ in edges.T]
    renamed = Multiplex.from_edges(source, destination, layer, num_nodes=12, directed=False, self_loops="keep")
    graph = PackedGraph.from_multiplex(mx)
    rows = graph.both.rows_of(pairs, torch.ones(len(pairs), dtype=torch.int64))
    found = Bridges.of(graph, pairs, rows, torch.from_numpy(names)).count(torch.tensor([0, 2]))
    expected = bridges_of(renamed, 1, pairs.tolist()).count(torch.tensor([0, 2]))
    assert found.tolist() == expected.tolist()
    assert found.sum() > 50
