"""Compiles loops with numba, and runs them on all cores; no result depends on the number of threads."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from itertools import pairwise
from threading import Barrier
from typing import Any, TypeVar

import numpy as np
import torch

from banditplex.backend import choice

Item = TypeVar("Item")
Value = TypeVar("Value")
FEW = 512  # pairs that are not worth a second thread
SMALL = 20_000
"""Up to this many edges, one thread per operation of torch: several wait for each other for longer than they save.

Where something else keeps a processor busy, they wait for hundreds of times as long.
"""
TURN, TURNS = 16, 8
"""Parts that a thread takes in turn, where some take longer: of so many times as many things, and so many parts."""


def compile_loop(function: Any, *, reorder: bool = False) -> Any:
    """Compile a loop that other threads may run beside, and keep the result on disk, if it can be written to.

    Without numba, return the loop itself. With `reorder`, sums of floating point numbers may be computed in another
    order.
    """
    if not choice.NUMBA:
        return function
    from numba import njit

    allowed = {"contract", "reassoc"} if reorder else {"contract"}
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": allowed}
    try:
        loop: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written to
        return njit(**options)(function)
    keep = loop._cache.save_overload

    def keep_if_possible(*compiled: Any) -> None:
        with suppress(OSError):  # such as a full disk
            keep(*compiled)

    loop._cache.save_overload = keep_if_possible
    return loop


def in_parts(size: int, work: Callable[[slice], Any], *, few: int = 0, turns: int = 1) -> None:
    """Do work for each part of so many things, `few` (0: `FEW`) at least, on as many threads as torch may use.

    If there are many things, a thread takes several parts in turn.
    """
    few = few or FEW
    threads = min(num_threads(), size // few)
    turns = min(turns, max(1, size // (TURN * few)))
    if threads < 2:
        if size:
            work(slice(0, size))
        return
    bounds = np.linspace(0, size, threads * turns + 1).astype(np.int64).tolist()
    run_all([partial(work, slice(low, high)) for low, high in pairwise(bounds)])


def run_all(jobs: Sequence[Callable[[], Any]]) -> None:
    """Do some jobs, the longest first, on as many threads as torch may use."""
    if num_threads() < 2:
        for job in jobs:
            job()
        return
    others = [_pool(num_threads()).submit(job) for job in jobs[1:]]
    jobs[0]()
    for other in others:
        other.result()


def map_on_cpu(
    work: Callable[[Item], Value],
    items: Sequence[Item],
    device: torch.device,
    after_each: Callable[[], Any] = lambda: None,
) -> list[Value]:
    """Return what work returns for each item; on a CPU on as many threads as torch may use, where loops use one.

    The calling thread calls `after_each` after each item, in their order, while others are still worked on.
    """

    def all_of(results: Iterable[Value]) -> list[Value]:
        found = []
        for result in results:
            found.append(result)
            after_each()
        return found

    threads = min(num_threads(), len(items)) if device.type == "cpu" else 1
    if threads < 2:
        return all_of(map(work, items))
    with own_threads(loops=1), make_pool(threads) as pool:
        try:
            return all_of(pool.map(work, items))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


_own: list[int] = []


def num_threads() -> int:
    """Return how many threads loops may use."""
    return _own[-1] if _own else torch.get_num_threads()


@contextmanager
def own_threads(loops: int | None = None) -> Iterator[None]:
    """Let torch use one thread per operation, and loops so many; None: as many as they used before.

    Where operations are short, those of torch would wait for each other, and keep processors busy while they do.
    """
    before = torch.get_num_threads()
    _own.append(loops or num_threads())
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _own.pop()
        torch.set_num_threads(before)


def threads_for(num_edges: int) -> AbstractContextManager[None]:
    """Let torch use one thread per operation while a multiplex of at most `SMALL` edges is processed."""
    return own_threads() if num_edges <= SMALL else nullcontext()


def make_pool(threads: int) -> ThreadPoolExecutor:
    """Return threads in each of which an operation of torch uses one."""
    before, ready = torch.get_num_threads(), Barrier(threads)
    pool = ThreadPoolExecutor(threads, initializer=_use_one_thread)
    list(pool.map(lambda _: ready.wait(), range(threads)))
    torch.set_num_threads(before)  # for threads that others begin
    return pool


def _use_one_thread() -> None:
    torch.set_num_threads(1)
    torch.get_num_threads()  # the first look in a thread takes over what was set last, by any thread


_pool = cache(make_pool)
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


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
