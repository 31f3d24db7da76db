"""Loops over pairs and rows in one compiled pass, on all cores; used where numba is installed and data is on the CPU.

The lists of a graph are sorted by node, so one walk along two of them finds what they share, and nothing is stored for
a common neighbour. Plain torch does the same work on any device; tests compare the two. No result depends on the number
of threads: each number is computed by one of them.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

INSTALLED = find_spec("numba") is not None
FEW = 512
"""Pairs that are not worth a second thread."""
TURNS = 8
"""Parts that a thread takes in turn, where some may take longer than others."""


def compile_loop(function: Any) -> Any:
    """Compile a loop that other threads may run beside, and keep the result on disk; without numba, return it."""
    if not INSTALLED:
        return function
    from numba import njit

    return njit(nogil=True, cache=True)(function)


def usable(tensor: Tensor) -> bool:
    """Say whether compiled functions can read a tensor."""
    return INSTALLED and tensor.device.type == "cpu"


def shared_sums(a: Tensor, b: Tensor, indptr: Tensor, neighbour: Tensor, arc_degree: Tensor) -> Tensor:
    """Return (n, 3) sums over the common neighbours of rows a (n,) and b (n,): 1, 1 / log(degree), 1 / degree.

    The degree is the geometric mean of a neighbour's degrees in the two rows' layers.
    """
    return _run(_shared, 3, a, b, indptr, neighbour, arc_degree)


def weighted_sums(
    a: Tensor, b: Tensor, indptr: Tensor, neighbour: Tensor, arc_degree: Tensor, arc_row: Tensor, copies: Tensor,
    strength: Tensor,
) -> Tensor:  # fmt: skip
    """Return (n, 6) sums over the common neighbours of rows a (n,) and b (n,) of the union.

    They are 1, 1 / log(degree), 1 / degree, and of the copies x and y of the two arcs: x y, min(x, y), x y / strength.
    """
    return _run(_weighted, 6, a, b, indptr, neighbour, arc_degree, arc_row, copies, strength)


def _run(loop: Callable[..., None], width: int, a: Tensor, b: Tensor, *lists: Tensor) -> Tensor:
    """Run a loop over the rows a (n,) and b (n,) on as many threads as torch uses; return its results (n, width)."""
    result = np.zeros((len(a), width), np.float32)
    arrays, rows = [each.numpy() for each in lists], (a.contiguous().numpy(), b.contiguous().numpy())
    in_parts(len(a), lambda part: loop(rows[0][part], rows[1][part], *arrays, result[part]))
    return torch.from_numpy(result)


def in_parts(size: int, work: Callable[[slice], Any], *, few: int = 0, turns: int = 1) -> None:
    """Do work for each part of so many things, `few` (0: `FEW`) at least, on as many threads as torch uses."""
    threads = min(torch.get_num_threads(), size // (few or FEW))
    if threads < 2:
        if size:
            work(slice(0, size))
        return
    bounds = np.linspace(0, size, threads * turns + 1).astype(np.int64).tolist()
    list(_pool(threads).map(work, (slice(low, high) for low, high in pairwise(bounds))))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


@compile_loop
def _shared(a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any, result: Any) -> None:
    for i in range(len(a)):
        x, y = indptr[a[i]], indptr[b[i]]
        end_x, end_y = indptr[a[i] + 1], indptr[b[i] + 1]
        count, adamic, allocation = 0.0, 0.0, 0.0
        while x < end_x and y < end_y:
            if neighbour[x] < neighbour[y]:
                x += 1
            elif neighbour[x] > neighbour[y]:
                y += 1
            else:
                degree = math.sqrt(arc_degree[x] * arc_degree[y])
                count += 1.0
                adamic += 1.0 / math.log(max(degree, 2.0))
                allocation += 1.0 / degree
                x += 1
                y += 1
        result[i, 0], result[i, 1], result[i, 2] = count, adamic, allocation


@compile_loop
def _weighted(
    a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any, arc_row: Any, copies: Any, strength: Any, result: Any
) -> None:
    for i in range(len(a)):
        x, y = indptr[a[i]], indptr[b[i]]
        end_x, end_y = indptr[a[i] + 1], indptr[b[i] + 1]
        count, adamic, allocation, product, least, share = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while x < end_x and y < end_y:
            if neighbour[x] < neighbour[y]:
                x += 1
            elif neighbour[x] > neighbour[y]:
                y += 1
            else:
                degree, both = arc_degree[x], float(copies[x]) * copies[y]
                count += 1.0
                adamic += 1.0 / math.log(max(degree, 2.0))
                allocation += 1.0 / degree
                product += both
                least += min(copies[x], copies[y])
                share += both / strength[arc_row[x]]
                x += 1
                y += 1
        result[i, 0], result[i, 1], result[i, 2] = count, adamic, allocation
        result[i, 3], result[i, 4], result[i, 5] = product, least, share
