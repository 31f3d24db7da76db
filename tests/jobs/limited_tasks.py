"""Tasks of the tests of limits, which the child process imports."""

import os

import numpy as np

from banditplex.jobs.limits import limited


def use(task):
    """Allocate some megabytes for a moment, in a child process; then fail, or exceed a limit, if asked to."""
    with limited(task.get("seconds", 60), task.get("memory", 10**9)) as usage:
        total = sum(np.ones(10**6)[:2].sum() for _ in range(2))  # 8 MB at a time
        hoard = np.ones(task["millions"] * 10**6)  # 8 MB each; MemoryError if there is no room
        while task.get("forever"):
            pass
    row = {"total": total + hoard[0], "seconds": usage.seconds, "memory": usage.memory, "process": os.getpid()}
    with limited(60, 10**9, before=usage.before) as later:
        pass
    if task.get("fails"):
        raise ValueError("no luck")
    return [row | {"still": later.memory}]
