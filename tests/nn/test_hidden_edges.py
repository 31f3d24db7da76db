"""Hidden edges, and the union of all layers."""

import pytest
import torch

from banditplex.nn import HiddenEdges, PackedGraph
from tests.nn.test_graph import random_multiplex


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
    assert (graph.num_layers, graph.num_plain) == (mx.num_layers + 1, mx.num_layers)
    assert arcs_of(graph, mx.num_layers) == pytest.approx(total if weighted else dict.fromkeys(total, 1))
    plain = PackedGraph.from_multiplex(mx)
    assert all(arcs_of(graph, layer) == arcs_of(plain, layer) for layer in range(mx.num_layers))


def test_pairs_are_hidden_in_each_of_their_layers_in_memory_that_can_be_searched():
    table = torch.tensor([[5, 6, 0], [5, 7, 0]])
    for columns, layer in ((3, [5, 6, 0, 5, 7, 0]), (2, [5, 6, 5, 7]), (1, [5, 5]), (0, [])):
        hidden = HiddenEdges.of(torch.tensor([[0, 1], [2, 3]]), table[:, :columns])
        assert hidden.pairs.tolist() == [[0, 1]] * columns + [[2, 3]] * columns
        assert hidden.layer.tolist() == layer
        assert hidden.layer.is_contiguous()  # torch.searchsorted warns otherwise
