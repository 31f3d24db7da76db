"""A multiplex as tensors: the neighbour lists of all layers in one compressed sparse table.

A row is one active node of one layer. All queries are batched: the neighbours of these rows, whether these pairs are
edges of those layers, the common neighbours of these rows. The cost of a query depends on its size, and on the number
of layers only through the logarithm of a binary search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from banditplex.multiplex import Multiplex
from banditplex.nn import kernels
from banditplex.nn.packing import LAST, Arcs, EdgeTensors, pack_both, pack_into, pack_out, pool, unite
from banditplex.nn.panels import flatten


class HiddenEdges(NamedTuple):
    """Edges that must not be seen; entries that are no edges of their layer do not matter."""

    pairs: Tensor  # (n, 2)
    layer: Tensor  # (n,)

    @classmethod
    def of(cls, pairs: Tensor, layers: Tensor) -> "HiddenEdges":
        """Hide each of `pairs` (P, 2) in all its `layers` (P, m).

        >>> HiddenEdges.of(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[5, 6], [5, 7]])).layer
        tensor([5, 6, 5, 7])
        """
        return cls(pairs.repeat_interleave(layers.shape[1], 0), layers.reshape(-1).contiguous())  # to be searched


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
    def missing(self) -> int:
        """The row that stands for nodes without neighbours."""
        return len(self.row_key) - 1

    @cached_property
    def row_degree(self) -> Tensor:
        """Number of neighbours of each row, (R + 1,)."""
        return torch.diff(self.indptr)

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
        row = torch.searchsorted(self.row_key, key)
        return torch.where(self.row_key.index_select(0, row) == key, row, self.missing)

    def find(self, row: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        """Say for each (row, node) whether node is a neighbour, and at which arc."""
        key = row * self.num_nodes + node
        arc = torch.searchsorted(self.arc_key, key)
        return self.arc_key.index_select(0, arc) == key, arc

    def common(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the common neighbours of rows a[i] and b[i]: positions i, arcs from a[i], arcs from b[i].

        Each entry of the shorter list is looked up in the longer one.
        """
        if kernels.usable(a):
            return kernels.common(a, b, self.indptr, self.neighbour)
        size_a, size_b = self.row_degree.index_select(0, a), self.row_degree.index_select(0, b)
        swap = size_a > size_b
        short, long = torch.where(swap, b, a), torch.where(swap, a, b)
        which, arc = ranges(self.indptr.index_select(0, short), torch.minimum(size_a, size_b))
        found, other = self.find(long.index_select(0, which), self.neighbour.index_select(0, arc))
        hit = torch.nonzero(found).squeeze(1)
        which, arc, other = which.index_select(0, hit), arc.index_select(0, hit), other.index_select(0, hit)
        turned = swap.index_select(0, which)
        return which, torch.where(turned, other, arc), torch.where(turned, arc, other)

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


@dataclass(frozen=True, eq=False)
class Block:
    """Some layers as one graph: what an encoder sees in one step.

    There is one vertex per active (layer, node) of the chosen layers, or for those that `number` numbers, and one for
    each further (layer, node) that was asked for. Arcs are sorted by destination; layers are disconnected from each
    other.
    """

    graph: "PackedGraph"
    key: Tensor  # (V,) layer * num_nodes + node
    edge_index: Tensor  # (2, A): messages flow from edge_index[0] to edge_index[1]
    weight: Tensor | None  # (A,)
    degree: Tensor  # (V,) float, number of visible neighbours, sampled or not
    layers: Tensor  # (S,), sorted
    shift: Tensor  # (S,): row of the graph - shift = place of the row among those of these layers
    lone: Tensor  # (V - rows,) keys of the vertices without a row, sorted
    number: Tensor | None = None  # vertex of each place that has one; None = place
    symmetric: bool = False  # whether each arc has its reverse, of the same weight

    @property
    def node(self) -> Tensor:
        """The node of each vertex."""
        return self.key % self.graph.num_nodes

    @property
    def layer(self) -> Tensor:
        """The layer of each vertex."""
        return self.key // self.graph.num_nodes

    def vertex(self, layer: Tensor, node: Tensor, row: Tensor | None = None) -> Tensor:
        """Return the vertex of each (layer, node), whose rows may be known; all must have been asked for."""
        row = self.graph.both.rows(layer, node) if row is None else row
        place = row - self.shift[torch.searchsorted(self.layers, layer.contiguous())]  # of missing rows, anything
        number = place if self.number is None else self.number[place.clamp(max=len(self.number) - 1)]
        if not len(self.lone):
            return number
        start = len(self.key) - len(self.lone)
        lone = start + torch.searchsorted(self.lone, layer * self.graph.num_nodes + node)
        return torch.where(row == self.graph.both.missing, lone, number)


@dataclass(frozen=True, eq=False)
class PackedGraph:
    """The layers of a multiplex on a device, without self loops.

    `both` has an arc each way for every edge. In a directed multiplex `out` and `into` hold outgoing and incoming arcs;
    otherwise they are `both`.
    """

    num_nodes: int
    num_layers: int  # including the union and pools
    directed: bool
    both: Neighbours
    out: Neighbours
    into: Neighbours
    layer_rows: Tensor  # (num_layers + 1,): rows of layer l of `both` are layer_rows[l] to layer_rows[l + 1]
    union: bool = False  # whether there is the union of all layers, after them
    num_pools: int = 0  # pools of some layers, which come last
    pair_key: Tensor | None = None  # (E,) with a union: source * num_nodes + destination of every edge, sorted
    pair_layer: Tensor | None = None  # (E,) the layer of each

    @classmethod
    def from_multiplex(cls, mx: Multiplex, device: torch.device | str = "cpu", *, union: bool = False) -> "PackedGraph":
        """Pack the edges of a multiplex on a device; with `union`, the union of all layers is one more.

        The union comes after all layers. Its weights are the sums over layers.
        """
        return cls.from_edges(EdgeTensors.of(mx, device), union=union)

    @classmethod
    def from_edges(
        cls, edges: EdgeTensors, *, union: bool = False, pools: Sequence[tuple[int, ...]] = (),
        layers: Tensor | None = None,
    ) -> "PackedGraph":  # fmt: skip
        """Pack edges where they are; parameters as for `from_multiplex`. With a union, `pools` of layers follow it.

        With `layers`, the others look empty, but are part of union and pools.
        """
        edges = edges.keep(~edges.is_loop)
        pairs, copies, pair_copies = edges.undirected(), None, None
        index: tuple[Tensor, Tensor] | tuple[None, None] = (None, None)
        if union:
            merged = unite(edges)
            pairs_merged = unite(replace(pairs, weight=None)) if edges.directed else merged
            copies, pair_copies = merged.copies, pairs_merged.copies
            index = merged.pair_key, merged.pair_layer
            every = [merged.edges]
            if pools:
                flat = *flatten(pools, edges.layer.device), edges.num_layers
                more, count = pool(edges, *flat)
                pair_count = pool(replace(pairs, weight=None), *flat)[1] if edges.directed else count
                copies, pair_copies = torch.cat([copies, count]), torch.cat([pair_copies, pair_count])
                every.append(replace(more, layer=more.layer + 1, num_layers=more.num_layers + 1))
            if layers is not None:
                edges, pairs = (each.keep(torch.isin(each.layer, layers)) for each in (edges, pairs))
            for each in every:
                edges = edges.followed_by(each)
                pairs = pairs.followed_by(each.undirected()) if edges.directed else edges
        num_nodes, num_layers = edges.num_nodes, edges.num_layers
        both = out = into = Neighbours(num_nodes, *pack_both(pairs, pair_copies))
        if edges.directed:
            arcs = Arcs.of(edges)
            out, into = Neighbours(num_nodes, *pack_out(arcs, copies)), Neighbours(num_nodes, *pack_into(arcs))
        starts = torch.arange(num_layers + 1, device=edges.layer.device) * num_nodes
        rows = torch.searchsorted(both.row_key, starts)
        return cls(num_nodes, num_layers, edges.directed, both, out, into, rows, union, len(pools), *index)

    @property
    def num_plain(self) -> int:
        """The number of layers of the multiplex; also the number of the union, if there is one."""
        return self.num_layers - self.union - self.num_pools

    @cached_property
    def max_arcs(self) -> int:
        """The number of arcs of the largest layer, two per edge."""
        return int(torch.diff(self.both.indptr[self.layer_rows]).max()) if self.num_layers else 0

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.layer_rows.device

    def only(self, layers: Tensor) -> "PackedGraph":
        """Return the graph of some layers, sorted, which keep their indices; the others are empty.

        Searches in it do not depend on the number of layers: use it for many queries about few layers.
        """
        both = self.both.only(layers)
        out, into = (self.out.only(layers), self.into.only(layers)) if self.directed else (both, both)
        starts = torch.arange(self.num_layers + 1, device=self.device) * self.num_nodes
        return replace(self, both=both, out=out, into=into, layer_rows=torch.searchsorted(both.row_key, starts))

    def has_edge(self, pairs: Tensor, layer: Tensor) -> Tensor:
        """Say for each pair (n, 2) whether it is an edge, in its direction, of its layer (n,)."""
        return self.out.find(self.out.rows(layer, pairs[:, 0]), pairs[:, 1])[0]

    def block(self, layer: Tensor, node: Tensor, hidden: HiddenEdges, row: Tensor | None = None) -> Block:
        """Return the whole layers of all (layer, node) asked for, whose rows may be known.

        Edges in `hidden` are left out, in both directions.
        """
        lists = self.both
        layers = torch.unique(layer)
        first, last = self.layer_rows[layers], self.layer_rows[layers + 1]
        size = last - first
        shift = first - (torch.cumsum(size, 0) - size)
        _, rows = ranges(first, size)
        wanted = layer * self.num_nodes + node
        row_asked = lists.rows(layer, node) if row is None else row
        lone = torch.unique(wanted[row_asked == lists.missing])
        begin, end = lists.indptr[first], lists.indptr[last]
        which, arc = ranges(begin, end - begin)
        local_begin = begin - (torch.cumsum(end - begin, 0) - (end - begin))
        visible = torch.ones(len(arc), dtype=torch.bool, device=self.device)
        visible[self._places(hidden, layers, local_begin)] = False
        kept = torch.nonzero(visible).squeeze(1)
        source = lists.arc_row.index_select(0, arc) - shift.index_select(0, which)
        destination = torch.repeat_interleave(lists.row_degree.index_select(0, rows))
        inside = torch.stack([source.index_select(0, kept), destination.index_select(0, kept)])
        key = torch.cat([lists.row_key.index_select(0, rows), lone])
        degree = torch.bincount(inside[1], minlength=len(key)).float()
        weight = None if lists.weight is None else lists.weight.index_select(0, arc.index_select(0, kept))
        return Block(self, key, inside, weight, degree, layers, shift, lone, symmetric=True)

    def _places(self, hidden: HiddenEdges, layers: Tensor, begin: Tensor) -> Tensor:
        """Return where the arcs of hidden edges stand in a block whose layers' arcs start at `begin`."""
        pairs, layer = hidden
        ends = torch.cat([pairs, pairs.flip(1)])
        layer = torch.cat([layer, layer])
        found, arc = self.both.find(self.both.rows(layer, ends[:, 0]), ends[:, 1])
        slot = torch.searchsorted(layers, layer).clamp(max=len(layers) - 1)
        return (arc - begin[slot])[found & (layers[slot] == layer)]


def _append(values: Tensor, *more: int) -> Tensor:
    return torch.cat([values, torch.tensor(more, dtype=values.dtype, device=values.device)])


def ranges(start: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers start[i], ..., start[i] + size[i] - 1 for all i in one list, and before it the i of each."""
    which = torch.repeat_interleave(size)
    before = torch.cumsum(size, 0) - size
    return which, torch.arange(len(which), device=size.device) + (start - before).index_select(0, which)
