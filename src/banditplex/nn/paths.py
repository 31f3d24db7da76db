"""Paths of length 3 between the nodes of a pair, u - w - x - v, in any layer; none of them uses an edge between u and v.

Two nodes without a common neighbour can have many of them: where links join unlike nodes (buyers and goods, lock and
key), they say more than common neighbours do. Small layers have tables of all pairs; in large ones paths are enumerated.
"""  # noqa: E501

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex.nn import compiled, kernels, walks
from banditplex.nn.graph import Neighbours, PackedGraph, ranges

TABLE = 1 << 26
"""Entries of all tables together; beyond it, the paths of the layers with the lowest mean degree are enumerated."""
GROUP_ENTRIES = 1 << 24
"""Entries of the matrices that are multiplied at once."""
ENUMERATED_AT_ONCE = 1 << 9
"""Pairs whose paths are enumerated at once: up to CAP * CAP paths each."""
DENSE = 0.25
"""Arcs per pair of rows from which on matrices are multiplied; below, walks are followed where loops are compiled."""
CAP = 32
"""Neighbours of a node that an enumeration visits; where a node has more, some stand for all."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Counts paths of length 3, plain and weighted: a path by way of w and x has weight 1 / sqrt(degree w * degree x).

    Tables count every walk u - w - x - v. Walks over the edge u - v itself, those with w = v or x = u, are subtracted;
    the degrees of all other w and x do not depend on that edge.
    """

    lists: Neighbours
    first_row: Tensor  # (L,) of each layer
    num_rows: Tensor  # (L,)
    start: Tensor  # (L,) where the table of a layer starts; -1 = it has none
    count: Tensor  # tables (num_rows, num_rows) of layers, one after the other
    weight: Tensor
    around: Tensor  # (R + 1,) sum over neighbours of 1 / sqrt(degree)

    @classmethod
    def of(cls, graph: PackedGraph, *, largest: int = TABLE) -> "Paths":
        """Compute the tables of a graph; each has at most `largest` entries."""
        lists, first = graph.both, graph.layer_rows[:-1]
        size = torch.diff(graph.layer_rows)
        mean_degree = torch.diff(lists.indptr[graph.layer_rows]) / size.clamp(min=1)
        area = size * size
        order = torch.argsort(mean_degree, descending=True, stable=True)
        fits = (torch.cumsum(area[order], 0) <= TABLE) & (area[order] <= largest)
        chosen = torch.sort(order[fits]).values
        start = torch.full_like(size, -1)
        area = area[chosen]
        start[chosen] = torch.cumsum(area, 0) - area
        count = torch.zeros(int(area.sum()), device=graph.device)
        weight = torch.zeros_like(count)
        share = lists.row_degree.clamp(min=1).rsqrt()
        if compiled.usable(count):
            sparse = mean_degree[chosen] < DENSE * size[chosen]
            few, chosen = chosen[sparse], chosen[~sparse]
            tables = first[few], size[few], start[few]
            walks.tables(*tables, lists.indptr, lists.arc_row, share, count, weight)
        by_size = chosen[torch.argsort(size[chosen], stable=True)]
        for group in _groups(by_size, size):
            _fill(graph, group, share, start, count, weight)
        around = torch.zeros(len(share), device=graph.device)
        around.index_add_(0, torch.repeat_interleave(lists.row_degree), share[lists.arc_row[:-1]])
        return cls(lists, first, size, start, count, weight, around)

    def between(self, pairs: Tensor, layer: Tensor, row: Tensor) -> Tensor:
        """Return number and weight (n, 2) of the paths between pairs (n, 2), whose rows (2, n) in layers are known."""
        found = torch.zeros(len(pairs), 2, device=pairs.device)
        known = (row != self.lists.missing).all(0)
        listed = self.start.index_select(0, layer) >= 0
        loops = kernels.usable(row) or compiled.usable(row)  # they need no memory for single paths
        whole, part = len(pairs), len(pairs) if loops else ENUMERATED_AT_ONCE
        for where, look, size in (
            (known & listed, self._look_up, whole), (known & ~listed, self._enumerate, part),
        ):  # fmt: skip
            at = torch.nonzero(where).squeeze(1)
            for some in torch.split(at, size) if len(at) else ():
                found[some] = look(pairs[some], layer[some], row[:, some])
        return found

    def _look_up(self, pairs: Tensor, layer: Tensor, row: Tensor) -> Tensor:
        place = row - self.first_row[layer]
        at = self.start[layer] + place[0] * self.num_rows[layer] + place[1]
        joined = self.lists.find(row[0], pairs[:, 1])[0]
        degree = self.lists.row_degree[row].float()
        share, around = degree.rsqrt(), self.around[row]
        count = self.count[at] - joined * (degree.sum(0) - 1)
        weight = self.weight[at] - joined * ((share * around).sum(0) - share.prod(0))
        return torch.stack([count, weight], 1).clamp(min=0)

    def _enumerate(self, pairs: Tensor, layer: Tensor, row: Tensor) -> Tensor:
        """Go from the node of lower degree to its neighbours w; look for those that w shares with the other node."""
        lists = self.lists
        turned = lists.row_degree[row[0]] > lists.row_degree[row[1]]
        near, far = torch.where(turned, row.flip(0), row)
        near_node, far_node = torch.where(turned, pairs.T.flip(0), pairs.T)
        ends, nodes = torch.stack([near, far]), torch.stack([near_node, far_node])
        arcs = lists.indptr, lists.neighbour, lists.arc_row, lists.arc_degree
        if kernels.usable(row):
            return kernels.paths(ends, nodes, *arcs, cap=CAP)
        if compiled.usable(row):
            return walks.paths(ends, nodes, *arcs, cap=CAP)
        which, arc, stands = _some_arcs(lists, near, far_node)
        middle, end = lists.arc_row[arc], far[which]
        joined = lists.find(far, near_node)[0][which]
        longer = lists.row_degree[middle] - 1 > lists.row_degree[end] - joined.long()
        short, long = torch.where(longer, end, middle), torch.where(longer, middle, end)
        step, other_arc, stands_too = _some_arcs(lists, short, near_node[which])
        stands_too = stands_too * lists.find(long[step], lists.neighbour[other_arc])[0]
        columns = torch.stack([stands_too, stands_too * lists.arc_degree[other_arc].rsqrt()], 1)
        sums = torch.zeros(len(which), 2, device=row.device).index_add_(0, step, columns)
        factor = torch.stack([stands, stands * lists.arc_degree[arc].rsqrt()], 1)
        return torch.zeros(len(pairs), 2, device=row.device).index_add_(0, which, sums * factor)


def _some_arcs(lists: Neighbours, row: Tensor, but: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return up to `CAP` arcs of each row (n,), evenly spaced, none of them to the nodes `but` (n,).

    Returned are positions, arcs, and how many arcs each stands for.
    """
    found, gap = lists.find(row, but)
    degree = lists.row_degree[row] - found.long()
    taken = degree.clamp(max=CAP)
    which, place = ranges(torch.zeros_like(taken), taken)
    arc = lists.indptr[row][which] + place * degree[which] // taken[which]
    arc = arc + (found[which] & (arc >= gap[which]))
    return which, arc, (degree / taken.clamp(min=1))[which]


def _groups(layers: Tensor, size: Tensor) -> list[Tensor]:
    """Divide layers, sorted by size, into groups whose padded matrices have about `GROUP_ENTRIES` entries.

    The sizes within a group differ by a factor of 2 at most.
    """
    power = torch.ceil(torch.log2(size[layers].clamp(min=1).double())).long()
    number = torch.cumsum(4**power, 0) // GROUP_ENTRIES
    _, count = torch.unique_consecutive(torch.stack([power, number]), dim=1, return_counts=True)
    return list(torch.split(layers, count.tolist()))


def _fill(graph: PackedGraph, layers: Tensor, share: Tensor, start: Tensor, count: Tensor, weight: Tensor) -> None:
    """Write the tables of some layers: A A A, and A S A S A with S the diagonal matrix of 1 / sqrt(degree)."""
    lists, width = graph.both, int(torch.diff(graph.layer_rows)[layers].max())
    first, last = graph.layer_rows[layers], graph.layer_rows[layers + 1]
    slot, row = ranges(first, last - first)
    arc_slot, arc = ranges(lists.indptr[first], lists.indptr[last] - lists.indptr[first])
    source = torch.repeat_interleave(lists.row_degree[row])
    matrix = torch.zeros(len(layers), width, width, device=graph.device)
    matrix[arc_slot, (row - first[slot])[source], lists.arc_row[arc] - first[arc_slot]] = 1
    scale = torch.zeros(len(layers), width, device=graph.device)
    scale[slot, row - first[slot]] = share[row]
    size = last - first
    across, cell = ranges(torch.zeros_like(size), size * size)
    cell_row, cell_column = cell // size[across], cell % size[across]
    at = start[layers][across] + cell
    count[at] = (matrix @ (matrix @ matrix))[across, cell_row, cell_column]
    halved = matrix * scale.unsqueeze(1)
    weight[at] = (halved @ (halved @ matrix))[across, cell_row, cell_column]
