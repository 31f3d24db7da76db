"""Neighbour sampling: in large layers, an encoder sees only what the requested vertices need.

All rows are handled at once, on the device of the graph. The cost grows with what is sampled, not with degrees; rows
that are not reached cost a few bytes.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from banditplex import backend
from banditplex.backend import ranges
from banditplex.nn.graph import Block, HiddenEdges, PackedGraph

WHOLE = 4096  # layers with at most this many arcs, two per edge, are encoded as a whole: sampling would cost more


@dataclass(frozen=True, eq=False)
class Fanout:
    """At most sizes[i] neighbours of each vertex of a large layer are sampled i steps away, with `generator`."""

    sizes: tuple[int, ...]
    generator: torch.Generator

    @classmethod
    def of(cls, sizes: tuple[int, ...] | None, device: torch.device, rng: np.random.Generator) -> "Fanout | None":
        """Return a fan-out whose generator, on the device, is seeded by another one; None: no limit."""
        if sizes is None:
            return None
        return cls(sizes, torch.Generator(device).manual_seed(int(rng.integers(2**62))))


def near_block(
    graph: PackedGraph, layer: Tensor, node: Tensor, hidden: HiddenEdges, row: Tensor, *, between: Tensor, depth: int,
    fanout: Fanout | None, in_front: bool = False,
) -> Block:  # fmt: skip
    """Return what `depth` convolutions need to embed all (layer, node) asked for, whose rows are known.

    Small layers are included as a whole. Of large ones the block has the vertices asked for, those of the rows
    `between`, and what lies within `depth` steps of them. `fanout` limits the neighbours of each vertex; None: all.
    With `in_front`, what the last convolution is needed for comes before all that lies around it.
    Each vertex samples its neighbours once, uniformly without replacement, among those that are not hidden: the mean
    over the sample is an unbiased estimate of the mean over all.
    """
    lists = graph.both
    lone = torch.unique((layer * graph.num_nodes + node)[row == lists.missing])
    view = View(graph, torch.unique(layer), hidden)
    begin = view.whole.clone()
    begin[view.place(torch.cat([row[row != lists.missing], between]))] = True
    seen, count, rank, arc, ends = _walk(view, begin, depth, fanout)
    front = torch.nonzero(begin if in_front else seen).squeeze(1)
    rest = torch.nonzero(seen & ~begin).squeeze(1) if in_front else front[:0]
    vertex = torch.arange(len(front) + len(rest), device=graph.device)
    vertex[len(front) :] += len(lone)
    place = torch.cat([front, rest])
    number, start = torch.zeros_like(view.degree), torch.zeros_like(view.degree)
    number[place], start[place] = vertex, torch.cumsum(count[place], 0) - count[place]
    inside, weight, order = torch.empty_like(ends), None, start[ends[1]] + rank
    inside[:, order] = number[ends]
    if lists.weight is not None:
        weight = lists.weight.new_empty(len(arc))
        weight[order] = lists.weight[arc]
    row, degree = view.row[place], view.degree[place].float()
    key = torch.cat([lists.row_key[row[: len(front)]], lone, lists.row_key[row[len(front) :]]])
    degree = torch.cat([degree[: len(front)], degree.new_zeros(len(lone)), degree[len(front) :]])
    asked = len(front) + len(lone) if in_front else None
    return Block(graph, key, inside, weight, degree, view.layers, view.shift, lone, number=number, asked=asked)


def _walk(
    view: "View", begin: Tensor, depth: int, fanout: Fanout | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Go `depth` steps from the places in `begin`, a mask over all places.

    Returns a mask of the places seen, and how many arcs each place sees; then for each of A arcs its rank among those
    that its place sees (A,), the arc (A,), and the places that it leads to and is seen from (2, A).
    """
    new = seen = begin
    count = torch.zeros_like(view.degree)
    drawn: list[tuple[Tensor, ...]] = []
    for hop in range(depth):
        near = torch.nonzero(new).squeeze(1)
        count[near], which, rank, arc = view.draw(near, fanout, hop)
        there = view.place(view.lists.arc_row[arc])
        drawn.append((near[which], rank, arc, there))
        new = torch.zeros_like(seen)
        new[there] = True
        new &= ~seen
        seen = seen | new
    here, rank, arc, there = (torch.cat(parts) for parts in zip(*drawn, strict=True))
    return seen, count, rank, arc, torch.stack([there, here])


class View:
    """The rows of some layers (S,), sorted, numbered one after the other (their places), without hidden arcs."""

    def __init__(self, graph: PackedGraph, layers: Tensor, hidden: HiddenEdges) -> None:
        lists = graph.both
        self.layers, self.lists = layers, lists
        self._first, last = graph.layer_rows[layers], graph.layer_rows[layers + 1]
        size = last - self._first
        self.shift = self._first - (torch.cumsum(size, 0) - size)  # row - shift = place
        slot, self.row = ranges(self._first, size)
        self.whole = (lists.indptr[last] - lists.indptr[self._first] <= WHOLE)[slot]
        arc = torch.unique(graph.hidden_arcs(hidden, layers)[0])  # sorted, each once
        row = lists.arc_key[arc] // lists.num_nodes
        self._place = self.place(row)
        self._hidden = torch.bincount(self._place, minlength=len(self.row))
        self.degree = lists.row_degree[self.row] - self._hidden
        self._start = torch.cumsum(self._hidden, 0) - self._hidden
        rank = torch.arange(len(arc), device=arc.device) - self._start[self._place]
        self._before = self._place * lists.num_nodes + arc - lists.indptr[row] - rank

    def place(self, row: Tensor) -> Tensor:
        """Return the places of rows of these layers."""
        return row - self.shift[torch.searchsorted(self._first, row, right=True) - 1]

    def draw(self, place: Tensor, fanout: Fanout | None, hop: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Draw visible arcs of the rows at places (n,), at most `fanout` of each in a large layer, `hop` steps away.

        Returns how many (n,), then for each arc: which place i it belongs to, its rank among the arcs of i, the arc.
        """
        degree = self.degree[place]
        if fanout is None:
            which, rank = ranges(torch.zeros_like(degree), degree)
            return degree, which, rank, self._visible(place[which], rank)
        size = fanout.sizes[hop]
        many = (degree > size) & ~self.whole[place]
        count = torch.where(many, size, degree)
        which, rank = ranges(torch.zeros_like(degree), count)
        chosen = rank.clone()
        chosen[many[which]] = choose(degree[many], size, fanout.generator).reshape(-1)
        return count, which, rank, self._visible(place[which], chosen)

    def _visible(self, place: Tensor, chosen: Tensor) -> Tensor:
        """Return the arc to the visible neighbour number `chosen` of the row at each place.

        A hidden arc comes before it if at most `chosen` visible arcs come before that hidden arc.
        """
        arc = self.lists.indptr[self.row[place]] + chosen
        some = torch.nonzero(self._hidden[place]).squeeze(1)
        place = place[some]
        upto = torch.searchsorted(self._before, place * self.lists.num_nodes + chosen[some], right=True)
        arc[some] += upto - self._start[place]
        return arc


def choose(size: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` different numbers below each of size (n,), all sets of them equally likely, (n, count)."""
    chance = torch.rand((len(size), count), dtype=torch.float64, device=size.device, generator=generator)
    return backend.choose(size, chance)
