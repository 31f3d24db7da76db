"""A limit on the memory of a training: large arrays are put into files where they would not fit.

What counts is resident memory that is no file on a disk: the pages of a file come and go as needed, those of a multiplex
in our own folder format among them. It is looked at many times a second, and a training that grows beyond the limit all
the same is stopped. A limit on address space, which the system could enforce, would not do: libraries reserve gigabytes
of it that they never use.
"""  # noqa: E501

import ctypes
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.scratch import LEAST, in_files

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
NEED, STEP = 1_500, 10**9
"""Bytes per edge, and besides, that no training exceeds that is held in memory alone (docs/scale.md)."""
WORK = 64 * 10**6
"""Bytes that a training needs at least, beyond what the process has before it."""
EVERY = 0.01
"""Seconds between looks at the memory."""
SMALLEST, BLOCK = (32, 1 << 20, LEAST), (512, 1 << 14, 1 << 22)
"""Bytes of the smallest array in a file, and numbers that are sorted at once: a share of the memory, within limits."""
HELP = "a higher limit, a smaller batch_size, evidence='drawn' or fewer targets"


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


@contextmanager
def limited(limit: int | None, num_edges: int, folder: str | Path | None = None) -> Iterator[None]:
    """Run a training on a multiplex of `num_edges` edges within a limit in bytes, or refuse it.

    Arrays that do not fit are put into files in `folder`; None: the folder of the system for temporary files.
    """
    if limit is None:
        yield
        return
    if sys.platform != "linux":
        raise InputError(f"Expected Linux, which tells the memory of a process, for memory=, got {sys.platform}.")
    held = resident()
    in_memory = held + NEED * num_edges + STEP <= limit
    if not in_memory:
        import_module("torch._dynamo")  # which modes of torch need: it is not what a training takes
        held = resident()
    if held + WORK > limit:
        parts = f"{in_words(held)} before training and {in_words(WORK)} to work with"
        raise InputError(f"Expected memory of at least about {in_words(held + WORK)} ({parts}), got {in_words(limit)}.")
    watch = Watch(limit, threading.get_ident())
    watch.start()
    try:
        with nullcontext() if in_memory else _in_files(limit - held, folder):
            yield
    except MemoryError:
        raise InputError(
            f"Expected a training that fits into memory of {in_words(limit)}, got one that needs more, on "
            f"{num_edges:,} edges; what may help: {HELP}."
        ) from None
    finally:
        watch.stopped.set()


@contextmanager
def _in_files(free: int, folder: str | Path | None) -> Iterator[None]:
    """Put what is large into files; what is not, and what is computed at once, shares `free` bytes of memory."""
    from banditplex.training.file_backed import FileBacked

    place = Path(tempfile.gettempdir() if folder is None else folder).absolute()
    while not place.is_dir():
        place = place.parent
    least, chunk = (min(max(free // share, low), high) for share, low, high in (SMALLEST, BLOCK))
    with in_files(place, least), FileBacked(place, least=least, chunk=chunk):
        yield


class Watch(threading.Thread):
    """Looks at the memory of this process, and raises a MemoryError in a thread once there is more than a limit."""

    def __init__(self, limit: int, thread: int) -> None:
        super().__init__(daemon=True, name="memory")
        self.stopped, self._limit, self._thread = threading.Event(), limit, thread

    def run(self) -> None:
        """Look until the training ends, or there is too much."""
        while not self.stopped.wait(EVERY):
            if resident() > self._limit:
                kind = ctypes.py_object(MemoryError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), kind)
                return


def resident() -> int:
    """Return the resident memory of this process that is no file on a disk, in bytes."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
        found = re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", file.read(), re.MULTILINE)
    return 1024 * sum(map(int, found))
