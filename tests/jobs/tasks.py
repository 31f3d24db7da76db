"""Task functions that worker processes can import, and a script that tests kill."""

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from banditplex.errors import InputError
from banditplex.jobs.engine import run_tasks
from banditplex.storage.rows import RowStore

ABOUT = {"seed": 3, "data": {"edges": 7}}


def run(*arguments, **options):
    """Return the rows of tasks, one after another."""
    finished = run_tasks(*arguments, **options)

    def rows():
        with closing(finished):
            for _, some in finished:
                yield from some

    return rows()


@dataclass(frozen=True)
class Task:
    key: str
    number: int


TASKS = [Task(f"number {n}", n) for n in range(6)]


def squares(task):
    """Return two rows per task: the square, and numbers from the global random generators."""
    print("tasks may print")
    luck = random.random() + np.random.random()  # noqa: NPY002
    return [{"number": task.number, "square": np.int64(task.number**2)}, {"number": task.number, "luck": luck}]


def warned(task):
    warnings.warn("numbers are squared", UserWarning, stacklevel=1)
    return squares(task)


def slow_squares(task):
    time.sleep(0.2)
    return squares(task)


def refuse_three(task):
    if task.number == 3:
        raise InputError("Expected any number but 3.")
    return []


def fail_at_three(task):
    if task.number == 3:
        raise KeyError("three")
    return []


def die_at_three(task):
    if task.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return []


def leave_a_process_and_die(task):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"])
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_and_note(folder):
    """Return a function that writes its process id to a folder, then sleeps for a minute."""

    def function(task):
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(60)
        return []

    return function


def slow_on_node(folder, node):
    """Return `squares`, which writes the node of every start to a folder, and waits for a minute on one node of Ray."""

    def function(task):
        from ray import get_runtime_context

        here = get_runtime_context().get_node_id()
        (Path(folder) / task.key).mkdir(exist_ok=True)
        (Path(folder) / task.key / here).touch()
        time.sleep(60 if here == node else 0)
        return squares(task)

    return function


def note_and_die(folder):
    """Return a function that writes its process id to a folder, and kills its process."""

    def function(task):
        (Path(folder) / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    return function


if __name__ == "__main__":
    path, what = sys.argv[1:]
    function = {"slow": slow_squares, "sleep": sleep_and_note(Path(path).parent / "pids")}[what]
    store = RowStore(path, ABOUT, resume=True)
    for row in run(function, TASKS, jobs=2, store=store):
        print(row, flush=True)
