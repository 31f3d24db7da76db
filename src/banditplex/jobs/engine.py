"""Engines run tasks in parallel, on one machine or several; see `banditplex.jobs.task` for what a task is.

The rows do not depend on the engine or on the number of jobs, only their order does.
"""

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from banditplex.errors import InputError
from banditplex.jobs.task import Function, Outcome, attempt, attempt_remotely, failure, key_of, rows_of
from banditplex.jobs.worker import Worker, WorkerDied, pickled
from banditplex.registry import Registry
from banditplex.storage.rows import Row, RowStore, open_store
from banditplex.terminal import counters, warn

RETRIES = 2  # how often Ray runs a task again whose process or node was lost
Finished = tuple[str, list[Row]]  # the key of a task, and its rows
Outcomes = Generator[tuple[str, Outcome]]


def run_tasks(
    function: Function, tasks: Iterable[Any], *, engine: str = "processes", jobs: int | None = None,
    store: RowStore | None = None,
) -> Generator[Finished]:  # fmt: skip
    """Yield the key and the rows of each task, as the tasks finish; keys must be unique.

    Engines: "serial", one after another, in this process; "processes", in worker processes on this machine; "ray", on
    the Ray cluster at RAY_ADDRESS, or on a local one (`pip install banditplex[ray]`). `jobs` tasks run at the same
    time; None: one per CPU. Tasks that the `store` already has are not run again; they come first. It is left open.
    """
    check_engine(engine, jobs)
    by_key: dict[str, Any] = {}
    for task in tasks:
        if by_key.setdefault(key_of(task), task) is not task:
            raise ValueError(f"Expected tasks with unique keys, got {key_of(task)!r} twice.")
    stored = {} if store is None else {key: store.finished[key] for key in by_key if key in store.finished}
    remaining = [task for key, task in by_key.items() if key not in stored]

    def finish() -> Generator[Finished]:
        told: set[str] = set()
        yield from stored.items()
        with closing(ENGINES[engine](function, remaining, jobs)) as results:
            for key, outcome in results if remaining else ():
                for each in sorted({*outcome.notes} - told):  # once, not for each task
                    told.add(each)
                    warn(each)
                rows = rows_of(key, outcome)
                if store is not None:
                    store.add(key, rows)
                yield key, rows

    return finish()


def collect(
    folder: Path | None, function: Function, tasks: Sequence[Any], about: Mapping[str, Any], *, resume: bool = False,
    **options: Any,
) -> list[Row]:  # fmt: skip
    """Run tasks with progress on stderr; return their rows, sorted by task key.

    Rows are kept in `folder`, unless it is None. A folder with content is refused, unless `resume` is set and it holds
    a run with the same `about`. `options` are those of `run_tasks`.
    """
    finished: dict[str, list[Row]] = {}
    title = str(folder or "running")
    with ExitStack() as stack:
        store = None if folder is None else stack.enter_context(closing(open_store(folder, about, resume=resume)))
        show = stack.enter_context(counters([title], len(tasks)))
        for key, rows in run_tasks(function, tasks, store=store, **options):
            finished[key] = rows
            show(title, len(finished))
    return [row for key in sorted(finished) for row in finished[key]]


def check_engine(engine: str, jobs: int | None) -> None:
    """Refuse an unknown engine, one that is not installed, and fewer than one job."""
    if ENGINES[engine] is _ray and find_spec("ray") is None:
        raise InputError("Expected Ray for engine='ray', got none installed: pip install banditplex[ray].")
    if jobs is not None and jobs < 1:
        raise InputError(f"Expected jobs to be at least 1, got {jobs}.")


# An engine yields keys and outcomes. After a failure it yields the other tasks that have finished, then the failure.


def _serial(function: Function, tasks: list[Any], jobs: int | None) -> Outcomes:
    for task in tasks:
        yield key_of(task), attempt(function, task)


def _processes(function: Function, tasks: list[Any], jobs: int | None) -> Outcomes:
    """Feed each worker process from a thread; kill them all on failure, Ctrl-C, or if the caller stops early."""
    results: SimpleQueue[tuple[str, Outcome]] = SimpleQueue()
    left = iter(tasks)  # one for all threads: each takes the next task

    def feed(worker: Worker) -> None:
        for task in left:
            try:
                outcome = worker.call(task)
            except WorkerDied as died:
                results.put((key_of(task), Outcome(error=str(died), is_lost=True)))
                return
            except Exception as error:  # the task cannot be pickled
                outcome = failure(error)
            results.put((key_of(task), outcome))

    try:
        payload = pickled(function)
    except Exception as error:
        expected = "a function that can be pickled, or engine='serial'"
        raise InputError(f"Expected {expected}, got {type(error).__name__}: {error}.") from error
    started: list[tuple[Worker, Thread]] = []
    try:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        for _ in range(min(jobs or cores, len(tasks))):
            worker = Worker(payload)
            started.append((worker, Thread(target=feed, args=[worker], daemon=True)))
            started[-1][1].start()
        failed: list[tuple[str, Outcome]] = []
        for _ in tasks:
            if failed and results.empty():
                break
            key, outcome = results.get()
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


def _ray(function: Function, tasks: list[Any], jobs: int | None) -> Outcomes:
    """Run `jobs` tasks at a time on Ray; None: one per CPU of the cluster."""
    import ray

    start = not ray.is_initialized()
    if start:
        try:
            ray.init(logging_level="error", log_to_driver=False)
        except ConnectionError as error:
            raise InputError(f"Expected a reachable Ray cluster, got: {' '.join(str(error).split())}") from error
    running: dict[Any, str] = {}
    try:
        shared = ray.put(function)
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(attempt_remotely)
        at_once = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        queue = iter(tasks)
        running |= {remote.remote(shared, task): key_of(task) for task in islice(queue, at_once)}
        failed: list[tuple[str, Outcome]] = []
        while running:
            ready, _ = ray.wait(list(running), timeout=0 if failed else None)
            if not ready:
                break
            key = running.pop(ready[0])
            running |= {remote.remote(shared, task): key_of(task) for task in islice(queue, 0 if failed else 1)}
            try:
                outcome: Outcome = ray.get(ready[0])
            except ray.exceptions.RayError as error:
                why = " ".join(str(error).split()).rstrip(".")
                outcome = Outcome(error=f"its process ended {1 + RETRIES} times: {why}", is_lost=True, cause=error)
            if outcome.error is None:
                yield key, outcome
            else:
                failed.append((key, outcome))
        yield from failed
    finally:
        if start:
            ray.shutdown()
        else:
            for reference in running:
                ray.cancel(reference, force=True)


ENGINES: Registry[Callable[[Function, list[Any], int | None], Outcomes]] = Registry("engine")
ENGINES.add("serial", _serial)
ENGINES.add("processes", _processes)
ENGINES.add("ray", _ray)
