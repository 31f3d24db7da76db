"""Loops over pairs and rows in one compiled pass, on all cores; used where numba is installed and data is on the CPU.

The lists of a graph are sorted by node, so one walk along two of them finds what they share, and nothing is stored for
a common neighbour. Plain torch does the same work on any device; tests compare the two. No result depends on the number
of threads: each number is computed by one of them.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from threading import Barrier
from typing import Any

import numpy as np
import torch
from torch import Tensor

INSTALLED = find_spec("numba") is not None
UNCACHED = "BANDITPLEX_UNCACHED"
"""Set in the environment by the process that has said that loops cannot be kept."""
FEW = 512
"""Pairs that are not worth a second thread."""
MANY = 1 << 13
"""Pairs for each of the parts that a thread takes in turn ..."""
TURNS = 8
"""... of which there are so many at most, where some may take longer than others."""


def compile_loop(function: Any, *, reorder: bool = False) -> Any:
    """Compile a loop that other threads may run beside, and keep the result on disk; without numba, return it.

    With `reorder`, sums of floating point numbers may be computed in another order.
    """
    if not INSTALLED:
        return function
    from numba import njit

    allowed = {"contract", "reassoc"} if reorder else {"contract"}
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": allowed}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written to
        _say_uncached()
        return njit(**options)(function)


def _say_uncached() -> None:
    """Warn, once for this process and those that it starts, that loops are compiled again in every process."""
    if UNCACHED not in os.environ:
        os.environ[UNCACHED] = "1"
        warnings.warn(
            "Compiled loops cannot be kept: neither the folder of the package nor that of a cache can be written to. "
            "Each start compiles them anew, which may take a minute; NUMBA_CACHE_DIR names another folder.",
            stacklevel=2,
        )


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


def other_features(
    pairs: Tensor, row: Tensor, layers: Tensor, layer_rows: Tensor, row_key: Tensor, indptr: Tensor, neighbour: Tensor,
    arc_degree: Tensor, *, num_nodes: int, hidden: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return features (P * k, 11) of pairs (P, 2) in layers (P, k), and their rows (2, P * k), as `pair_features` does.

    `row` (2, P) are the rows in target layers; `hidden` says whether the pairs' edges count as absent.
    """
    size = layers.numel()
    values, there = torch.empty(size, 11), torch.empty(2, size, dtype=torch.int64)
    asked = [each.contiguous().numpy() for each in (pairs, row, layers.reshape(-1))]
    lists = [each.numpy() for each in (layer_rows, row_key, indptr, neighbour, arc_degree)]
    more, found = (layers.shape[1], num_nodes, hidden), (values.numpy(), there.numpy())
    in_parts(size, lambda part: _other(part.start, part.stop, *asked, *lists, *more, *found), turns=TURNS)
    return values, there


def find_lists(
    key: Tensor, target: Tensor, pair_key: Tensor, pair_layer: Tensor, num_layers: int
) -> tuple[Tensor, Tensor]:
    """Return the layers that have n pairs, targets (n,) excepted, as start (n + 1,) and places; see `Lists`.

    `key` (1 or 2, n) are the keys of pairs, and of the reverse pairs; pairs of all layers are sorted by `pair_key`.
    """
    size = len(target)
    first, count = np.empty(key.shape, np.int64), np.empty(size, np.int64)
    asked = [each.contiguous().numpy() for each in (key, target, pair_key, pair_layer)]
    in_parts(size, lambda part: _count_lists(part.start, part.stop, *asked, first, count))
    start = np.zeros(size + 1, np.int64)
    np.cumsum(count, out=start[1:])
    places = np.empty(start[-1], np.int64)
    in_parts(size, lambda part: _fill_lists(part.start, part.stop, *asked, first, num_layers, start, places))
    return torch.from_numpy(start), torch.from_numpy(places)


def _run(loop: Callable[..., None], width: int, a: Tensor, b: Tensor, *lists: Tensor) -> Tensor:
    """Run a loop over the rows a (n,) and b (n,) on as many threads as torch uses; return its results (n, width)."""
    result = np.zeros((len(a), width), np.float32)
    arrays, rows = [each.numpy() for each in lists], (a.contiguous().numpy(), b.contiguous().numpy())
    in_parts(len(a), lambda part: loop(rows[0][part], rows[1][part], *arrays, result[part]), turns=TURNS)
    return torch.from_numpy(result)


def in_parts(size: int, work: Callable[[slice], Any], *, few: int = 0, turns: int = 1) -> None:
    """Do work for each part of so many things, `few` (0: `FEW`) at least, on as many threads as torch may use.

    If there are many things, a thread takes several parts in turn.
    """
    threads = min(num_threads(), size // (few or FEW))
    turns = min(turns, max(1, size // MANY))
    if threads < 2:
        if size:
            work(slice(0, size))
        return
    bounds = np.linspace(0, size, threads * turns + 1).astype(np.int64).tolist()
    first, *rest = (slice(low, high) for low, high in pairwise(bounds))
    others = [_pool(threads).submit(work, part) for part in rest]
    work(first)
    for other in others:
        other.result()


def run_all(jobs: Sequence[Callable[[], Any]]) -> None:
    """Do some jobs, the longest first, on as many threads as torch may use."""
    if num_threads() < 2:
        for job in jobs:
            job()
        return
    others = [_pool(num_threads() - 1).submit(job) for job in jobs[1:]]
    jobs[0]()
    for other in others:
        other.result()


_own: list[int] = []


def num_threads() -> int:
    """Return how many threads loops may use."""
    return _own[-1] if _own else torch.get_num_threads()


@contextmanager
def own_threads() -> Iterator[None]:
    """Let torch use one thread per operation, and loops as many as torch used before.

    Where operations are short, those of torch would wait for each other, and keep processors busy while they do.
    """
    before = torch.get_num_threads()
    _own.append(before)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _own.pop()
        torch.set_num_threads(before)


def make_pool(threads: int) -> ThreadPoolExecutor:
    """Return threads in each of which an operation of torch uses one."""
    before, ready = torch.get_num_threads(), Barrier(threads)
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    list(pool.map(lambda _: ready.wait(), range(threads)))
    torch.set_num_threads(before)  # for threads that others begin
    return pool


_pool = cache(make_pool)
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


@compile_loop
def take_lists(at: Any, start: Any, entries: Any) -> Any:
    """Return some of the lists entries[start[i] : start[i + 1]], the same way."""
    begin = np.zeros(len(at) + 1, np.int64)
    for i in range(len(at)):
        begin[i + 1] = begin[i] + start[at[i] + 1] - start[at[i]]
    found = np.empty(begin[-1], entries.dtype)
    for i in range(len(at)):
        for j in range(begin[i + 1] - begin[i]):
            found[begin[i] + j] = entries[start[at[i]] + j]
    return begin, found


@compile_loop
def _common(a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any) -> Any:
    """Return three sums over the common neighbours of two rows."""
    x, y, end_x, end_y = indptr[a], indptr[b], indptr[a + 1], indptr[b + 1]
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
    return count, adamic, allocation


@compile_loop
def _shared(a: Any, b: Any, indptr: Any, neighbour: Any, arc_degree: Any, result: Any) -> None:
    for i in range(len(a)):
        result[i, 0], result[i, 1], result[i, 2] = _common(a[i], b[i], indptr, neighbour, arc_degree)


@compile_loop
def find_place(value: Any, low: Any, high: Any, values: Any) -> Any:
    """Return where a value is, or would be, among sorted values from low to high."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compile_loop
def _count_lists(
    low: Any, high: Any, key: Any, target: Any, pair_key: Any, pair_layer: Any, first: Any, count: Any
) -> None:
    for i in range(low, high):
        count[i] = 0
        for way in range(len(key)):
            at = first[way, i] = find_place(key[way, i], 0, len(pair_key), pair_key)
            while at < len(pair_key) and pair_key[at] == key[way, i]:
                count[i] += pair_layer[at] != target[i]
                at += 1


@compile_loop
def _fill_lists(
    low: Any, high: Any, key: Any, target: Any, pair_key: Any, pair_layer: Any, first: Any, num_layers: Any, start: Any,
    places: Any,
) -> None:  # fmt: skip
    for i in range(low, high):
        into = start[i]
        for way in range(len(key)):
            at = first[way, i]
            while at < len(pair_key) and pair_key[at] == key[way, i]:
                if pair_layer[at] != target[i]:
                    places[into] = pair_layer[at] + way * num_layers
                    into += 1
                at += 1


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
