"""Edges that an encoder must not see, in their layers and in the union of all layers.

The union shows an edge if some layer shows it, with the sum of the weights of those layers.
"""

from dataclasses import replace

import torch
from torch import Tensor

from banditplex.nn.graph import HiddenEdges, PackedGraph


def hide_pairs(pairs: Tensor, layers: Tensor) -> HiddenEdges:
    """Hide each of `pairs` (P, 2) in all its `layers` (P, m).

    >>> hide_pairs(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[5, 6], [5, 7]])).layer
    tensor([5, 6, 5, 7])
    """
    return HiddenEdges(pairs.repeat_interleave(layers.shape[1], 0), layers.reshape(-1).contiguous())  # to be searched


def hide_in_union(graph: PackedGraph, hidden: HiddenEdges) -> tuple[PackedGraph, HiddenEdges]:
    """Hide edges in the union, too: those that no other layer shows, and of the others the weight."""
    if not graph.union or graph.both.copies is None:
        return graph, hidden
    _, arc = _arcs(graph, hidden)
    arc, count = torch.unique_consecutive(arc, return_counts=True)
    pairs = _ends(graph, arc[count == graph.both.copies[arc]])
    last = torch.full_like(pairs[:, 0], graph.num_layers - 1)
    more = HiddenEdges(torch.cat([hidden.pairs, pairs]), torch.cat([hidden.layer, last]))
    return _lighten_union(graph, hidden), more


def _lighten_union(graph: PackedGraph, hidden: HiddenEdges) -> PackedGraph:
    """Return the graph with the weights of hidden edges subtracted from those of the union."""
    if graph.out.weight is None or graph.both.weight is None:
        return graph
    layer, arc = _arcs(graph, hidden)
    union, which = torch.unique(arc, return_inverse=True)
    ends, last = _ends(graph, union), torch.full_like(union, graph.num_layers - 1)
    one_way, other_way = (
        _weights(graph, pairs, last).index_add(0, which, _weights(graph, pairs[which], layer), alpha=-1)
        for pairs in (ends, ends.flip(1))
    )
    weight = graph.both.weight.clone()
    _, reverse = graph.both.find(graph.both.rows(last, ends[:, 1]), ends[:, 0])
    weight[union] = weight[reverse] = torch.maximum(one_way, other_way)
    return replace(graph, both=replace(graph.both, weight=weight))


def _arcs(graph: PackedGraph, hidden: HiddenEdges) -> tuple[Tensor, Tensor]:
    """Return layers (m,) and arcs in the union (m,), sorted, of those hidden pairs that are edges, each once."""
    lists, layer = graph.both, hidden.layer
    pairs = hidden.pairs.sort(1).values
    known = lists.find(lists.rows(layer, pairs[:, 0]), pairs[:, 1])[0]
    found, arc = lists.find(lists.rows(torch.full_like(layer, graph.num_layers - 1), pairs[:, 0]), pairs[:, 1])
    key = torch.unique((arc * graph.num_layers + layer)[known & found])
    return key % graph.num_layers, key // graph.num_layers


def _ends(graph: PackedGraph, arc: Tensor) -> Tensor:
    """Return the nodes (m, 2) that arcs (m,) join."""
    node = graph.both.row_key[graph.both.arc_key[arc] // graph.num_nodes] % graph.num_nodes
    return torch.stack([node, graph.both.neighbour[arc]], 1)


def _weights(graph: PackedGraph, pairs: Tensor, layer: Tensor) -> Tensor:
    """Return the weight of each pair (n, 2), in its direction, in its layer (n,); 0 where it is no edge."""
    assert graph.out.weight is not None
    found, arc = graph.out.find(graph.out.rows(layer, pairs[:, 0]), pairs[:, 1])
    return graph.out.weight[arc] * found
