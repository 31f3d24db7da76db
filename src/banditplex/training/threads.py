"""How many threads there are: torch uses one for small graphs; in large ones, gradient steps have a second thread."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from banditplex.backend.compiling import make_pool, own_threads

if TYPE_CHECKING:
    from banditplex.training.loop import Trainer

Value = TypeVar("Value")
SMALL = 20_000
"""Up to this many edges, one thread: on a busy machine, synchronising threads costs more than it saves."""


@contextmanager
def fitting_threads(num_edges: int) -> Iterator[None]:
    """Limit torch to one thread while a multiplex of at most `SMALL` edges is processed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if num_edges <= SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SHORT = 1 << 14
"""Pairs of a step up to which its operations are too short for several threads each."""


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


def has_short_steps(trainer: "Trainer") -> bool:
    """Say whether steps leave a processor idle; an encoder's, and those on a GPU, do not."""
    data, pairs = trainer.data, 2 * len(trainer.data.train_edges) // max(1, trainer.steps_per_epoch)
    return data.device.type == "cpu" and data.group.size == 1 and not trainer.model.encoder and pairs <= SHORT
