"""Structural features of a pair in a layer: edge, common neighbours, degrees; sparse, for many (pair, layer) at once.

`Visibility` says what is hidden of a pair. Common neighbours of (u, v) never use edges between u and v; degrees do, so
hidden edges are subtracted there.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex.nn.graph import Neighbours, PackedGraph, ranges
from banditplex.pairs.visibility import Visibility

HIDE_EDGE = Visibility()
NUM_SHARED = 7
NUM_FLAG = 1
NUM_CROSS = 3


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Features (n, F) of n pairs in one layer each, and their common neighbours as a flat list.

    Common neighbour i belongs to pair `which[i]`, is the destination of `arc[i]`, and has `degree[i]`.
    """

    values: Tensor
    pairs: Tensor  # (n, 2)
    layer: Tensor  # (n,)
    row: Tensor  # (2, n), rows of the graph
    which: Tensor
    arc: Tensor
    degree: Tensor


def num_features(directed: bool) -> tuple[int, int]:
    """Return the number of features of a pair in its target layer, and in another layer.

    >>> num_features(directed=False)
    (7, 11)
    """
    own = NUM_SHARED + 4 * directed
    return own, own + NUM_FLAG + NUM_CROSS


@torch.no_grad()
def compute_pair_features(
    graph: PackedGraph, pairs: Tensor, target: Tensor, layers: Tensor, visibility: Visibility = HIDE_EDGE
) -> tuple[PairFeatures, PairFeatures]:
    """Return features of pairs (P, 2) in their target layers (P,) and in other layers (P, k): P and P * k rows.

    In the target layer, as if the pair were no edge there: log(1 + common neighbours), log(1 + Adamic-Adar),
    sqrt(resource allocation), log(1 + smaller degree), log(1 + larger degree), Jaccard, product of the two logs; if
    directed also whether the reverse arc exists, log(1 + paths u -> w -> v), log(1 + out-degree of u), log(1 +
    in-degree of v).

    In another layer, the same with the pair's edge included; then whether the pair is an edge, and log(1 + count),
    log(1 + Adamic-Adar), sqrt(resource allocation) of the nodes that are neighbours of one end in the target layer and
    of the other end in this layer.

    `visibility` says which further edges between the two nodes count as absent.
    """
    lists, (num_pairs, k) = graph.both, layers.shape
    layer = torch.cat([target, layers.reshape(-1)])
    ends = torch.cat([pairs, pairs.repeat_interleave(k, 0)])
    size, rest = len(layer), num_pairs * k
    row = lists.rows(torch.cat([layer, layer]), ends.T.reshape(-1)).view(2, size)
    from_target, there = row[:, :num_pairs].repeat_interleave(k, 1), row[:, num_pairs:]
    which, arc, other = lists.common(
        torch.cat([row[0], from_target[0], there[0]]), torch.cat([row[1], there[1], from_target[1]])
    )
    degree = lists.arc_degree.index_select(0, arc)
    sums = _sums(which, torch.sqrt(degree * lists.arc_degree.index_select(0, other)), size + 2 * rest)
    hidden = _hidden_arcs(layer, num_pairs, visibility)
    columns, edge = _columns(graph, ends, layer, row, sums[:size], *hidden)
    count, adamic, allocation = (sums[size : size + rest] + sums[size + rest :]).unbind(1)
    cross = [edge[num_pairs:], torch.log1p(count), torch.log1p(adamic), torch.sqrt(allocation)]
    first, last = torch.searchsorted(which, torch.tensor([num_pairs, size], device=layer.device)).tolist()
    return (
        PairFeatures(
            columns[:num_pairs], pairs, target, row[:, :num_pairs], which[:first], arc[:first], degree[:first]
        ),
        PairFeatures(
            torch.cat([columns[num_pairs:], torch.stack(cross, 1)], 1), ends[num_pairs:], layer[num_pairs:],
            there, which[first:last] - num_pairs, arc[first:last], degree[first:last],
        ),
    )  # fmt: skip


def _hidden_arcs(layer: Tensor, num_pairs: int, visibility: Visibility) -> tuple[Tensor, Tensor]:
    """Say for each (pair, layer), target layers first, whether its edge is hidden there, and whether its reverse is."""
    own = torch.arange(len(layer), device=layer.device) < num_pairs
    if visibility.hides_everywhere:
        own = torch.ones_like(own)
    return own, own if visibility.hides_reverse or visibility.hides_everywhere else torch.zeros_like(own)


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
    count, adamic, allocation = sums.unbind(1)
    degree = lists.row_degree[row] - hidden.float()
    logs = torch.log1p(degree)
    low, high = torch.minimum(logs[0], logs[1]), torch.maximum(logs[0], logs[1])
    jaccard = count / (degree.sum(0) - count).clamp(min=1)
    shared = [torch.log1p(count), torch.log1p(adamic), torch.sqrt(allocation), low, high, jaccard, low * high]
    return torch.stack(shared + further, 1), (edge & ~own).float()


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


def _sums(which: Tensor, degree: Tensor, size: int) -> Tensor:
    """Return per pair: the number of common neighbours, sum of 1 / log(degree), sum of 1 / degree; (size, 3)."""
    columns = torch.stack([torch.ones_like(degree), 1 / torch.log(degree.clamp(min=2)), 1 / degree], 1)
    return torch.zeros(size, 3, device=degree.device).index_add_(0, which, columns)
