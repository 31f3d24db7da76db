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

from banditplex.backend import Neighbours, ranges
from banditplex.backend.packing import Arcs, EdgeTensors, pack_both, pack_into, pack_out, pool, unite
from banditplex.multiplex import Multiplex
from banditplex.nn.panels import flatten


class HiddenEdges(NamedTuple):
    """Edges that must not be seen; entries that are no edges of their layer do not matter."""

    pairs: Tensor  # (n, 2)
    layer: Tensor  # (n,)

    @classmethod
    def of(cls, pairs: Tensor, layers: Tensor) -> "HiddenEdges":
        """Hide each of `pairs` (P, 2) in all its `layers` (P, m)."""
        return cls(pairs.repeat_interleave(layers.shape[1], 0), layers.reshape(-1).contiguous())  # to be searched


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
    asked: int | None = None  # so many vertices, the first, were asked for, lone ones last; None: they are anywhere

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
        start = (len(self.key) if self.asked is None else self.asked) - len(self.lone)
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
    num_plain: int  # layers of the multiplex; the union of them, if there is one, comes next, then pools of some
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
        pairs, copies, pair_copies, num_plain = edges.undirected(), None, None, edges.num_layers
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
        both = out = into = pack_both(pairs, pair_copies)
        if edges.directed:
            arcs = Arcs.of(edges)
            out, into = pack_out(arcs, copies), pack_into(arcs)
        starts = torch.arange(num_layers + 1, device=edges.layer.device) * num_nodes
        rows = torch.searchsorted(both.row_key, starts)
        return cls(num_nodes, num_layers, edges.directed, both, out, into, rows, num_plain, *index)

    @cached_property
    def joined(self) -> tuple[Tensor, Tensor]:
        """Keys of all edges, whatever their direction, sorted: smaller node * num_nodes + larger; and their layers."""
        rows = torch.repeat_interleave(self.both.row_key[:-1], self.both.row_degree[:-1])
        node, other = rows % self.num_nodes, self.both.neighbour[:-1]
        once = torch.nonzero(node < other).squeeze(1)
        key, order = torch.sort(node[once] * self.num_nodes + other[once], stable=True)
        return key, rows[once[order]] // self.num_nodes

    @cached_property
    def layers_per_pair(self) -> float:
        """How many layers have a pair of nodes that any layer has, on average."""
        key = self.joined[0]
        return len(key) / max(1, len(torch.unique_consecutive(key)))

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
        """Return whole layers of all (layer, node) asked for, without `hidden` edges, both ways; rows may be known."""
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
        hidden_arc, slot = self.hidden_arcs(hidden, layers)
        visible[hidden_arc - local_begin[slot]] = False
        kept = torch.nonzero(visible).squeeze(1)
        source = lists.arc_row.index_select(0, arc) - shift.index_select(0, which)
        destination = torch.repeat_interleave(lists.row_degree.index_select(0, rows))
        inside = torch.stack([source.index_select(0, kept), destination.index_select(0, kept)])
        key = torch.cat([lists.row_key.index_select(0, rows), lone])
        degree = torch.bincount(inside[1], minlength=len(key)).float()
        weight = None if lists.weight is None else lists.weight.index_select(0, arc.index_select(0, kept))
        return Block(self, key, inside, weight, degree, layers, shift, lone, symmetric=True)

    def hidden_arcs(self, hidden: HiddenEdges, layers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the arcs of hidden edges in some layers (S,), sorted, and the place of each one's layer among them."""
        ends, layer = torch.cat([hidden.pairs, hidden.pairs.flip(1)]), hidden.layer.repeat(2)
        found, arc = self.both.find(self.both.rows(layer, ends[:, 0]), ends[:, 1])
        slot = torch.searchsorted(layers, layer).clamp(max=len(layers) - 1)
        here = found & (layers[slot] == layer)
        return arc[here], slot[here]
