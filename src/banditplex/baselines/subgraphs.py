"""Enclosing subgraphs of many pairs at once, with DRNL labels; sparse, on the device of the graph."""

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex.nn import Neighbours
from banditplex.nn.graph import ranges

FAR = 1 << 20
"""A distance above all others: not reached."""


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
    num_nodes, which = lists.num_nodes, torch.arange(len(pairs), device=pairs.device)
    ends = which.repeat(2) * num_nodes + pairs.T.reshape(-1)
    key = new = torch.sort(ends).values
    for _ in range(hops):
        _, found = _neighbours(lists, layer, new)
        found = torch.unique(found)
        new = found[~_contains(key, found)]
        if max_nodes is not None:
            new = _at_most(new, pairs, num_nodes, max_nodes)
        key = torch.sort(torch.cat([key, new])).values
    source, found = _neighbours(lists, layer, key)  # of each vertex, its neighbours: arcs found -> source
    place = torch.searchsorted(key, found).clamp(max=len(key) - 1)
    inside = torch.nonzero(key[place] == found).squeeze(1)
    arcs = torch.stack([place[inside], source[inside]])
    end_u, end_v = torch.searchsorted(key, ends).chunk(2)
    at_end = torch.zeros(len(key), dtype=torch.bool, device=key.device)
    at_end[end_u] = at_end[end_v] = True
    own = at_end[arcs[0]] & at_end[arcs[1]] & ~linked[key[arcs[0]] // num_nodes]
    arcs = arcs[:, ~own]
    subgraph, node = key // num_nodes, key % num_nodes
    return Subgraphs(len(pairs), subgraph, node, drnl(_distances(arcs, end_u, end_v, len(key))), arcs)


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
    distance = torch.full((2, size), FAR, device=arcs.device)
    columns = []
    for mine, start, other in ((distance[0], end_u, end_v), (distance[1], end_v, end_u)):
        removed = torch.zeros(size, dtype=torch.bool, device=arcs.device)
        removed[other] = True
        source, destination = arcs[:, ~(removed[arcs[0]] | removed[arcs[1]])]
        mine[start] = 0
        step = 0
        near = torch.nonzero(mine[source] == step).squeeze(1)
        while len(near):
            step += 1
            reached = destination[near]
            mine[reached[mine[reached] == FAR]] = step
            near = torch.nonzero(mine[source] == step).squeeze(1)
        columns.append(mine)
    return torch.stack(columns, 1)


def _neighbours(lists: Neighbours, layer: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Return the neighbours of vertices, as keys pair * num_nodes + node: places in `key`, and keys of neighbours."""
    which, node = key // lists.num_nodes, key % lists.num_nodes
    row = lists.rows(layer[which], node)
    place, arc = ranges(lists.indptr[row], lists.row_degree[row])
    return place, which[place] * lists.num_nodes + lists.neighbour[arc]


def _contains(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    place = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return sorted_keys[place] == keys


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
