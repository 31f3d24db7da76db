"""Which threads there are: one trains networks, another learns vectors; in large graphs, steps have a further one."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from banditplex.backend.compiling import make_pool, num_threads, own_threads

if TYPE_CHECKING:
    from banditplex.training.data import TrainingData
    from banditplex.training.loop import Trainer

Value = TypeVar("Value")
SMALL = 20_000
"""Up to this many edges, one thread per operation of torch: synchronising several costs more than it saves."""


@contextmanager
def fitting_threads(num_edges: int) -> Iterator[None]:
    """Limit operations of torch to one thread while a multiplex of at most `SMALL` edges is processed."""
    with own_threads() if num_edges <= SMALL else nullcontext():
        yield


@contextmanager
def begun(steps: Generator[None, None, Value], *, wanted: bool) -> Iterator[Callable[[], Value]]:
    """Run a generator in a second thread, if that is wanted and there may be two; return what waits for its value.

    Without a second thread it runs when its value is asked for. If the block is left before, it ends at its next step.
    """
    if not wanted or num_threads() < 2:
        yield lambda: run_to_end(steps)
        return
    left = Event()
    with make_pool(1) as pool:
        value = pool.submit(run_to_end, steps, left.is_set)
        try:
            yield value.result
        finally:
            left.set()


def run_to_end(steps: Generator[None, None, Value], left: Callable[[], bool] = lambda: False) -> Value:
    """Return the value of a generator once it has ended; `left` says before each step that nobody wants it any more."""
    while not left():
        try:
            next(steps)
        except StopIteration as end:
            return end.value
    raise CancelledError


SHORT = 1 << 14  # pairs of a step up to which its operations are too short for several threads each


class Later:
    """Does work in a second thread, one thing at a time, while the first goes on; without a second thread, at once."""

    def __init__(self, pool: ThreadPoolExecutor | None = None) -> None:
        self._pool = pool
        self._pending: Future[None] | None = None

    def start(self, work: Callable[..., None], *arguments: Any) -> None:
        """Begin to do work; what was begun before must be done."""
        if self._pool is None:
            work(*arguments)
        else:
            self._pending = self._pool.submit(work, *arguments)

    def ahead(self, jobs: Iterable[Callable[[], Value]]) -> Iterator[Value]:
        """Yield what each job returns, in turn; a second thread does the next one meanwhile."""
        if self._pool is None:
            yield from (job() for job in jobs)
            return
        waiting: list[Future[Value]] = []
        for job in jobs:
            waiting.append(self._pool.submit(job))
            if len(waiting) > 1:
                yield waiting.pop(0).result()
        yield from (each.result() for each in waiting)

    def wait(self) -> None:
        """Wait until the work is done."""
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()


@contextmanager
def second_thread(*, wanted: bool) -> Iterator[Later]:
    """Return something that works in a second thread, if that is wanted and torch may use two."""
    if not wanted or torch.get_num_threads() < 2:
        yield Later()
        return
    with own_threads(), make_pool(1) as pool:
        later = Later(pool)
        yield later
        later.wait()


def alone_on_cpu(data: "TrainingData") -> bool:
    """Say whether a training uses neither a GPU nor several processes."""
    return data.device.type == "cpu" and data.group.size == 1


def has_short_steps(trainer: "Trainer") -> bool:
    """Say whether steps leave a processor idle; an encoder's, and those on a GPU, do not."""
    pairs = 2 * len(trainer.data.train_edges) // max(1, trainer.steps_per_epoch)
    return alone_on_cpu(trainer.data) and not trainer.model.encoder and pairs <= SHORT
