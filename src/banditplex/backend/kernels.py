"""Versions in Triton of what the network does most, in one pass each, for data on CUDA.

Rows of tables are narrow here (16 numbers, say), and torch's own kernels are made for wide ones.
"""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from banditplex.backend import common, having, positions, tables, walks
from banditplex.backend.choice import on_cuda
from banditplex.backend.lists import Neighbours

THREADS, ROWS, WIDEST = 32, 64, 256


def narrow(table: Tensor, *_: Any, **__: Any) -> bool:
    """Say whether kernels can work on the rows of a table (n, ...)."""
    return on_cuda(table) and table.dtype == torch.float32 and table[:1].numel() <= WIDEST


# Common neighbours: one group of threads takes one pair of rows, whose lists stay in the cache


@common.find_common.faster(on_cuda)
def _find_common(lists: Neighbours, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _list_common(lists, a, b)[1]


@common.list_common.faster(on_cuda)
def _list_common(lists: Neighbours, a: Tensor, b: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    count = torch.zeros(len(a) + 1, dtype=torch.int64, device=a.device)
    no_float, none = torch.empty(0, device=a.device), count[:0]
    arrays = a.contiguous(), b.contiguous(), lists.indptr, lists.neighbour
    _launch("common", len(a), *arrays, count[1:], no_float, no_float, none, none, none, LIST=False, THREADS=THREADS)
    start = torch.cumsum(count, 0)
    found, sums = count.new_empty((3, int(start[-1]))), torch.empty(len(a), 3, device=a.device)
    _launch("common", len(a), *arrays, start, lists.arc_degree, sums, *found, LIST=True, THREADS=THREADS)
    return sums, (found[0], found[1], found[2])


@common.shared_sums.faster(on_cuda)
def _shared_sums(lists: Neighbours, a: Tensor, b: Tensor) -> Tensor:
    sums = torch.empty(len(a), 3, device=a.device)
    _launch("shared", len(a), a.contiguous(), b.contiguous(), *_arcs_of(lists), sums, THREADS=THREADS)
    return sums


@common.cross_columns.faster(on_cuda)
def _cross_columns(lists: Neighbours, row: Tensor, there: Tensor) -> Tensor:
    size = row.shape[1]
    result = torch.empty(size, 3, device=row.device)
    _launch("cross", size, row.contiguous(), there.contiguous(), *_arcs_of(lists), result, size, THREADS=THREADS)
    return result


@common.own_columns.faster(on_cuda)
def _own_columns(lists: Neighbours, pairs: Tensor, row: Tensor) -> Tensor:
    return _columns(lists, pairs, row, row, 1, HIDDEN=True, OTHER=False)


@common.other_columns.faster(on_cuda)
def _other_columns(
    lists: Neighbours, layer_rows: Tensor, pairs: Tensor, row: Tensor, layers: Tensor, *, hidden: bool
) -> tuple[Tensor, Tensor]:
    k = layers.shape[1]
    there = lists.rows_of(pairs.repeat_interleave(k, 0), layers.reshape(-1))
    return _columns(lists, pairs, row, there, k, HIDDEN=hidden, OTHER=True), there


def _columns(lists: Neighbours, pairs: Tensor, row: Tensor, there: Tensor, k: int, **options: bool) -> Tensor:
    size = there.shape[1]
    result = torch.empty(size, 11 if options["OTHER"] else 7, device=row.device)
    asked = pairs.contiguous(), row.contiguous(), there.contiguous()
    _launch("columns", size, *asked, *_arcs_of(lists), result, size, k, **options, THREADS=THREADS)
    return result


def _arcs_of(lists: Neighbours) -> tuple[Tensor, Tensor, Tensor]:
    return lists.indptr, lists.neighbour, lists.arc_degree


@common.weighted_columns.faster(on_cuda)
def _weighted_columns(lists: Neighbours, a: Tensor, b: Tensor, strength: Tensor) -> Tensor:
    result = torch.empty(len(a), 6, device=a.device)
    arrays = a.contiguous(), b.contiguous(), lists.indptr, lists.neighbour, lists.arc_row, lists.copies
    _launch("weighted", len(a), *arrays, lists.arc_degree, strength, result, THREADS=THREADS)
    return result


@positions.position_columns.faster(on_cuda)
def _position_columns(
    fold: Tensor, layer: Tensor, row: Tensor, vectors: Tensor, values: Tensor, degree: Tensor, size: Tensor
) -> Tensor:
    result, (_, num_rows, rank) = torch.empty(len(fold), 5, device=fold.device), vectors.shape
    asked = fold.contiguous(), layer.contiguous(), row.contiguous()
    options = {"RANK": rank, "ROWS": ROWS}
    sizes = len(fold), num_rows, values.shape[1]
    _launch("positions", -(-len(fold) // ROWS), *asked, vectors, values, degree, size, result, *sizes, **options)
    return result


@having.find_lists.faster(on_cuda)
def _find_lists(
    key: Tensor, target: Tensor, pair_key: Tensor, pair_layer: Tensor, num_layers: int
) -> tuple[Tensor, Tensor]:
    count = torch.zeros(len(target) + 1, dtype=torch.int64, device=target.device)
    bounds = torch.searchsorted(pair_key, key), torch.searchsorted(pair_key, key, right=True)
    arrays, sizes = (*bounds, target.contiguous(), pair_layer), (len(target), num_layers)
    options = {"WAYS": len(key), "THREADS": THREADS}
    _launch("having", len(target), *arrays, count[1:], count, *sizes, MODE=0, **options)
    start = torch.cumsum(count, 0)
    places = count.new_empty(int(start[-1]))
    _launch("having", len(target), *arrays, start, places, *sizes, MODE=1, **options)
    return start, places


@walks.enumerate_paths.faster(on_cuda)
def _enumerate_paths(lists: Neighbours, ends: Tensor, nodes: Tensor) -> Tensor:
    result = torch.empty(ends.shape[1], 2, device=ends.device)
    asked = *ends.contiguous().unbind(0), *nodes.contiguous().unbind(0)
    arrays = lists.indptr, lists.neighbour, lists.arc_row, lists.arc_degree
    _launch("paths", len(result), *asked, *arrays, result, CAP=walks.CAP)
    return result


@tables.choose.faster(on_cuda)
def _choose(size: Tensor, chance: Tensor) -> Tensor:
    result = size.new_empty(chance.shape)
    _launch_rows("choose", size.contiguous(), chance.contiguous(), result, like=result)
    return result


# Rows of a table


@tables.take.faster(narrow)
def _take(table: Tensor, index: Tensor) -> Tensor:
    return _Take.apply(table, index)  # type: ignore[no-untyped-call]


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        result = table.new_empty(len(index), *table.shape[1:])
        _launch_rows("take", table.contiguous(), index.contiguous(), result, like=result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        result = gradient.new_zeros(ctx.shape)
        _launch_rows("add_to", result, index.contiguous(), gradient.contiguous(), like=gradient)
        return result, None


@tables.add_up.faster(narrow)
def _add_up(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, share: Tensor | None = None
) -> Tensor:
    result = torch.empty(len(start), x.shape[1], device=x.device)
    return _arcs(x, source, weight, start, count, share, result, BACK=False)


@tables.add_up_back.faster(narrow)
def _add_up_back(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, share: Tensor | None = None,
    into: Tensor | None = None,
) -> Tensor:  # fmt: skip
    into = x.new_zeros(x.shape) if into is None else into
    return _arcs(x, source, weight, start, count, share, into, BACK=True)


def _arcs(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, share: Tensor | None,
    result: Tensor, *, BACK: bool,
) -> Tensor:  # fmt: skip
    x = x.contiguous()
    arrays = x, source.contiguous(), x if weight is None else weight, start, count, x if share is None else share
    given = weight is not None, share is not None
    like = x if BACK else result
    _launch_rows("add_up", *arrays, result, like=like, BACK=BACK, WEIGHTED=given[0], SHARED=given[1])
    return result


@tables.add_listed.faster(narrow)
def _add_listed(table: Tensor, index: Tensor, start: Tensor) -> Tensor:
    return _AddListed.apply(table, index, start)  # type: ignore[no-untyped-call]


class _AddListed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, start: Tensor) -> Tensor:
        ctx.save_for_backward(index, start)
        ctx.shape = table.shape
        return _add_up(table, index, None, start[:-1], torch.diff(start))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        index, start = ctx.saved_tensors
        into = gradient.new_zeros(ctx.shape)
        return _add_up_back(gradient, index, None, start[:-1], torch.diff(start), into=into), None, None


@tables.add_silu.faster(narrow)
def _add_silu(x: Tensor, y: Tensor) -> Tensor:
    result = x.new_empty(x.shape)
    _launch_rows("add_silu", x.contiguous(), y.contiguous(), result, like=x)
    return result


@tables.adapt.faster(narrow)
def _adapt(x: Tensor, table: Tensor, index: Tensor) -> Tensor:
    return _Adapt.apply(x, table, index)  # type: ignore[no-untyped-call]


class _Adapt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, index: Tensor) -> Tensor:
        saved = x.contiguous(), table.contiguous(), index.contiguous()
        ctx.save_for_backward(*saved)
        result = torch.empty_like(saved[0])
        _launch_rows("adapt", *saved, x, result, table, like=x, more=(tables.EPS,), BACK=False)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, table, index = ctx.saved_tensors
        result, by_table = torch.empty_like(x), torch.zeros_like(table)
        arrays = x, table, index, gradient.contiguous(), result, by_table
        _launch_rows("adapt", *arrays, like=x, more=(tables.EPS,), BACK=True)
        return result, by_table, None


# Launching


def _launch_rows(name: str, *arrays: Tensor, like: Tensor, more: tuple[float, ...] = (), **options: Any) -> None:
    """Run a kernel on blocks of the rows of tables like `like`."""
    n, width = len(like), like[:1].numel()
    if n and width:
        block = 1 << (width - 1).bit_length()
        rows = max(8, min(ROWS, 2048 // block))
        _launch(name, -(-n // rows), *arrays, n, width, *more, **options, ROWS=rows, WIDTH=block)


def _launch(name: str, programs: int, *arguments: Any, **options: Any) -> None:
    if programs:
        kernels: Any = import_module("banditplex.backend.triton_kernels")
        with torch.cuda.device(arguments[0].device):
            getattr(kernels, name)[(programs,)](*arguments, **options, num_warps=4 if "ROWS" in options else 1)
