"""A task is the unit of work that jobs run: a small value with a `key`, and a function that turns it into rows.

The key is a string that names the task in errors and result files, and stays the same from run to run. Rows are plain
dictionaries of strings, numbers, booleans and None. A task runs on one thread, and its key seeds the global random
generators, so its rows do not depend on the engine, the worker process or the order of tasks.
"""

import json
import random
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.rng import stream
from banditplex.storage.rows import Row

Function = Callable[[Any], Iterable[Mapping[str, Any]]]


class TaskError(RuntimeError):
    """A task raised an exception. The message starts with the task's key."""


class TaskLost(InputError):
    """The process of a task ended before it did, killed or for lack of memory. The message starts with its key."""


class Outcome(NamedTuple):
    """The result of a task: its rows as JSON, or an error."""

    rows: str = "[]"
    error: str | None = None
    is_input_error: bool = False
    traceback: str = ""
    is_lost: bool = False
    notes: tuple[str, ...] = ()  # warnings in another process
    cause: Exception | None = None  # only if the task ran in this process: an exception may not be picklable


def key_of(task: Any) -> str:
    """Return the key of a task."""
    key = task["key"] if isinstance(task, Mapping) else task.key
    assert isinstance(key, str), key
    return key


def attempt(function: Function, task: Any) -> Outcome:
    """Run a task and return its outcome. Exceptions are caught and become part of the outcome."""
    try:
        with _isolated(key_of(task)):
            return Outcome(json.dumps(list(function(task)), default=_to_python))
    except Exception as error:
        return failure(error)


def attempt_remotely(function: Function, task: Any) -> Outcome:
    """Run a task in another process: `attempt`, with an outcome that can be pickled, and with what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        outcome = attempt(function, task)
    return outcome._replace(cause=None, notes=tuple(dict.fromkeys(str(each.message) for each in caught)))


def failure(error: Exception) -> Outcome:
    """Return the outcome of a task that raised `error`. Call it in the `except` block, which has the traceback."""
    is_input_error = isinstance(error, InputError)
    text = str(error) if is_input_error else f"{type(error).__name__}: {error}"
    return Outcome(error=text, is_input_error=is_input_error, traceback=traceback.format_exc(), cause=error)


def rows_of(key: str, outcome: Outcome) -> list[Row]:
    """Return the rows of a successful task; raise the error of a failed one, prefixed with its key."""
    if outcome.error is None:
        return json.loads(outcome.rows)
    if outcome.is_lost:
        raise TaskLost(f"{key}: {outcome.error}.")
    if outcome.is_input_error:
        raise InputError(f"{key}: {outcome.error}") from outcome.cause
    error = TaskError(f"{key}: {outcome.error}")
    if outcome.cause is None and outcome.traceback:
        error.add_note(f"In the worker process:\n{outcome.traceback}")
    raise error from outcome.cause


@contextmanager
def _isolated(key: str) -> Iterator[None]:
    """Use one thread and global random generators seeded by the key; restore both afterwards."""
    import torch

    seed, threads = int(stream(0, "task", key).integers(2**32)), torch.get_num_threads()
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        torch.set_rng_state(before[2])
        torch.set_num_threads(threads)


def _to_python(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Expected rows of strings, numbers, booleans and None, got {type(value).__name__}.")
