"""Which threads there are: one trains networks, another learns vectors; in large graphs, steps have a further one."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from banditplex.backend.compiling import make_pool, num_threads, own_threads

if TYPE_CHECKING:
    from banditplex.training.data import TrainingData
    from banditplex.training.loop import Trainer

Value = TypeVar("Value")
Ask = Callable[[slice], list[Value]]  # returns the values of some generators, once they have ended


@contextmanager
def begun(jobs: Sequence[Generator[None, None, Value]], ahead: int, *, wanted: bool) -> Iterator[Ask[Value]]:
    """Run generators in turn in a second thread, if that is wanted and there may be two; return what asks for values.

    The first of them, as many as `ahead` says, run at once, the others when they are asked for; each is asked for once.
    Who asks for some runs those of them that have not begun, the last first, and waits for the others; a single one has
    all threads. Without a second thread it runs them all. If the block is left before, a running one ends at its next
    step.
    """
    if not wanted or num_threads() < 2:
        yield lambda some: [run_to_end(job) for job in jobs[some]]
        return
    left = Event()
    with make_pool(1) as pool:
        values = [pool.submit(run_to_end, job, left.is_set) for job in jobs[:ahead]]

        def ask(some: slice) -> list[Value]:
            places = range(len(jobs))[some]
            if len(places) == 1 and places[0] >= len(values):  # nothing else to do meanwhile
                return [run_to_end(jobs[places[0]])]
            values.extend(pool.submit(run_to_end, job, left.is_set) for job in jobs[len(values) : places.stop])
            own: dict[int, Value] = {}
            with own_threads(loops=1):
                for place in reversed(places):
                    if values[place].cancel():
                        own[place] = run_to_end(jobs[place])
            return [own[place] if place in own else values[place].result() for place in places]

        try:
            yield ask
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
