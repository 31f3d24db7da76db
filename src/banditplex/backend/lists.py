"""Neighbour lists of all layers in one compressed sparse table for all backends: a row per active node of a layer."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

MANY = 16  # if rows are asked for at least one of so many keys, all are listed once, so that none is searched for
LAST = np.iinfo(np.int64).max  # a key above all others, so that every search ends at a valid position


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Neighbour lists of every active (layer, node), compressed.

    There are R rows and M arcs. One more row, the last, stands for nodes without neighbours.
    """

    num_nodes: int
    row_key: Tensor  # (R + 1,) layer * num_nodes + node, sorted; then LAST
    indptr: Tensor  # (R + 2,)
    neighbour: Tensor  # (M + 1,), sorted within a row
    arc_key: Tensor  # (M + 1,) row * num_nodes + neighbour, sorted; then LAST
    arc_row: Tensor  # (M + 1,) the row of the neighbour in the same layer, R where it has none
    arc_degree: Tensor  # (M + 1,) float, number of neighbours of the neighbour
    weight: Tensor | None  # (M + 1,) float
    copies: Tensor | None = None  # (M + 1,) int32: how many layers have an arc of the union; 0 for other arcs

    @property
    def device(self) -> torch.device:
        """Where the lists are."""
        return self.indptr.device

    @property
    def missing(self) -> int:
        """The row that stands for nodes without neighbours."""
        return len(self.row_key) - 1

    @cached_property
    def row_degree(self) -> Tensor:
        """Number of neighbours of each row, (R + 1,)."""
        return torch.diff(self.indptr)

    @cached_property
    def degree_terms(self) -> Tensor:
        """What a row adds as a common neighbour: 1 / log(degree), of at least 2, and 1 / degree, (R + 1, 2)."""
        degree = self.row_degree.double()
        return torch.stack([1 / torch.log(degree.clamp(min=2)), 1 / degree.clamp(min=1)], 1)

    @cached_property
    def relative_weight(self) -> Tensor:
        """Weight of each arc (M + 1,), divided by the mean of its layer; 1 without weights."""
        if self.weight is None:
            return torch.ones_like(self.arc_degree)
        layer = torch.repeat_interleave(
            self.row_key // self.num_nodes, self.row_degree, output_size=len(self.weight) - 1
        )
        number = torch.unique_consecutive(layer, return_inverse=True)[1]
        total = torch.zeros(int(number[-1]) + 1 if len(number) else 0, device=layer.device)
        mean = total.index_add(0, number, self.weight[:-1]) / total.index_add(
            0, number, torch.ones_like(self.weight[:-1])
        )
        return torch.cat([self.weight[:-1] / mean.clamp(min=1e-30)[number], self.weight[-1:]])

    def rows(self, layer: Tensor, node: Tensor) -> Tensor:
        """Return the row of each (layer, node), `missing` where the node has no neighbour in the layer."""
        key = layer * self.num_nodes + node
        if self._keys_up_to <= MANY * len(key):
            return self._row_of.index_select(0, key.clamp(max=self._keys_up_to))
        row = torch.searchsorted(self.row_key, key)
        return torch.where(self.row_key.index_select(0, row) == key, row, self.missing)

    def rows_of(self, pairs: Tensor, layer: Tensor) -> Tensor:
        """Return the rows (2, n) of the nodes of pairs (n, 2) in layers (n,)."""
        return self.rows(layer.repeat(2), pairs.T.reshape(-1)).view(2, -1)

    @cached_property
    def _keys_up_to(self) -> int:
        """One more than the largest key of a row."""
        return int(self.row_key[-2]) + 1 if self.missing else 0

    @cached_property
    def _row_of(self) -> Tensor:
        """The row of each key up to the largest, and of one that has none."""
        table = torch.full((self._keys_up_to + 1,), self.missing, device=self.device)
        table[self.row_key[:-1]] = torch.arange(self.missing, device=self.device)
        return table

    def find(self, row: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        """Say for each (row, node) whether node is a neighbour, and at which arc."""
        key = row * self.num_nodes + node
        arc = torch.searchsorted(self.arc_key, key)
        return self.arc_key.index_select(0, arc) == key, arc

    def only(self, layers: Tensor) -> "Neighbours":
        """Return the lists of some layers, sorted; layers keep their indices."""
        first = torch.searchsorted(self.row_key, layers * self.num_nodes)
        last = torch.searchsorted(self.row_key, (layers + 1) * self.num_nodes)
        row_slot, row = ranges(first, last - first)
        row_shift = first - (torch.cumsum(last - first, 0) - (last - first))
        begin, end = self.indptr[first], self.indptr[last]
        slot, arc = ranges(begin, end - begin)
        arc_shift = begin - (torch.cumsum(end - begin, 0) - (end - begin))
        lists = replace(
            self,
            row_key=_append(self.row_key[row], LAST),
            indptr=_append(self.indptr[row] - arc_shift[row_slot], len(arc), len(arc)),
            neighbour=_append(self.neighbour[arc], 0),
            arc_key=_append(self.arc_key[arc] - row_shift[slot] * self.num_nodes, LAST),
            arc_degree=_append(self.arc_degree[arc], 0),
            weight=None if self.weight is None else _append(self.weight[arc], 0),
            copies=None if self.copies is None else _append(self.copies[arc], 0),
        )
        there = self.arc_row[arc]
        there = torch.where(there == self.missing, lists.missing, there - row_shift[slot])
        return replace(lists, arc_row=_append(there, lists.missing))


def _append(values: Tensor, *more: int) -> Tensor:
    return torch.cat([values, torch.tensor(more, dtype=values.dtype, device=values.device)])


def ranges(start: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers start[i], ..., start[i] + size[i] - 1 for all i in one list, and before it the i of each."""
    which = torch.repeat_interleave(size)
    before = torch.cumsum(size, 0) - size
    return which, torch.arange(len(which), device=size.device) + (start - before).index_select(0, which)
