"""Neighbour lists on the device against plain dictionaries."""

import numpy as np
import pytest
import torch

from banditplex.backend import choice, compiling, counting, packing
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from tests.nn.test_graph import random_multiplex
from tests.quick import every


def plain_arcs(mx, *, union):
    """Return weight and copies of each arc (layer, node, neighbour) of `both`, `out` and `into`."""
    weights = np.ones(mx.num_edges) if mx.weight is None else mx.weight
    edges = {}
    for layer, u, v, weight in zip(mx.edge_layer.tolist(), *mx.edge_index.tolist(), weights.tolist(), strict=True):
        if u != v:
            edges[layer, u, v] = weight
            if union:
                edges[mx.num_layers, u, v] = edges.get((mx.num_layers, u, v), 0) + weight

    def copies(layer, u, v, *, both):
        ways = [(u, v), (v, u)] if both or not mx.directed else [(u, v)]
        found = [any((other, *way) in edges for way in ways) for other in range(mx.num_layers)]
        return sum(found) if layer == mx.num_layers else 0

    both = {}
    for (layer, u, v), weight in edges.items():
        for arc in ((layer, u, v), (layer, v, u)):
            both[arc] = max(weight, both.get(arc, 0))
    out = edges if mx.directed else both
    into = {(layer, v, u): weight for (layer, u, v), weight in edges.items()} if mx.directed else both
    return [
        {arc: (weight, copies(*arc, both=every)) for arc, weight in sorted(arcs.items())}
        for arcs, every in ((both, True), (out, False), (into, False))
    ]


@pytest.fixture(params=["torch", "one thread", "two threads"])
def way(request, monkeypatch):
    """Pack by torch, in parts, or by compiled loops."""
    monkeypatch.setattr(packing, "FILLED_AT_ONCE", 37)
    monkeypatch.setattr(packing, "MANY_EDGES", 0)
    monkeypatch.setattr(choice, "NUMBA", choice.NUMBA and request.param != "torch")
    monkeypatch.setattr(compiling, "num_threads", lambda: 1 + (request.param == "two threads"))
    monkeypatch.setattr(counting, "num_threads", compiling.num_threads)
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("size", "directed", "weighted", "union"),
    every(3, [(0, 15), (1, 15), (60, 15), (400, 15), (60, 3000)], [False, True], [False, True], [False, True]),
)
def test_lists_are_those_of_plain_dictionaries(size, directed, weighted, union):
    num_edges, num_nodes = size
    mx = random_multiplex(num_edges, num_nodes=num_nodes, num_edges=num_edges, directed=directed, weighted=weighted)
    graph = PackedGraph.from_multiplex(mx, union=union)
    assert graph.num_layers == mx.num_layers + union
    for lists, arcs in zip((graph.both, graph.out, graph.into), plain_arcs(mx, union=union), strict=True):
        rows = sorted({arc[:2] for arc in arcs})
        degree = [sum(arc[:2] == row for arc in arcs) for row in rows]
        row_of = {row: place for place, row in enumerate(rows)}
        away = [row_of.get((layer, v), len(rows)) for layer, _, v in arcs]
        assert lists.row_key.tolist() == [layer * num_nodes + u for layer, u in rows] + [packing.LAST]
        assert lists.indptr.tolist() == [0, *np.cumsum(degree).tolist(), len(arcs)]
        assert lists.neighbour.tolist() == [v for *_, v in arcs] + [0]
        assert lists.arc_key.tolist() == [row_of[arc[:2]] * num_nodes + arc[2] for arc in arcs] + [packing.LAST]
        assert lists.arc_row.tolist() == [*away, len(rows)]
        assert lists.arc_degree.tolist() == [[*degree, 0][row] for row in away] + [0]
        if mx.weight is None:
            assert lists.weight is None
        else:
            np.testing.assert_allclose(lists.weight, [weight for weight, _ in arcs.values()] + [0], rtol=1e-6)
        if union and (lists is not graph.into or not directed):
            assert lists.copies.tolist() == [copies for _, copies in arcs.values()] + [0]
        else:
            assert lists.copies is None


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_are_listed_with_the_layers_that_have_them(directed):
    mx = random_multiplex(2, num_edges=150, directed=directed)
    graph = PackedGraph.from_multiplex(mx, union=True)
    edges = zip(*mx.edge_index.tolist(), mx.edge_layer.tolist(), strict=True)
    expected = sorted((u * mx.num_nodes + v, layer) for u, v, layer in edges if u != v)
    assert list(zip(graph.pair_key.tolist(), graph.pair_layer.tolist(), strict=True)) == expected


def test_graphs_whose_keys_do_not_fit_into_64_bits_are_packed_alike():
    few, many = (
        PackedGraph.from_multiplex(
            Multiplex(
                np.array([[0, 1, 2, 0, 2], [1, 0, 1, 2, 0]]), np.array([0, 3, 5]), ("a", "b"), names, directed=True
            )
        )
        for names in (np.arange(3), np.broadcast_to(np.int64(0), 2**32))
    )
    for one, other in zip((few.both, few.out, few.into), (many.both, many.out, many.into), strict=True):
        assert torch.equal(one.neighbour, other.neighbour)
        assert torch.equal(one.arc_row, other.arc_row)
        assert torch.equal(one.indptr, other.indptr)


@pytest.mark.parametrize("bound", [2**31 - 1, 2**31, 2**40])
def test_sorts_of_32_and_64_bits_are_stable(bound):
    keys = np.random.default_rng(0).integers(0, 50, 2000) * ((bound - 1) // 49)
    values, order = packing.stable_sort(torch.from_numpy(keys), bound)
    assert order.tolist() == sorted(range(2000), key=lambda i: keys[i])
    assert values.tolist() == sorted(keys.tolist())
