"""Runs tasks beside each other, on one machine or many; the numbers do not depend on how.

A task is a small value with a `key`: a string that names it and stays the same from run to run. A function turns a task
into rows: plain dictionaries of strings, numbers, booleans and None. Each task runs with one thread and with global
random generators that its key seeds, so that it has the same result wherever and whenever it runs.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from banditplex.errors import InputError
from banditplex.jobs.results import Row, RowStore
from banditplex.jobs.task import Function, Outcome, attempt, failure, key_of, rows_of
from banditplex.jobs.worker import Died, Worker, packed
from banditplex.registry import Registry

Finished = tuple[str, list[Row]]
"""The key of a task, and its rows."""
Running = Generator[tuple[str, Outcome]]


def run(
    function: Function,
    tasks: Iterable[Any],
    *,
    engine: str = "processes",
    jobs: int | None = None,
    store: RowStore | None = None,
) -> Iterator[Row]:
    """Return the rows of all tasks, as tasks finish.

    Parameters
    ----------
    function
        Called as function(task); returns rows.
    tasks
        Values with a `key` (an attribute, or an entry of a dictionary), all different.
    engine
        "serial": one after another, in this process. "processes": beside each other, in processes of their own.
        "ray": on the Ray cluster of RAY_ADDRESS, or on one that is started here (`pip install banditplex[ray]`).
    jobs
        Tasks that run at the same time. None = as many as there are processors.
    store
        Keeps the rows of each task as soon as it has finished. Tasks that are there already are not run again; their
        rows come first.

    >>> sorted(row["square"] for row in run(lambda n: [{"square": n["x"] ** 2}], [{"key": "a", "x": 3}],
    ...                                     engine="serial"))
    [9]
    """
    finished = outcomes(function, tasks, engine=engine, jobs=jobs, store=store)

    def rows() -> Iterator[Row]:
        with closing(finished):
            for _, some in finished:
                yield from some

    return rows()


def outcomes(
    function: Function,
    tasks: Iterable[Any],
    *,
    engine: str = "processes",
    jobs: int | None = None,
    store: RowStore | None = None,
) -> Generator[Finished]:
    """Return the key and the rows of each task, as tasks finish; parameters are those of `run`."""
    check_engine(engine, jobs)
    by_key: dict[str, Any] = {}
    for task in tasks:
        if by_key.setdefault(key_of(task), task) is not task:
            raise ValueError(f"Expected tasks with different keys, got {key_of(task)!r} twice.")
    kept = {} if store is None else {key: store.finished[key] for key in by_key if key in store.finished}
    todo = [task for key, task in by_key.items() if key not in kept]

    def finish() -> Generator[Finished]:
        yield from kept.items()
        if not todo:
            return
        with closing(ENGINES[engine](function, todo, jobs)) as running:
            for key, outcome in running:
                rows = rows_of(key, outcome)
                if store is not None:
                    store.add(key, rows)
                yield key, rows

    return finish()


def check_engine(engine: str, jobs: int | None) -> None:
    """Refuse an engine that is not known or not installed, and fewer jobs than one."""
    if ENGINES[engine] is _ray and find_spec("ray") is None:
        raise InputError("Expected Ray for engine 'ray', which is not installed: pip install banditplex[ray]")
    if jobs is not None and jobs < 1:
        raise InputError(f"Expected at least 1 job, got {jobs}.")


def usable_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# The engines: each yields keys and outcomes; after a failure it hands over what has finished, then the failure


def _serial(function: Function, tasks: list[Any], jobs: int | None) -> Running:
    for task in tasks:
        yield key_of(task), attempt(function, task)


def _processes(function: Function, tasks: list[Any], jobs: int | None) -> Running:
    """Let a thread drive each process; what is left when the caller goes away, or Ctrl-C is pressed, is ended."""
    waiting: SimpleQueue[Any] = SimpleQueue()
    done: SimpleQueue[tuple[str, Outcome]] = SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def drive(worker: Worker) -> None:
        while True:
            try:
                task = waiting.get_nowait()
            except Empty:
                return
            try:
                outcome = Outcome(*worker.call(task))
            except Died as died:
                done.put((key_of(task), Outcome(error=str(died))))
                return
            except Exception as error:  # a task that cannot be pickled
                outcome = failure(error)
            done.put((key_of(task), outcome))

    try:
        payload = packed(function)
    except Exception as error:
        raise InputError(
            f"Expected something that can be sent to other processes, got {type(error).__name__}: {error}; "
            "engine 'serial' takes anything."
        ) from error
    started: list[tuple[Worker, Thread]] = []
    try:
        for _ in range(min(jobs or usable_cores(), len(tasks))):
            worker = Worker(payload)
            started.append((worker, Thread(target=drive, args=[worker], daemon=True)))
            started[-1][1].start()
        failed: list[tuple[str, Outcome]] = []
        for _ in tasks:
            if failed and done.empty():
                break
            key, outcome = done.get()
            if outcome.error is None:
                yield key, outcome
            else:
                failed.append((key, outcome))
        yield from failed
    finally:
        for worker, _ in started:
            worker.kill()
        for worker, thread in started:
            thread.join()
            worker.close()


def _ray(function: Function, tasks: list[Any], jobs: int | None) -> Running:
    """Keep `jobs` tasks with Ray at a time: all processors of its cluster if None."""
    import ray

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(logging_level="error", log_to_driver=False)
        except ConnectionError as error:
            raise InputError(f"Expected a Ray cluster that lets us in, got: {' '.join(str(error).split())}") from error
    running: dict[Any, str] = {}
    try:
        shared = ray.put(function)
        remote = ray.remote(num_cpus=1, max_retries=0)(_attempt_there)
        at_once = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(tasks)
        running |= {remote.remote(shared, task): key_of(task) for task in islice(waiting, at_once)}
        failed: list[tuple[str, Outcome]] = []
        while running:
            ready, _ = ray.wait(list(running), timeout=0 if failed else None)
            if not ready:
                break
            key = running.pop(ready[0])
            running |= {remote.remote(shared, task): key_of(task) for task in islice(waiting, 0 if failed else 1)}
            try:
                outcome = Outcome(*ray.get(ready[0]))
            except ray.exceptions.RayError as error:
                outcome = Outcome(error=f"its process ended: {' '.join(str(error).split())}", cause=error)
            if outcome.error is None:
                yield key, outcome
            else:
                failed.append((key, outcome))
        yield from failed
    finally:
        if ours:
            ray.shutdown()
        else:
            for left in running:
                ray.cancel(left, force=True)


def _attempt_there(function: Function, task: Any) -> tuple[Any, ...]:
    return attempt(function, task)[:-1]


ENGINES: Registry[Callable[[Function, list[Any], int | None], Running]] = Registry("engine")
ENGINES.add("serial", _serial)
ENGINES.add("processes", _processes)
ENGINES.add("ray", _ray)
