"""A limit on the memory of a training: the system refuses what goes beyond it, and the user is told in one line.

What counts is anonymous memory, all that is not a file in memory; a multiplex in our own folder format is one, and so
does not count. The limit is RLIMIT_DATA of the process, which Linux enforces whatever library allocates. It holds for
address space, of which libraries reserve some hundred megabytes that they may never use.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from banditplex.errors import InputError

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LEAST = 112
"""Bytes per edge below which no training stays: lists of neighbours and edges, and keys of known pairs."""
SHARE = 4
"""What can be looked up again is kept if it takes at most the fourth part of the limit."""
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
        raise InputError(f"Expected Linux, which can limit the memory of a process, for memory=, got {sys.platform}.")
    import resource

    held = address_space()
    least = held + LEAST * num_edges
    if least > limit:
        parts = f"{in_words(held)} for the libraries and {LEAST} bytes for each of {num_edges:,} edges"
        raise InputError(f"Expected memory of at least about {in_words(least)} ({parts}), got {in_words(limit)}.")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        raise InputError(
            f"Expected a training that fits into memory of {in_words(limit)}, got one that needs more, on "
            f"{num_edges:,} edges; what may help: {HELP}."
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_shortage(error: Exception) -> bool:
    """Say whether an error means that there is no more memory: torch has a plain RuntimeError for it."""
    words = ("allocate", "not enough memory", "can't start new thread")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def address_space() -> int:
    """Return the bytes that count towards the limit."""
    with open("/proc/self/status", encoding="ascii") as file:
        found = re.search(r"^VmData:\s+(\d+) kB", file.read(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
