"""Several processes that train one model, as torchrun starts them: what they share, and which of them writes.

Target layers are divided over the processes. All plan the same steps with the same random streams; each scores the
pairs of its own targets. The gradients of a step are added up over all processes, and so are the layer losses of its
targets, so that weights and policies are the same everywhere, and those of a single process.

Only this file knows of ranks. Without torchrun there is one process, and nothing here costs anything.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Value = TypeVar("Value")
START = 300.0  # seconds that processes wait for each other at the start
GRACE = 5.0  # seconds that other processes wait before they report an error: the first one may have the same to say


class Lost(InputError):
    """Another process of the group has ended, or cannot be reached."""


@dataclass(frozen=True)
class Group:
    """The processes that train together, as one of them sees it; the first one writes and prints."""

    rank: int = 0
    size: int = 1

    @property
    def is_writer(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def deal(self, size: Ints) -> Ints:
        """Return the processes (n,) of things of some size (n,), such as layers with so many edges.

        Things are dealt out from the largest to the smallest, in turn forwards and backwards.
        """
        turn, place = np.divmod(np.arange(len(size)), self.size)
        owner = np.empty(len(size), np.int64)
        owner[np.argsort(-size, kind="stable")] = np.where(turn % 2, self.size - 1 - place, place)
        return owner

    def divide(self, size: Ints) -> Bools | None:
        """Return which of some targets with so many edges (T,) are those of this process; None: all."""
        return None if self.size == 1 else self.deal(size) == self.rank

    def add_up(self, values: "Tensor") -> "Tensor":
        """Replace values by their sums over all processes, in place; every process has the same sums."""
        if self.size > 1:
            import torch.distributed as dist

            with reaching():
                dist.all_reduce(values)
        return values

    def put_together(self, values: "Tensor", at: "Tensor", size: int) -> "Tensor":
        """Return `size` rows, of which each process has some: this one has `values` (n, ...) at places `at` (n,)."""
        return self.add_up(values.new_zeros(size, *values.shape[1:]).index_copy_(0, at, values))

    def copy_first(self, tensors: "Iterable[Tensor]") -> None:
        """Replace tensors by those of the first process, in place."""
        if self.size > 1:
            import torch.distributed as dist

            with reaching():
                for each in tensors:
                    dist.broadcast(each.detach(), 0)

    def from_first(self, make: Callable[[], Value]) -> Value:
        """Return what `make` returns in the first process, which alone calls it: plain values, arrays and tensors.

        They travel as JSON and arrays (`storage.tree`), so that nothing that another machine sends is run.
        """
        if self.size == 1:
            return make()
        import torch

        from banditplex.storage.tree import from_bytes, to_bytes

        data = torch.frombuffer(bytearray(to_bytes(make()) if self.is_writer else b"-"), dtype=torch.uint8)
        size = torch.tensor([len(data)])
        self.copy_first([size])
        data = data if self.is_writer else torch.empty(int(size), dtype=torch.uint8)
        self.copy_first([data])
        return from_bytes(data.numpy().tobytes())


ALONE = Group()
_joined: list[Group] = []


def current() -> Group:
    """Return the group of processes that this one has joined; by default it is alone."""
    return _joined[-1] if _joined else ALONE


@contextmanager
def joined() -> Iterator[Group]:
    """Join the processes that torchrun has started, if it has; models that are fitted inside are fitted by all.

    Every process must do the same. On GPUs each has its own.
    """
    if torchrun_number("RANK", 0) is None or torchrun_number("WORLD_SIZE", 1) in (None, 1) or _joined:
        yield current()
        return
    import torch
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    place, count = torchrun_number("LOCAL_RANK", 0) or 0, torch.cuda.device_count()
    if count:
        torch.cuda.set_device(place % count)
    own_gpu = (torchrun_number("LOCAL_WORLD_SIZE", 1) or 1) <= count
    with reaching(), on_sigterm(signal.SIG_DFL):  # Python's own answer would wait for torch
        patience = timedelta(seconds=START)
        store, rank, size = next(rendezvous("env://", timeout=patience))
        store.set(f"banditplex {rank}", "here")  # torch itself would wait for half an hour
        store.wait([f"banditplex {each}" for each in range(size)], patience)
        dist.init_process_group("cpu:gloo,cuda:nccl" if own_gpu else "gloo", store=store, rank=rank, world_size=size)
    _joined.append(Group(dist.get_rank(), dist.get_world_size()))
    try:
        yield current()
    except BaseException:  # the others may be gone: nobody waits for them
        _joined.pop()
        raise
    _joined.pop()
    dist.destroy_process_group()


@contextmanager
def on_sigterm(answer: Any) -> Iterator[None]:
    """Let SIGTERM have another answer, if this thread may set it: the main one alone may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def torchrun_number(name: str, low: int) -> int | None:
    """Return a number that torchrun tells in the environment; None if it tells none."""
    text = os.environ.get(name)
    if text is not None and not (text.isdecimal() and int(text) >= low):
        raise InputError(f"Expected an integer of at least {low} in the environment variable {name}, got {text!r}.")
    return None if text is None else int(text)


def is_first() -> bool:
    """Say whether this process is the first that torchrun has started, or was not started by it."""
    rank = os.environ.get("RANK", "0")
    return not rank.isdecimal() or int(rank) == 0


def wait_for_first() -> None:
    """Before an error is reported: let the first process report it, whose end ends the others."""
    if not is_first():
        time.sleep(GRACE)


def launcher() -> str | None:
    """Return the command that has started this process and others like it; None: it was started alone."""
    if "RANK" not in os.environ:
        return None
    size, here = (torchrun_number(name, 1) or 1 for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if size == 1:
        return None
    return f"torchrun{f' --nnodes {size // here}' * (size > here)} --nproc-per-node {here} -m banditplex"


@contextmanager
def reaching() -> Iterator[None]:
    """Report, in one line, other processes that cannot be reached."""
    try:
        yield
    except RuntimeError as error:
        raise Lost(f"Expected an answer from the other processes of this training, got {_reason(error)}.") from None


def _reason(error: Exception) -> str:
    """Return the first sentence of what torch says, without the place in its source."""
    text = re.sub(r"^\[\S+:\d+\] ", "", " ".join(str(error).split()))
    return text.partition(". ")[0].removesuffix(".")
