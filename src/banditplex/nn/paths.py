"""Paths of length 3 between the nodes of a pair, u - w - x - v, in any layer; none of them uses an edge between u and v.

Two nodes without a common neighbour can have many of them: where links join unlike nodes (buyers and goods, lock and
key), they say more than common neighbours do. Small layers have tables of all pairs; in large ones paths are enumerated.
"""  # noqa: E501

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex import backend
from banditplex.backend import Neighbours
from banditplex.nn.graph import PackedGraph

TABLE = 1 << 26
"""Entries of all tables together; beyond it, the paths of the layers with the lowest mean degree are enumerated."""
FEW_PAIRS = 1 << 20
"""Entries of a table where few pairs are asked about: those of larger layers take longer than to enumerate paths."""


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
        backend.fill_tables(lists, first[chosen], size[chosen], start[chosen], share, count, weight)
        around = torch.zeros(len(share), device=graph.device)
        around.index_add_(0, torch.repeat_interleave(lists.row_degree), share[lists.arc_row[:-1]])
        return cls(lists, first, size, start, count, weight, around)

    def between(self, pairs: Tensor, layer: Tensor, row: Tensor) -> Tensor:
        """Return number and weight (n, 2) of the paths between pairs (n, 2), whose rows (2, n) in layers are known."""
        if not len(self.count):
            return self._enumerate(pairs, layer, row)
        found = torch.zeros(len(pairs), 2, device=pairs.device)
        known = (row != self.lists.missing).all(0)
        listed = self.start.index_select(0, layer) >= 0
        for where, look in ((known & listed, self._look_up), (known & ~listed, self._enumerate)):
            at = torch.nonzero(where).squeeze(1)
            if len(at):
                found[at] = look(pairs[at], layer[at], row[:, at])
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
        ends, nodes = torch.where(turned, row.flip(0), row), torch.where(turned, pairs.T.flip(0), pairs.T)
        return backend.enumerate_paths(lists, ends, nodes)
