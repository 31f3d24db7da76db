"""A limit on the memory of a training, which is refused if it cannot fit, and stopped if it does not.

What counts is resident anonymous memory, all that is not a file in memory: a multiplex in our own folder format is such
a file, and does not count. It is looked at many times a second. A limit on address space, which the system could
enforce, would not do: libraries reserve gigabytes of it that they never use.
"""

import ctypes
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from banditplex.errors import InputError

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LEAST = 112
"""Bytes per edge below which no training stays: lists of neighbours and edges, and keys of known pairs."""
SHARE = 4
"""What can be looked up again is kept if it takes at most the fourth part of the limit."""
EVERY = 0.01
"""Seconds between looks at the memory."""
HELP = "a higher limit, evidence='drawn', fewer targets or fewer layers"


def as_bytes(memory: Any) -> int | None:
    """Return a limit in bytes; None: there is none.

    >>> as_bytes("2GB"), as_bytes("1.5 GiB"), as_bytes(10**9), as_bytes(None)
    (2000000000, 1610612736, 1000000000, None)
    """
    if memory is None:
        return None
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", str(memory))
    size = 0.0 if found is None else float(found[1]) * UNITS.get(found[2].upper() or "B", 0)
    if size >= 1:
        return int(size)
    raise InputError(f"Expected memory as a size such as 500MB or 2GB, got {memory!r}.")


def in_words(size: float) -> str:
    """Return a size for people.

    >>> in_words(1_234_567_890), in_words(45_000_000)
    ('1.2 GB', '45 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"


def is_kept(size: float, limit: int | None) -> bool:
    """Say whether something of this size, which could also be looked up in every step, is kept in memory."""
    return limit is None or SHARE * size <= limit


@contextmanager
def limited(limit: int | None, num_edges: int) -> Iterator[None]:
    """Run a training on a multiplex of `num_edges` edges within a limit in bytes, or refuse it."""
    if limit is None:
        yield
        return
    if sys.platform != "linux":
        raise InputError(f"Expected Linux, which tells the memory of a process, for memory=, got {sys.platform}.")
    held = anonymous()
    least = held + LEAST * num_edges
    if least > limit:
        parts = f"{in_words(held)} before training and {LEAST} bytes for each of {num_edges:,} edges"
        raise InputError(f"Expected memory of at least about {in_words(least)} ({parts}), got {in_words(limit)}.")
    watch = Watch(limit, threading.get_ident())
    watch.start()
    try:
        yield
    except MemoryError:
        raise InputError(
            f"Expected a training that fits into memory of {in_words(limit)}, got one that needs more, on "
            f"{num_edges:,} edges; what may help: {HELP}."
        ) from None
    finally:
        watch.stopped.set()


class Watch(threading.Thread):
    """Looks at the memory of this process, and raises a MemoryError in a thread once there is more than a limit."""

    def __init__(self, limit: int, thread: int) -> None:
        super().__init__(daemon=True, name="memory")
        self.stopped, self._limit, self._thread = threading.Event(), limit, thread

    def run(self) -> None:
        """Look until the training ends, or there is too much."""
        while not self.stopped.wait(EVERY):
            if anonymous() > self._limit:
                kind = ctypes.py_object(MemoryError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), kind)
                return


def anonymous() -> int:
    """Return the resident anonymous memory of this process in bytes."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^RssAnon:\s+(\d+) kB", file.read(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
