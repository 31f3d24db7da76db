"""A task and what becomes of it: rows, or an error that names the task."""

import json
import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.jobs.results import Row
from banditplex.rng import stream

Function = Callable[[Any], Iterable[Mapping[str, Any]]]


class TaskError(RuntimeError):
    """A task failed, or the process it ran in ended; the message begins with the task's key."""


class Outcome(NamedTuple):
    """What became of a task: its rows as JSON, or what went wrong."""

    rows: str = "[]"
    error: str | None = None
    mendable: bool = False  # whether it was an InputError
    traceback: str = ""
    cause: Exception | None = None  # in the same process only


def key_of(task: Any) -> str:
    """Return the key of a task.

    >>> key_of({"key": "trial 0", "trial": 0})
    'trial 0'
    """
    key = task["key"] if isinstance(task, Mapping) else task.key
    assert isinstance(key, str), key
    return key


def attempt(function: Function, task: Any) -> Outcome:
    """Return what becomes of a task: nothing that goes wrong in it is raised here.

    >>> attempt(lambda task: [{"half": task["x"] / 2}], {"key": "a", "x": 3}).rows
    '[{"half": 1.5}]'
    """
    try:
        with _alone(key_of(task)):
            return Outcome(json.dumps(list(function(task)), default=_plain))
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Outcome:
    """Return the outcome of a task in which an error was raised, while it is handled."""
    mendable = isinstance(error, InputError)
    text = str(error) if mendable else f"{type(error).__name__}: {error}"
    return Outcome(error=text, mendable=mendable, traceback=traceback.format_exc(), cause=error)


def rows_of(key: str, outcome: Outcome) -> list[Row]:
    """Return the rows of a task that went well; raise what went wrong, with the task's key before it."""
    if outcome.error is None:
        rows: list[Row] = json.loads(outcome.rows)
        return rows
    if outcome.mendable:
        raise InputError(f"{key}: {outcome.error}") from outcome.cause
    error = TaskError(f"{key}: {outcome.error}")
    if outcome.cause is None and outcome.traceback:
        error.add_note(f"In the process of the task:\n{outcome.traceback}")
    raise error from outcome.cause


@contextmanager
def _alone(key: str) -> Iterator[None]:
    """Give a task one thread, and global generators that its key seeds; leave all as it was."""
    seed = int(stream(0, "task", key).integers(2**32))
    torch = import_module("torch") if find_spec("torch") else None  # now, lest a task be the first to import it
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if torch is not None:
        threads, state = torch.get_num_threads(), torch.get_rng_state()
        torch.set_num_threads(1)
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        if torch is not None:
            torch.set_num_threads(threads)
            torch.set_rng_state(state)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Expected rows of strings, numbers, booleans and None, got {type(value).__name__}.")
