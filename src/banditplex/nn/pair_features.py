"""Structural features of a pair in a layer: edge, common neighbours, degrees; sparse, for many (pair, layer) at once.

`Visibility` says what is hidden of a pair. Common neighbours of (u, v) never use edges between u and v; degrees do, so
hidden edges are subtracted there.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex import backend
from banditplex.backend import Neighbours, ranges
from banditplex.nn.graph import PackedGraph
from banditplex.pairs.visibility import Visibility

HIDE_EDGE = Visibility()
NUM_SHARED = 7
NUM_FLAG = 1
NUM_CROSS = 3
NUM_WEIGHTED = 2


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Features (n, F) of n pairs in one layer each, and their common neighbours as a flat list.

    Common neighbour i belongs to pair `which[i]`, is the destination of `arc[i]`, and has `degree[i]`.
    """

    values: Tensor
    pairs: Tensor  # (n, 2); without lists, each pair once for all its layers
    layer: Tensor  # (n,)
    row: Tensor  # (2, n), rows of the graph
    which: Tensor
    arc: Tensor
    degree: Tensor

    @classmethod
    def without_lists(cls, values: Tensor, pairs: Tensor, layer: Tensor, row: Tensor) -> "PairFeatures":
        """Return features without the common neighbours themselves."""
        nothing = layer[:0]
        return cls(values, pairs, layer, row, nothing, nothing, nothing)


def num_features(visibility: Visibility) -> tuple[int, int]:
    """Return the number of features of a pair in its target layer, and in another layer."""
    own = NUM_SHARED + 4 * visibility.directed + NUM_WEIGHTED * visibility.weighted
    return own, own + NUM_FLAG + NUM_CROSS


def compute_pair_features(
    graph: PackedGraph, pairs: Tensor, target: Tensor, layers: Tensor, visibility: Visibility = HIDE_EDGE
) -> tuple[PairFeatures, PairFeatures]:
    """Return features of pairs (P, 2) in their target layers (P,) and in other layers (P, k): P and P * k rows.

    `visibility` says which further edges between the two nodes count as absent.
    """
    own = own_features(graph, pairs, target, visibility)
    return own, other_features(graph, pairs, own.row, layers, visibility)


@torch.no_grad()
def with_lists(graph: PackedGraph, values: Tensor, pairs: Tensor, target: Tensor, row: Tensor) -> PairFeatures:
    """Return features (P, F) that are known, of pairs (P, 2) in target layers (P,), with their common neighbours."""
    which, arc, _ = backend.find_common(graph.both, row[0], row[1])
    degree = graph.both.arc_degree.index_select(0, arc)
    return PairFeatures(values, pairs, target, row, which, arc, degree)


@torch.no_grad()
def own_features(graph: PackedGraph, pairs: Tensor, target: Tensor, visibility: Visibility = HIDE_EDGE) -> PairFeatures:
    """Return features of pairs (P, 2) in their target layers (P,), as if they were no edges there.

    They are log(1 + common neighbours), log(1 + Adamic-Adar), sqrt(resource allocation), log(1 + smaller degree),
    log(1 + larger degree), Jaccard, product of the two logs; if directed also whether the reverse arc exists, log(1 +
    paths u -> w -> v), log(1 + out-degree of u), log(1 + in-degree of v); if weights count also those of `_weighted`.
    """
    row = graph.both.rows_of(pairs, target)
    more = [_weighted(graph.both, row)] if visibility.weighted else []
    if graph.directed:
        own = torch.ones_like(target, dtype=torch.bool)
        reverse = own if visibility.hides_reverse or visibility.hides_everywhere else ~own
        columns, _ = _columns(graph, pairs, target, row, backend.shared_sums(graph.both, *row), own, reverse)
    else:
        columns = backend.own_columns(graph.both, pairs, row)
    return PairFeatures.without_lists(torch.cat([columns, *more], 1), pairs, target, row)


@torch.no_grad()
def other_features(
    graph: PackedGraph, pairs: Tensor, row: Tensor, layers: Tensor, visibility: Visibility = HIDE_EDGE, *,
    listed: bool = False,
) -> PairFeatures:  # fmt: skip
    """Return features of pairs (P, 2) in other layers (P, k): P * k rows. Rows (2, P) in target layers are known.

    They are those in target layers, with the pair's edge included; then whether the pair is an edge, and log(1 +
    count), log(1 + Adamic-Adar), sqrt(resource allocation) of the nodes that are neighbours of one end in the target
    layer and of the other end in this layer. The common neighbours themselves are there if they are to be `listed`.
    """
    k, layer = layers.shape[1], layers.reshape(-1)
    if not (listed or graph.directed or visibility.weighted):
        asked = graph.layer_rows, pairs, row, layers
        values, there = backend.other_columns(graph.both, *asked, hidden=visibility.hides_everywhere)
        return PairFeatures.without_lists(values, pairs, layer, there)
    ends, row = pairs.repeat_interleave(k, 0), row.repeat_interleave(k, 1)
    there = graph.both.rows_of(ends, layer)
    if listed:
        sums, (which, arc, _) = backend.list_common(graph.both, *there)
        common = which, arc, graph.both.arc_degree.index_select(0, arc)
    else:
        sums, common = backend.shared_sums(graph.both, *there), (layer[:0],) * 3
    hidden = torch.full_like(layer, visibility.hides_everywhere, dtype=torch.bool)
    columns, edge = _columns(graph, ends, layer, there, sums, hidden, hidden)
    more = [_weighted(graph.both, there)] if visibility.weighted else []
    cross = edge.unsqueeze(1), backend.cross_columns(graph.both, row, there)
    return PairFeatures(torch.cat([columns, *more, *cross], 1), ends, layer, there, *common)


def _columns(
    graph: PackedGraph, ends: Tensor, layer: Tensor, row: Tensor, sums: Tensor, own: Tensor, own_reverse: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the columns that target and other layers share, and whether each pair is a visible edge of its layer."""
    lists = graph.both
    joined = lists.find(row[0], ends[:, 1])[0]
    edge, hidden = joined, joined & own
    further: list[Tensor] = []
    if graph.directed:
        edge, reverse = graph.has_edge(ends, layer), graph.has_edge(ends.flip(1), layer) & ~own_reverse
        hidden = joined & ~reverse & ~(edge & ~own)
        further = [reverse.float(), *_directed(graph, ends, layer, (edge & own).float())]
    columns = backend.degree_columns(lists, row, sums, hidden)
    return torch.cat([columns, *(each.unsqueeze(1) for each in further)], 1), (edge & ~own).float()


def _weighted(lists: Neighbours, row: Tensor) -> Tensor:
    """Return (n, 2) sums over the common neighbours w of rows (2, n), as log(1 + sum): x, and x / log(degree of w).

    x is the root of the product of the weights of u - w and w - v, each relative to the mean weight of its layer.
    """
    which, arc, other = backend.find_common(lists, row[0], row[1])
    weight = lists.relative_weight
    x = torch.sqrt(weight.index_select(0, arc) * weight.index_select(0, other))
    terms = torch.stack([x, x / torch.log(lists.arc_degree.index_select(0, arc).clamp(min=2))], 1)
    return torch.log1p(torch.zeros(row.shape[1], 2, device=row.device).index_add_(0, which, terms))


def _directed(graph: PackedGraph, ends: Tensor, layer: Tensor, hidden: Tensor) -> list[Tensor]:
    out, into = graph.out, graph.into
    row_u, row_v = out.rows(layer, ends[:, 0]), into.rows(layer, ends[:, 1])
    return [
        torch.log1p(_between(out, into, row_u, row_v)),
        torch.log1p(out.row_degree[row_u] - hidden),
        torch.log1p(into.row_degree[row_v] - hidden),
    ]


def _between(out: Neighbours, into: Neighbours, row_u: Tensor, row_v: Tensor) -> Tensor:
    """Count the nodes w with u -> w -> v; own arcs do not matter, since w is neither u nor v."""
    size = out.row_degree[row_u]
    which, arc = ranges(out.indptr[row_u], size)
    found, _ = into.find(row_v[which], out.neighbour[arc])
    return torch.zeros(len(size), device=size.device).index_add_(0, which, found.float())
