"""What the network does most on a GPU, in one pass each, in Triton; used where it is installed and data is on CUDA.

Each function says what it does in plain torch, which is used everywhere else; tests compare the two. Rows of tables are
narrow here (16 numbers, say), and torch's own kernels are made for wide ones.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

INSTALLED = find_spec("triton") is not None
THREADS, ROWS, WIDEST = 32, 64, 256
EPS = 1e-5


def usable(tensor: Tensor) -> bool:
    """Say whether kernels can read a tensor."""
    return INSTALLED and tensor.device.type == "cuda"


def suits(table: Tensor) -> bool:
    """Say whether kernels can work on the rows of a table (n, ...)."""
    return usable(table) and table.dtype == torch.float32 and table[:1].numel() <= WIDEST


# Common neighbours: one group of threads takes one pair of rows, whose lists stay in the cache


def common(a: Tensor, b: Tensor, indptr: Tensor, neighbour: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the common neighbours of rows a (n,) and b (n,) on CUDA, as `Neighbours.common` does."""
    count = torch.zeros(len(a) + 1, dtype=torch.int64, device=a.device)
    no_float, none = torch.empty(0, device=a.device), count[:0]
    lists = a.contiguous(), b.contiguous(), indptr, neighbour
    _launch("common", len(a), *lists, count[1:], no_float, no_float, none, none, none, MODE=0, THREADS=THREADS)
    start = torch.cumsum(count, 0)
    found = count.new_empty((3, int(start[-1])))
    _launch("common", len(a), *lists, start, no_float, no_float, *found.unbind(0), MODE=1, THREADS=THREADS)
    return found[0], found[1], found[2]


def shared_sums(a: Tensor, b: Tensor, indptr: Tensor, neighbour: Tensor, arc_degree: Tensor) -> Tensor:
    """Return (n, 3) sums over the common neighbours of rows a (n,) and b (n,) on CUDA, as `pair_features` does."""
    sums, none = torch.empty(len(a), 3, device=a.device), indptr[:0]
    lists = a.contiguous(), b.contiguous(), indptr, neighbour
    _launch("common", len(a), *lists, none, arc_degree, sums, none, none, none, MODE=2, THREADS=THREADS)
    return sums


def paths(
    ends: Tensor, nodes: Tensor, indptr: Tensor, neighbour: Tensor, arc_row: Tensor, arc_degree: Tensor, *, cap: int
) -> Tensor:
    """Return number and weight (n, 2) of the paths between rows ends (2, n) of nodes (2, n), as `Paths` does."""
    result = torch.empty(ends.shape[1], 2, device=ends.device)
    asked = *ends.contiguous().unbind(0), *nodes.contiguous().unbind(0)
    _launch("paths", len(result), *asked, indptr, neighbour, arc_row, arc_degree, result, CAP=cap)
    return result


def choose(size: Tensor, chance: Tensor) -> Tensor:
    """Return as many different numbers below each of size (n,) as there are columns of chance (n, count), on CUDA.

    Chances are random numbers from 0 up, below 1; see `neighbour_sampling.choose`.
    """
    result = size.new_empty(chance.shape)
    arrays = size.contiguous(), chance.contiguous(), result
    _launch_rows("choose", *arrays, like=result)
    return result


# Rows of a table


def take(table: Tensor, index: Tensor) -> Tensor:
    """Return table[index]."""
    if not suits(table):
        return table.index_select(0, index)
    return _Take.apply(table, index)  # type: ignore[no-any-return, no-untyped-call]


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


def add_up(x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor) -> Tensor:
    """Return, for each i, the sum of weight * x[source] over the arcs from start[i] on, count[i] (n,) of them."""
    if not suits(x):
        return F.embedding_bag(source, x, start, mode="sum", per_sample_weights=weight)
    result = torch.empty(len(start), x.shape[1], device=x.device)
    return _arcs(x, source, weight, start, count, result, BACK=False)


def add_up_back(x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor) -> Tensor:
    """Return, for each j, the sum of weight * x[i] over the arcs of i whose source is j."""
    if suits(x):
        return _arcs(x, source, weight, start, count, torch.zeros_like(x), BACK=True)
    messages = torch.repeat_interleave(x, count, 0, output_size=len(source))
    return torch.zeros_like(x).index_add_(0, source, messages if weight is None else messages * weight.unsqueeze(1))


def _arcs(
    x: Tensor, source: Tensor, weight: Tensor | None, start: Tensor, count: Tensor, result: Tensor, *, BACK: bool
) -> Tensor:
    weights = x[0] if weight is None else weight
    arrays = x.contiguous(), source.contiguous(), weights, start, count, result
    _launch_rows("add_up", *arrays, like=x[: len(start)], BACK=BACK, WEIGHTED=weight is not None)
    return result


def adapt(x: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Return x (n, width), less the mean of its row and divided by its deviation, * (1 + scale) + shift.

    Row i has scale and shift table[index[i]], (2, width).
    """
    if not suits(x):
        scale, shift = take(table, index).unbind(1)
        return torch.addcmul(shift, F.layer_norm(x, x.shape[1:], eps=EPS), 1 + scale)
    return _Adapt.apply(x, table, index)  # type: ignore[no-any-return, no-untyped-call]


class _Adapt(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, index: Tensor) -> Tensor:
        saved = x.contiguous(), table.contiguous(), index.contiguous()
        ctx.save_for_backward(*saved)
        result = torch.empty_like(saved[0])
        _launch_rows("adapt", *saved, x, result, table, like=x, more=(EPS,), BACK=False)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, table, index = ctx.saved_tensors
        result, by_table = torch.empty_like(x), torch.zeros_like(table)
        arrays = x, table, index, gradient.contiguous(), result, by_table
        _launch_rows("adapt", *arrays, like=x, more=(EPS,), BACK=True)
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
        kernels: Any = import_module("banditplex.nn.triton_kernels")
        with torch.cuda.device(arguments[0].device):
            getattr(kernels, name)[(programs,)](*arguments, **options, num_warps=4 if "ROWS" in options else 1)
