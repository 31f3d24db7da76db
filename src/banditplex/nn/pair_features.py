"""What the layers say about a pair: its edge, common neighbours, degrees; sparse, for many (pair, layer) at once.

In the target layer the pair's own edge is never visible. Common neighbours of (u, v) never use that edge; degrees
do, and there it is subtracted.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex.nn.graph import Neighbours, PackedGraph, ranges

NUM_SHARED = 7
NUM_FLAG = 1
NUM_CROSS = 3


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Numbers (n, F) about n pairs in one layer each, and their common neighbours as a flat list.

    Common neighbour i belongs to pair `which[i]` and is where `arc[i]` of the graph leads.
    """

    values: Tensor
    which: Tensor
    arc: Tensor


def num_features(directed: bool) -> tuple[int, int]:
    """Return how many numbers there are about a pair in its target layer, and in another layer.

    >>> num_features(directed=False)
    (7, 11)
    """
    own = NUM_SHARED + 4 * directed
    return own, own + NUM_FLAG + NUM_CROSS


@torch.no_grad()
def own_features(graph: PackedGraph, pairs: Tensor, target: Tensor) -> PairFeatures:
    """Describe pairs (n, 2) in their target layers (n,), as if they were no edges there.

    Columns: log(1 + common neighbours), log(1 + Adamic-Adar), sqrt(resource allocation), log(1 + smaller degree),
    log(1 + larger degree), Jaccard, product of the two logs; if directed also whether the reverse arc exists,
    log(1 + paths u -> w -> v), log(1 + out-degree of u), log(1 + in-degree of v).
    """
    return _features(graph, pairs, target, own=True)


@torch.no_grad()
def other_features(graph: PackedGraph, pairs: Tensor, layer: Tensor, target: Tensor) -> PairFeatures:
    """Describe pairs (n, 2) of target layers (n,) in other layers (n,).

    Columns: those of `own_features` with the pair's own edge where it is, whether the pair is an edge, and
    log(1 + count), log(1 + Adamic-Adar), sqrt(resource allocation) of the nodes that are next to one end in the
    target layer and next to the other end in this layer.
    """
    here = _features(graph, pairs, layer, own=False)
    lists = graph.both
    ends = pairs.flip(1)
    which, arc, other = lists.common(
        lists.rows(torch.cat([target, target]), torch.cat([pairs[:, 0], ends[:, 0]])),
        lists.rows(torch.cat([layer, layer]), torch.cat([pairs[:, 1], ends[:, 1]])),
    )
    degree = torch.sqrt(lists.arc_degree[arc] * lists.arc_degree[other])
    count, adamic, allocation = _sums(which % len(pairs), degree, len(pairs))
    edge = graph.has_edge(pairs, layer).float()
    cross = [edge, torch.log1p(count), torch.log1p(adamic), torch.sqrt(allocation)]
    return PairFeatures(torch.cat([here.values, torch.stack(cross, 1)], 1), here.which, here.arc)


def _features(graph: PackedGraph, pairs: Tensor, layer: Tensor, *, own: bool) -> PairFeatures:
    lists, (u, v) = graph.both, pairs.unbind(1)
    row_u, row_v = lists.rows(layer, u), lists.rows(layer, v)
    which, arc, _ = lists.common(row_u, row_v)
    count, adamic, allocation = _sums(which, lists.arc_degree[arc], len(pairs))
    joined = lists.find(row_u, v)[0]
    reverse = graph.has_edge(pairs.flip(1), layer) if graph.directed else torch.zeros_like(joined)
    hidden = (joined & ~reverse).float() if own else torch.zeros_like(count)
    degree_u, degree_v = lists.row_degree[row_u] - hidden, lists.row_degree[row_v] - hidden
    low, high = torch.log1p(torch.minimum(degree_u, degree_v)), torch.log1p(torch.maximum(degree_u, degree_v))
    jaccard = count / (degree_u + degree_v - count).clamp(min=1)
    columns = [torch.log1p(count), torch.log1p(adamic), torch.sqrt(allocation), low, high, jaccard, low * high]
    if graph.directed:
        columns += _directed(graph, pairs, layer, reverse, own=own)
    return PairFeatures(torch.stack(columns, 1), which, arc)


def _directed(graph: PackedGraph, pairs: Tensor, layer: Tensor, reverse: Tensor, *, own: bool) -> list[Tensor]:
    out, into, (u, v) = graph.out, graph.into, pairs.unbind(1)
    row_u, row_v = out.rows(layer, u), into.rows(layer, v)
    hidden = out.find(row_u, v)[0].float() if own else torch.zeros(len(u), device=u.device)
    through = _between(out, into, row_u, row_v)
    return [
        reverse.float(),
        torch.log1p(through),
        torch.log1p(out.row_degree[row_u] - hidden),
        torch.log1p(into.row_degree[row_v] - hidden),
    ]


def _between(out: Neighbours, into: Neighbours, row_u: Tensor, row_v: Tensor) -> Tensor:
    """Count the nodes w with u -> w -> v; own arcs do not matter, since w is neither u nor v."""
    size = out.row_degree[row_u]
    which, arc = ranges(out.indptr[row_u], size)
    found, _ = into.find(row_v[which], out.neighbour[arc])
    return torch.zeros(len(size), device=size.device).index_add_(0, which, found.float())


def _sums(which: Tensor, degree: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return per pair: the number of common neighbours, sum of 1 / log(degree), sum of 1 / degree."""
    columns = torch.stack([torch.ones_like(degree), 1 / torch.log(degree.clamp(min=2)), 1 / degree], 1)
    total = torch.zeros(size, 3, device=degree.device).index_add_(0, which, columns)
    return total[:, 0], total[:, 1], total[:, 2]
