"""What a network must not see of the pairs it is asked about, in the target layer, the union or all layers."""

import torch
from torch import Tensor

from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.pairs.visibility import Visibility

GRAPHS = ("target", "union")
"""What a method for one graph may look at."""


def hide_from(graph: PackedGraph, pairs: Tensor, target: Tensor, visibility: Visibility, sees: str) -> HiddenEdges:
    """Return the edges of pairs (P, 2) that must not be seen in the layers that a network looks at.

    `sees` is "target", "union" (the last layer of the graph) or "all".
    """
    if sees == "target":
        return HiddenEdges(pairs, target)
    if sees == "union":
        union = torch.full_like(target, graph.num_layers - 1)
        gone = ~visible_link(graph, pairs, target, union, visibility)
        return HiddenEdges(pairs[gone], union[gone])
    if not visibility.hides_everywhere:
        return HiddenEdges(pairs, target)
    layers = torch.arange(graph.num_layers, device=target.device).expand(len(pairs), -1)
    return HiddenEdges.of(pairs, layers) if layers.numel() <= len(graph.both.neighbour) else _edges_of(graph, pairs)


def _edges_of(graph: PackedGraph, pairs: Tensor) -> HiddenEdges:
    """Return the edges of all layers between the two nodes of any of the pairs (P, 2)."""
    lists, size = graph.both, graph.num_nodes
    row = lists.row_key[torch.repeat_interleave(lists.row_degree)]
    ends = torch.stack([row % size, lists.neighbour[:-1]], 1)
    known = torch.unique(pairs.min(1).values * size + pairs.max(1).values)
    found = (ends[:, 0] < ends[:, 1]) & torch.isin(ends[:, 0] * size + ends[:, 1], known)
    return HiddenEdges(ends[found], row[found] // size)


def visible_link(graph: PackedGraph, pairs: Tensor, target: Tensor, layer: Tensor, visibility: Visibility) -> Tensor:
    """Say for each pair (P, 2) whether it is linked in a layer (P,) by an edge that may be seen.

    Directions do not matter: in a directed target layer the reverse edge is hidden, too. The union, if the graph has
    one, shows an edge if a layer shows it.
    """
    lists = graph.both
    linked, arc = lists.find(lists.rows(layer, pairs[:, 0]), pairs[:, 1])
    if visibility.hides_everywhere:
        return torch.zeros_like(linked)
    if lists.copies is None:
        return linked & (layer != target)
    own = lists.find(lists.rows(target, pairs[:, 0]), pairs[:, 1])[0]
    elsewhere = lists.copies[arc] > own.int()
    return linked & torch.where(layer == graph.num_layers - 1, elsewhere, layer != target)
