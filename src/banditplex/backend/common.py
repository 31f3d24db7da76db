"""Common neighbours of two rows, and sums over them.

The lists are sorted by node, so one walk along two of them finds what they share. Compiled loops and kernels store
nothing for a common neighbour.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import TURNS, compile_loop, find_place, in_parts
from banditplex.backend.lists import Neighbours, ranges

LONGER = 8  # a list that is so many times as long as the other is searched, not walked along


@offer
def find_common(lists: Neighbours, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the common neighbours of rows a[i] and b[i]: positions i, arcs from a[i], arcs from b[i].

    Each entry of the shorter list is looked up in the longer one.
    """
    size_a, size_b = lists.row_degree.index_select(0, a), lists.row_degree.index_select(0, b)
    swap = size_a > size_b
    short, long = torch.where(swap, b, a), torch.where(swap, a, b)
    which, arc = ranges(lists.indptr.index_select(0, short), torch.minimum(size_a, size_b))
    found, other = lists.find(long.index_select(0, which), lists.neighbour.index_select(0, arc))
    hit = torch.nonzero(found).squeeze(1)
    which, arc, other = which.index_select(0, hit), arc.index_select(0, hit), other.index_select(0, hit)
    turned = swap.index_select(0, which)
    return which, torch.where(turned, other, arc), torch.where(turned, arc, other)


@offer
def shared_sums(lists: Neighbours, a: Tensor, b: Tensor) -> Tensor:
    """Return (n, 3) sums over the common neighbours of rows a (n,) and b (n,): 1, 1 / log(degree), 1 / degree.

    The degree is the geometric mean of a neighbour's degrees in the two rows' layers.
    """
    return add_shared(lists, len(a), *find_common(lists, a, b))


@offer
def list_common(lists: Neighbours, a: Tensor, b: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Return the same sums, and what `find_common` returns."""
    found = find_common(lists, a, b)
    return add_shared(lists, len(a), *found), found


def add_shared(lists: Neighbours, size: int, which: Tensor, arc: Tensor, other: Tensor) -> Tensor:
    """Return the same sums (size, 3), given the common neighbours."""
    degree = torch.sqrt(lists.arc_degree.index_select(0, arc) * lists.arc_degree.index_select(0, other))
    terms = torch.stack([torch.ones_like(degree), 1 / torch.log(degree.clamp(min=2)), 1 / degree], 1)
    return torch.zeros(size, 3, device=degree.device).index_add_(0, which, terms)


@offer
def weighted_columns(lists: Neighbours, a: Tensor, b: Tensor, strength: Tensor) -> Tensor:
    """Return (n, 6) sums over the common neighbours of rows a (n,) and b (n,) of the union, as columns.

    They are 1, 1 / log(degree), 1 / degree, and of the copies x and y of the two arcs: x y, min(x, y), x y / strength.
    Of the third and the sixth, columns are the roots, of the others log(1 + x).
    """
    assert lists.copies is not None
    which, arc, other = find_common(lists, a, b)
    x, y, degree = lists.copies[arc].float(), lists.copies[other].float(), lists.arc_degree[arc]
    terms = [torch.ones_like(x), 1 / torch.log(degree.clamp(min=2)), 1 / degree]
    terms += [x * y, torch.minimum(x, y), x * y / strength[lists.arc_row[arc]]]
    return _as_columns(torch.zeros(len(a), 6, device=a.device).index_add_(0, which, torch.stack(terms, 1)))


def _as_columns(sums: Tensor) -> Tensor:
    sums[:, [0, 1, 3, 4]] = torch.log1p(sums[:, [0, 1, 3, 4]])
    sums[:, [2, 5]] = torch.sqrt(sums[:, [2, 5]])
    return sums


@offer
def own_columns(lists: Neighbours, pairs: Tensor, row: Tensor) -> Tensor:
    """Return the columns (n, 7) of `degree_columns`, of pairs (n, 2) at rows (2, n), whose edges are hidden."""
    return degree_columns(lists, row, shared_sums(lists, row[0], row[1]), lists.find(row[0], pairs[:, 1])[0])


@offer
def other_columns(
    lists: Neighbours, layer_rows: Tensor, pairs: Tensor, row: Tensor, layers: Tensor, *, hidden: bool
) -> tuple[Tensor, Tensor]:
    """Return columns (P * k, 11) of pairs (P, 2) in undirected layers (P, k), and their rows there (2, P * k).

    `row` (2, P) are the rows in target layers; `hidden` says whether the pairs' edges count as absent. The columns are
    those of `degree_columns`, whether the pair is an edge, and those of `cross_columns`.
    """
    k = layers.shape[1]
    there, row = lists.rows_of(pairs.repeat_interleave(k, 0), layers.reshape(-1)), row.repeat_interleave(k, 1)
    joined = lists.find(there[0], pairs[:, 1].repeat_interleave(k))[0]
    absent = torch.full_like(joined, hidden)
    columns = degree_columns(lists, there, shared_sums(lists, *there), joined & absent)
    edge = (joined & ~absent).float().unsqueeze(1)
    return torch.cat([columns, edge, cross_columns(lists, row, there)], 1), there


def degree_columns(lists: Neighbours, row: Tensor, sums: Tensor, hidden: Tensor) -> Tensor:
    """Return (n, 7) columns of rows (2, n), given the sums over common neighbours, and where an edge is hidden.

    They are log(1 + common neighbours), log(1 + Adamic-Adar), sqrt(resource allocation), log(1 + smaller degree),
    log(1 + larger degree), Jaccard, product of the two logs.
    """
    count, adamic, allocation = sums.unbind(1)
    degree = lists.row_degree[row] - hidden.float()
    logs = torch.log1p(degree)
    low, high = torch.minimum(logs[0], logs[1]), torch.maximum(logs[0], logs[1])
    jaccard = count / (degree.sum(0) - count).clamp(min=1)
    return torch.stack(
        [torch.log1p(count), torch.log1p(adamic), torch.sqrt(allocation), low, high, jaccard, low * high], 1
    )


@offer
def cross_columns(lists: Neighbours, row: Tensor, there: Tensor) -> Tensor:
    """Return (n, 3) columns of the nodes next to one end in one layer, at rows (2, n), and to the other in another.

    They are log(1 + count), log(1 + Adamic-Adar), sqrt(resource allocation).
    """
    ends = torch.cat([row[0], there[0]]), torch.cat([there[1], row[1]])
    sums = shared_sums(lists, *ends).view(2, -1, 3).sum(0)
    return torch.cat([torch.log1p(sums[:, :2]), torch.sqrt(sums[:, 2:])], 1)


# Compiled loops


@shared_sums.faster(on_cpu)
def _shared_sums(lists: Neighbours, a: Tensor, b: Tensor) -> Tensor:
    return _run(_shared, 3, a, b, lists.indptr, lists.neighbour, lists.arc_degree)


@weighted_columns.faster(on_cpu)
def _weighted_columns(lists: Neighbours, a: Tensor, b: Tensor, strength: Tensor) -> Tensor:
    assert lists.copies is not None
    arcs = lists.indptr, lists.neighbour, lists.arc_row, lists.copies
    return _as_columns(_run(_weighted, 6, a, b, *arcs, lists.degree_terms, strength))


@other_columns.faster(on_cpu)
def _other_columns(
    lists: Neighbours, layer_rows: Tensor, pairs: Tensor, row: Tensor, layers: Tensor, *, hidden: bool
) -> tuple[Tensor, Tensor]:
    size = layers.numel()
    values, there = torch.empty(size, 11), torch.empty(2, size, dtype=torch.int64)
    asked = [each.contiguous().numpy() for each in (pairs, row, layers.reshape(-1))]
    fields = layer_rows, lists.row_key, lists.indptr, lists.neighbour, lists.arc_degree
    arrays = [each.numpy() for each in fields]
    more, found = (layers.shape[1], lists.num_nodes, hidden), (values.numpy(), there.numpy())
    in_parts(size, lambda part: _other(part.start, part.stop, *asked, *arrays, *more, *found), turns=TURNS)
    return values, there


def _run(loop: Callable[..., None], width: int, a: Tensor, b: Tensor, *lists: Tensor) -> Tensor:
    """Run a loop over the rows a (n,) and b (n,) on as many threads as torch uses; return its results (n, width)."""
    result = np.zeros((len(a), width), np.float32)
    arrays, rows = [each.numpy() for each in lists], (a.contiguous().numpy(), b.contiguous().numpy())
    in_parts(len(a), lambda part: loop(rows[0][part], rows[1][part], *arrays, result[part]), turns=TURNS)
    return torch.from_numpy(result)


@compile_loop
def _common(a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any) -> Any:
    """Return three sums over the common neighbours of two rows."""
    if indptr[a + 1] - indptr[a] > indptr[b + 1] - indptr[b]:
        a, b = b, a
    x, y, end_x, end_y = indptr[a], indptr[b], indptr[a + 1], indptr[b + 1]
    searched = LONGER * (end_x - x) < end_y - y
    count, adamic, allocation = 0.0, 0.0, 0.0
    while x < end_x and y < end_y:
        one, two = neighbour[x], neighbour[y]
        if one == two:
            degree = math.sqrt(arc_degree[x] * arc_degree[y])
            count += 1.0
            adamic += 1.0 / math.log(max(degree, 2.0))
            allocation += 1.0 / degree
        if searched and one > two:
            y = find_place(one, y + 1, end_y, neighbour)
        else:
            x += one <= two
            y += one >= two
    return count, adamic, allocation


@compile_loop
def _shared(a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i, 0], result[i, 1], result[i, 2] = _common(a[i], b[i], indptr, neighbour, arc_degree)


@compile_loop
def _other(
    low: Any, high: Any, pairs: Any, row: Any, layer: Any, layer_rows: Any, row_key: Any, indptr: Any, neighbour: Any,
    arc_degree: Any, k: Any, num_nodes: Any, hidden: Any, values: Any, there: Any,
) -> None:  # fmt: skip
    lists, missing = (indptr, neighbour, arc_degree), len(row_key) - 1
    for i in range(low, high):
        pair, first, last = i // k, layer_rows[layer[i]], layer_rows[layer[i] + 1]
        for end in range(2):
            key = layer[i] * num_nodes + pairs[pair, end]
            at = find_place(key, first, last, row_key)
            there[end, i] = at if at < last and row_key[at] == key else missing
        a, b, own_a, own_b = there[0, i], there[1, i], row[0, pair], row[1, pair]
        arc, end = find_place(pairs[pair, 1], indptr[a], indptr[a + 1], neighbour), indptr[a + 1]
        joined = arc < end and neighbour[arc] == pairs[pair, 1]
        count, adamic, allocation = _common(a, b, *lists)
        less = joined and hidden
        one, two = indptr[a + 1] - indptr[a] - less, indptr[b + 1] - indptr[b] - less
        small, large = math.log1p(min(one, two)), math.log1p(max(one, two))
        result = values[i]
        result[0], result[1], result[2] = math.log1p(count), math.log1p(adamic), math.sqrt(allocation)
        result[3], result[4], result[5] = small, large, count / max(one + two - count, 1.0)
        result[6], result[7] = small * large, joined and not hidden
        there_count, there_adamic, there_allocation = _common(own_a, b, *lists)
        count, adamic, allocation = _common(a, own_b, *lists)
        result[8], result[9] = math.log1p(there_count + count), math.log1p(there_adamic + adamic)
        result[10] = math.sqrt(there_allocation + allocation)


@compile_loop
def _weighted(
    a: Any, b: Any, indptr: Any, neighbour: Any, arc_row: Any, copies: Any, terms: Any, strength: Any, result: Any
) -> None:
    for i in range(len(a)):
        x, y = indptr[a[i]], indptr[b[i]]
        end_x, end_y = indptr[a[i] + 1], indptr[b[i] + 1]
        count, adamic, allocation, product, least, share = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while x < end_x and y < end_y:
            one, two = neighbour[x], neighbour[y]
            if one == two:
                row, both = arc_row[x], float(copies[x]) * copies[y]
                count += 1.0
                adamic += terms[row, 0]
                allocation += terms[row, 1]
                product += both
                least += min(copies[x], copies[y])
                share += both / strength[row]
            x += one <= two
            y += one >= two
        result[i, 0], result[i, 1], result[i, 2] = count, adamic, allocation
        result[i, 3], result[i, 4], result[i, 5] = product, least, share
