"""Enclosing subgraphs of many pairs at once, with DRNL labels; sparse, on the device of the graph."""

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex.backend import Neighbours, ranges

FAR = 1 << 20
"""A distance above all others: not reached."""
TABLE = 1 << 23
"""Up to so many pairs times nodes, vertices are found by a table instead of a search."""


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The subgraphs of P pairs as one graph: V vertices, sorted by pair and node, and A arcs, two per edge."""

    size: int  # P
    which: Tensor  # (V,) the pair of each vertex
    node: Tensor  # (V,)
    label: Tensor  # (V,) DRNL label
    edge_index: Tensor  # (2, A), sorted by edge_index[1]

    @property
    def counts(self) -> Tensor:
        """Number of vertices of each subgraph, (P,)."""
        return torch.bincount(self.which, minlength=self.size)


@torch.no_grad()
def enclosing_subgraphs(
    lists: Neighbours, pairs: Tensor, layer: Tensor, linked: Tensor, *, hops: int = 1, max_nodes: int | None = None
) -> Subgraphs:
    """Return the subgraph of all nodes within `hops` steps of either node of each pair (P, 2) in its layer (P,).

    The pair's own edge is left out unless `linked` (P,). `max_nodes` bounds the nodes that a hop adds to a subgraph;
    those kept are a random choice that depends on the pair and the nodes alone.
    """
    num_nodes, first = lists.num_nodes, torch.arange(len(pairs), device=pairs.device) * lists.num_nodes
    ends = first.repeat(2) + pairs.T.reshape(-1)
    key = new = torch.sort(ends).values
    for _ in range(hops):
        found = torch.unique(_neighbours(lists, layer, new)[1])
        new = found[_places(key, found, len(pairs) * num_nodes) < 0]
        if max_nodes is not None:
            new = _at_most(new, pairs, num_nodes, max_nodes)
        key = torch.sort(torch.cat([key, new])).values
    here, found = _neighbours(lists, layer, key)  # the neighbours of each vertex: arcs found -> here
    place = _places(key, found, len(pairs) * num_nodes)
    inside = torch.nonzero(place >= 0).squeeze(1)
    arcs = torch.stack([place.index_select(0, inside), here.index_select(0, inside)])
    end_u, end_v = torch.searchsorted(key, ends).chunk(2)
    which = torch.div(key, num_nodes, rounding_mode="floor")
    other_end = torch.full_like(key, -1)  # of both nodes of a pair that is not linked, the other one
    other_end[end_u], other_end[end_v] = end_v.where(~linked, -1), end_u.where(~linked, -1)
    arcs = arcs[:, other_end.index_select(0, arcs[0]) != arcs[1]]
    return Subgraphs(len(pairs), which, key - first[which], drnl(_distances(arcs, end_u, end_v, len(key))), arcs)


def drnl(distance: Tensor) -> Tensor:
    """Return double-radius node labels, given distances (V, 2) to both nodes of the pair.

    With d the sum and m the minimum of the two: 1 + m + (d // 2) (d // 2 + d % 2 - 1); 0 if one is not reached, and 1
    for the two nodes themselves, whose minimum is 0.

    >>> drnl(torch.tensor([[0, 3], [1, 1], [1, 2], [2, 2], [1, FAR]])).tolist()
    [1, 2, 3, 5, 0]
    """
    least, total = distance.min(1).values, distance.sum(1)
    half = total // 2
    label = 1 + least + half * (half + total % 2 - 1)
    return torch.where(total >= FAR, 0, label).where(least > 0, 1)


def _distances(arcs: Tensor, end_u: Tensor, end_v: Tensor, size: int) -> Tensor:
    """Return the distances (V, 2) from both nodes of the pair, on paths that avoid the other one."""
    columns = []
    for start, other in ((end_u, end_v), (end_v, end_u)):
        mine = torch.full((size,), FAR, device=arcs.device)
        mine[other] = -1  # never entered, never left
        mine[start], step = 0, 0
        source, destination = arcs[:, mine.index_select(0, arcs[1]) == FAR]
        near = mine.index_select(0, source) == 0
        while bool(near.any()):
            step += 1
            reached = destination[near]
            mine[reached] = step
            left = mine.index_select(0, destination) == FAR
            source, destination = source[left], destination[left]
            near = mine.index_select(0, source) == step
        mine[other] = FAR
        columns.append(mine)
    return torch.stack(columns, 1)


def _neighbours(lists: Neighbours, layer: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Return the neighbours of vertices, as keys pair * num_nodes + node: places in `key`, and keys of neighbours."""
    which = torch.div(key, lists.num_nodes, rounding_mode="floor")
    first = which * lists.num_nodes
    row = lists.rows(layer.index_select(0, which), key - first)
    place, arc = ranges(lists.indptr.index_select(0, row), lists.row_degree.index_select(0, row))
    return place, first.index_select(0, place) + lists.neighbour.index_select(0, arc)


def _places(sorted_keys: Tensor, keys: Tensor, size: int) -> Tensor:
    """Return where keys, all below `size`, stand in `sorted_keys`; -1 for those that do not."""
    if size <= TABLE:
        table = torch.full((size,), -1, device=keys.device)
        table[sorted_keys] = torch.arange(len(sorted_keys), device=keys.device)
        return table.index_select(0, keys)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return place.where(sorted_keys.index_select(0, place) == keys, -1)


def _at_most(key: Tensor, pairs: Tensor, num_nodes: int, most: int) -> Tensor:
    """Return at most `most` of the sorted keys of each pair: those with the least hash of pair and node."""
    which = key // num_nodes
    count = torch.bincount(which, minlength=len(pairs))
    if not len(key) or int(count.max()) <= most:
        return key
    mixed = (pairs[which, 0] * num_nodes + pairs[which, 1]) * 0x2545F491 + key % num_nodes
    for shift, factor in ((31, 0x1CE4E5B9), (29, 0x133111EB), (32, 0x27D4EB2F)):
        mixed = (mixed ^ (mixed >> shift)) * factor
    order = torch.argsort(mixed, stable=True)
    order = order[torch.argsort(which[order], stable=True)]
    rank = torch.arange(len(key), device=key.device) - (torch.cumsum(count, 0) - count)[which[order]]
    return torch.sort(key[order[rank < most]]).values
