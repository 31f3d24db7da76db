"""From edges to neighbour lists, on the device: few sorts of integers, and nothing on the host that grows with edges.

Edges of a multiplex are sorted by layer, source and destination, and so are the outgoing arcs of its rows. One stable
sort by layer and destination gives the incoming arcs. An undirected edge stands with its smaller node first, so the
neighbours of a row are its incoming arcs, all from smaller nodes, and then its outgoing arcs: lists are joined without
another sort or search.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.counting import count_lists
from banditplex.backend.lists import LAST, Neighbours, ranges
from banditplex.multiplex import Multiplex

FILLED_AT_ONCE = 1 << 20  # edges whose arcs are filled in at once
MANY_EDGES = 1 << 16  # from so many edges on, compiled loops count arcs: with fewer, it is not worth compiling them
FEW_NODES = 1 << 20  # up to so many nodes, or edges, arcs may be counted: each thread needs memory for all nodes


@dataclass(frozen=True, eq=False)
class EdgeTensors:
    """The edges of a multiplex on a device, each once, by layer, source, destination; if undirected, smaller first."""

    num_nodes: int
    num_layers: int
    directed: bool
    source: Tensor  # (E,)
    destination: Tensor  # (E,)
    layer: Tensor  # (E,)
    weight: Tensor | None  # (E,)

    @classmethod
    def of(cls, mx: Multiplex, device: torch.device | str) -> "EdgeTensors":
        """Move the edges of a multiplex to a device."""
        source, destination = _copy(mx.edge_index, torch.int64).to(device)
        layer = torch.repeat_interleave(torch.from_numpy(mx.layer_sizes).to(device), output_size=len(source))
        wide = torch.float32 if layer.device.type == "mps" else torch.float64  # mps has no float64
        weight = None if mx.weight is None else _copy(mx.weight, wide).to(device)
        return cls(mx.num_nodes, mx.num_layers, mx.directed, source, destination, layer, weight)

    @property
    def is_loop(self) -> Tensor:
        """Say which edges are self loops, (E,)."""
        return self.source == self.destination

    def keep(self, which: Tensor) -> "EdgeTensors":
        """Return the edges marked in a mask (E,)."""
        return self if bool(which.all()) else self.take(torch.nonzero(which).squeeze(1))

    def take(self, at: Tensor) -> "EdgeTensors":
        """Return the edges at positions (n,), which are in order."""
        return replace(
            self, source=self.source.index_select(0, at), destination=self.destination.index_select(0, at),
            layer=self.layer.index_select(0, at), weight=_select(self.weight, at),
        )  # fmt: skip

    def followed_by(self, other: "EdgeTensors") -> "EdgeTensors":
        """Return all edges of both; those of the other are in later layers."""
        weight = None if self.weight is None or other.weight is None else torch.cat([self.weight, other.weight])
        return replace(
            other, source=torch.cat([self.source, other.source]), weight=weight,
            destination=torch.cat([self.destination, other.destination]), layer=torch.cat([self.layer, other.layer]),
        )  # fmt: skip

    def undirected(self) -> "EdgeTensors":
        """Return each pair of a layer once, smaller node first; of two weights the larger counts."""
        if not self.directed:
            return self
        low, high = torch.minimum(self.source, self.destination), torch.maximum(self.source, self.destination)
        order = _order(self.layer * self.num_nodes + low, high, self.num_nodes, self.num_layers * self.num_nodes)
        columns = torch.stack([self.layer, low, high]).index_select(1, order)
        first, size = _runs(columns)
        weight = None if self.weight is None else _reduce(self.weight.index_select(0, order), size, "max")
        layer, low, high = columns.index_select(1, first)
        return EdgeTensors(self.num_nodes, self.num_layers, False, low, high, layer, weight)


class Union(NamedTuple):
    """All layers as one, and which of them have a pair."""

    edges: EdgeTensors  # in one more layer, the last; weights are sums
    copies: Tensor  # (U,) how many layers have each
    pair_key: Tensor  # (E,) source * num_nodes + destination of the edges of all layers, sorted
    pair_layer: Tensor  # (E,) the layer of each


def unite(edges: EdgeTensors) -> Union:
    """Merge all layers."""
    key = torch.add(edges.destination, edges.source, alpha=edges.num_nodes)
    key, order = stable_sort(key, edges.num_nodes**2)
    key = key.long()
    pair, count = torch.unique_consecutive(key, return_counts=True)
    weight = None if edges.weight is None else _reduce(edges.weight.index_select(0, order), count, "sum")
    source = pair // edges.num_nodes
    merged = EdgeTensors(
        edges.num_nodes, edges.num_layers + 1, edges.directed, source, pair - source * edges.num_nodes,
        torch.full_like(pair, edges.num_layers), weight,
    )  # fmt: skip
    return Union(merged, count, key, edges.layer.index_select(0, order))


def pool(edges: EdgeTensors, layer: Tensor, number: Tensor, first: int) -> tuple[EdgeTensors, Tensor]:
    """Merge layers (m,) into the pools of these numbers (m,), sorted; pool i becomes layer `first` + i.

    Returns the edges of all pools, and how many of the layers of its pool have each.
    """
    bounds = torch.searchsorted(edges.layer, torch.arange(first + 1, device=layer.device))
    which, at = ranges(bounds[layer], bounds[layer + 1] - bounds[layer])
    ends = torch.add(edges.destination[at], edges.source[at], alpha=edges.num_nodes)
    order = _order(number[which], ends, edges.num_nodes**2, int(number[-1]) + 1)
    both = torch.stack([number[which], ends]).index_select(1, order)
    first_of, count = _runs(both)
    pairs = both.index_select(1, first_of)
    weight = None if edges.weight is None else _reduce(edges.weight[at[order]], count, "sum")
    source, destination = pairs[1] // edges.num_nodes, pairs[1] % edges.num_nodes
    layers = first + int(number[-1]) + 1
    return EdgeTensors(edges.num_nodes, layers, edges.directed, source, destination, first + pairs[0], weight), count


def _runs(columns: Tensor) -> tuple[Tensor, Tensor]:
    """Return where runs of equal columns (m, n) begin, and how long they are."""
    new = torch.ones(columns.shape[1], dtype=torch.bool, device=columns.device)
    new[1:] = (columns[:, 1:] != columns[:, :-1]).any(0)
    first = torch.nonzero(new).squeeze(1)
    return first, torch.diff(first, append=first.new_tensor([columns.shape[1]]))


class _Side(NamedTuple):
    """Arcs sorted by row, as the rows that have any."""

    rows: Tensor  # (R,) keys, sorted
    of_arc: Tensor  # (E,) which of the rows each arc belongs to
    size: Tensor  # (R,) arcs of each row

    @classmethod
    def of(cls, keys: Tensor) -> "_Side":
        rows, of_arc, size = torch.unique_consecutive(keys, return_inverse=True, return_counts=True)
        return cls(rows.long(), of_arc, size)

    def find(self, rows: Tensor) -> Tensor:
        """Return the place of each key among the rows, their number where it is not there."""
        place = torch.searchsorted(self.rows, rows)
        known = torch.cat([self.rows, self.rows.new_tensor([LAST])]).index_select(0, place) == rows
        return torch.where(known, place, len(self.rows))


class Arcs(NamedTuple):
    """The arcs of edges in both directions: outgoing in the order of the edges, incoming as `order` says."""

    edges: EdgeTensors
    out: _Side
    into: _Side
    order: Tensor  # (E,) the edges by layer, destination, source

    @classmethod
    def of(cls, edges: EdgeTensors) -> "Arcs":
        """Sort the incoming arcs."""
        heads, tails = (
            torch.add(ends, edges.layer, alpha=edges.num_nodes) for ends in (edges.destination, edges.source)
        )
        keys, order = stable_sort(heads, edges.num_layers * edges.num_nodes)
        return cls(edges, _Side.of(tails), _Side.of(keys), order)


def pack_out(arcs: Arcs, copies: Tensor | None) -> Neighbours:
    """Return the lists of outgoing arcs; `copies` (U,) are those of the last U edges."""
    edges, out, into = arcs.edges, arcs.out, arcs.into
    arc_row = _room(len(arcs.order), arcs.order, len(out.rows))
    arc_row.scatter_(0, arcs.order, out.find(into.rows).index_select(0, into.of_arc))
    key = _fill(torch.add(edges.destination, out.of_arc, alpha=edges.num_nodes), LAST)
    weight = None if edges.weight is None else _fill(edges.weight.float())
    return _lists(
        edges.num_nodes, out.rows, out.size, _fill(edges.destination), key, arc_row, weight, _last(copies, len(key))
    )


def pack_into(arcs: Arcs) -> Neighbours:
    """Return the lists of incoming arcs."""
    edges, out, into, order = arcs.edges, arcs.out, arcs.into, arcs.order
    arc_row = _fill(into.find(out.rows).index_select(0, out.of_arc).index_select(0, order), len(into.rows))
    neighbour = edges.source.index_select(0, order)
    key = _fill(torch.add(neighbour, into.of_arc, alpha=edges.num_nodes), LAST)
    weight = None if edges.weight is None else _fill(edges.weight.float().index_select(0, order))
    return _lists(edges.num_nodes, into.rows, into.size, _fill(neighbour), key, arc_row, weight, None)


@offer
def pack_both(edges: EdgeTensors, copies: Tensor | None) -> Neighbours:
    """Return the lists of undirected edges, each an arc in both directions; `copies` (U,) are those of the last U.

    They are filled in parts: the parts need little memory, the same again and again. Compiled loops count arcs instead.
    """
    num_nodes, arcs = edges.num_nodes, Arcs.of(edges)
    out, into = arcs.out, arcs.into
    keys, place = stable_sort(torch.cat([out.rows, into.rows]), edges.num_layers * num_nodes)
    rows, which = torch.unique_consecutive(keys.long(), return_inverse=True)
    row = torch.empty_like(which).scatter_(0, place, which)
    out_row, into_row = row[: len(out.rows)], row[len(out.rows) :]
    num_out, num_into = torch.zeros_like(rows), torch.zeros_like(rows)
    num_out.scatter_(0, out_row, out.size)
    num_into.scatter_(0, into_row, into.size)
    into_before = torch.cumsum(num_into, 0).index_select(0, out_row)  # a row's incoming arcs come first
    out_before = (torch.cumsum(num_out, 0) - num_out).index_select(0, into_row)
    node, num_edges = out.rows % num_nodes, len(arcs.order)
    first = num_edges - (0 if copies is None else len(copies))  # edge of the union
    neighbour, key, arc_row = (_room(2 * num_edges, place, last) for last in (0, LAST, len(rows)))
    weight = None if edges.weight is None else _room(2 * num_edges, edges.weight[:0].float(), 0)
    counts = None if copies is None else torch.zeros(2 * num_edges + 1, dtype=torch.int32, device=place.device)
    for low in range(0, num_edges, FILLED_AT_ONCE):
        part = slice(low, min(low + FILLED_AT_ONCE, num_edges))
        number = torch.arange(part.start, part.stop, device=place.device)
        here, end = out.of_arc[part], edges.destination[part]  # outgoing arcs
        at = into_before.index_select(0, here).add_(number)
        neighbour.scatter_(0, at, end)
        key.scatter_(0, at, torch.add(end, out_row.index_select(0, here), alpha=num_nodes))
        edge, here = arcs.order[part], into.of_arc[part]  # incoming arcs
        there = out.of_arc.index_select(0, edge)
        back = into_before.index_select(0, there).add_(edge)  # where the outgoing arcs of the same edges are
        at = out_before.index_select(0, here).add_(number)
        end, row = node.index_select(0, there), into_row.index_select(0, here)
        neighbour.scatter_(0, at, end)
        key.scatter_(0, at, end.add_(row, alpha=num_nodes))
        arc_row.scatter_(0, back, row).scatter_(0, at, out_row.index_select(0, there))
        if weight is not None and edges.weight is not None:
            value = edges.weight.index_select(0, edge).float()
            weight.scatter_(0, back, value).scatter_(0, at, value)
        if counts is not None and copies is not None and part.stop > first:
            union = slice(max(first - low, 0), None)  # the last layer comes last in either order
            number_of = copies.index_select(0, edge[union] - first).int()
            counts.scatter_(0, back[union], number_of).scatter_(0, at[union], number_of)
    return _lists(num_nodes, rows, num_out.add_(num_into), neighbour, key, arc_row, weight, counts)


def _are_many(edges: EdgeTensors, copies: Tensor | None) -> bool:
    """Say whether compiled loops can count arcs, and are worth it."""
    size = len(edges.layer)
    return on_cpu(edges.layer) and size >= MANY_EDGES and edges.num_nodes <= max(FEW_NODES, size)


@pack_both.faster(_are_many)
def _pack_both(edges: EdgeTensors, copies: Tensor | None) -> Neighbours:
    ends = edges.source, edges.destination
    return count_lists(edges.num_nodes, edges.num_layers, edges.layer, ends, edges.weight, copies)


def _lists(
    num_nodes: int, rows: Tensor, size: Tensor, neighbour: Tensor, key: Tensor, arc_row: Tensor,
    weight: Tensor | None, copies: Tensor | None,
) -> Neighbours:  # fmt: skip
    """Complete the lists of rows (R,) with `size` (R,) arcs each; lists of arcs have one more entry already."""
    indptr = torch.cat([size.new_zeros(1), torch.cumsum(size, 0), size.new_tensor([len(neighbour) - 1])])
    degree = torch.cat([size, size.new_zeros(1)]).float().index_select(0, arc_row)
    degree[-1] = 0
    return Neighbours(num_nodes, _fill(rows, LAST), indptr, neighbour, key, arc_row, degree, weight, copies)


def _room(size: int, like: Tensor, last: int) -> Tensor:
    """Return a list for `size` values, still to come, and a last one."""
    values = like.new_empty(size + 1)
    values[-1] = last
    return values


def _fill(values: Tensor, last: int = 0) -> Tensor:
    """Return values and a last one."""
    return torch.cat([values, values.new_tensor([last])])


def _last(copies: Tensor | None, size: int) -> Tensor | None:
    """Return copies as those of the last of `size` - 1 arcs, 0 for the others."""
    if copies is None:
        return None
    result = torch.zeros(size, dtype=torch.int32, device=copies.device)
    result[size - 1 - len(copies) : -1] = copies
    return result


def stable_sort(keys: Tensor, bound: int) -> tuple[Tensor, Tensor]:
    """Return keys from 0 to `bound` - 1 in order, and their places; equal keys stay in their order.

    A radix sort of 32 bits takes half the time of one of 64, so keys are returned as 32 bits if they fit.
    """
    values, order = torch.sort(keys.int() if bound < 2**31 else keys, stable=True)
    return values, order


def contains(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Say for each key whether it is in a sorted list."""
    if not len(sorted_keys):
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp_(max=len(sorted_keys) - 1)
    return sorted_keys.index_select(0, place) == keys


def node_features(mx: Multiplex, device: torch.device | str) -> Tensor | None:
    """Return node features as a tensor on a device, with the precision that they have."""
    return None if mx.node_features is None else torch.from_numpy(np.array(mx.node_features)).to(device)


def _order(major: Tensor, minor: Tensor, num_minor: int, num_major: int) -> Tensor:
    """Return the order by two keys, each below its number."""
    if num_minor * num_major < 2**63:
        return stable_sort(major * num_minor + minor, num_major * num_minor)[1]
    order = stable_sort(minor, num_minor)[1]
    return order.index_select(0, stable_sort(major.index_select(0, order), num_major)[1])


def _reduce(values: Tensor, size: Tensor, how: str) -> Tensor:
    """Return the sum or maximum of consecutive groups."""
    return torch.segment_reduce(values, how, lengths=size, unsafe=True) if len(values) else values


def _select(values: Tensor | None, at: Tensor) -> Tensor | None:
    return None if values is None else values.index_select(0, at)


def _copy(values: NDArray[np.generic], kind: torch.dtype) -> Tensor:
    """Copy an array, which may be read-only or a file."""
    result = torch.empty(values.shape, dtype=kind)
    result.numpy()[...] = values
    return result
