"""The `Format` class, and what all formats share: first bytes, places of errors, names."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import EdgeError
from banditplex.multiplex.names import Names

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")

Progress = Callable[[int, int], None]  # called with (done, total), in bytes or edges


@dataclass(frozen=True)
class Format:
    """A way to store a multiplex.

    `write(mx, path, **options)` writes to a path in an empty staging folder, which takes its place afterwards.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]  # endings of file names, with the dot, in lower case; none for folders
    read: Callable[..., Multiplex]  # read(path, *, progress, **options); progress may be None
    write: Callable[..., None] | None = None  # None: the format can only be read
    holds: frozenset[str] = frozenset()  # what it stores besides edges: of "weight", "time", "features" and "types"
    matches: Callable[[Path], bool] = lambda path: False  # whether a content looks like this format
    options: tuple[str, ...] | None = None  # of tables: those of `TableOptions`, which `read` gets as one object


def begins_with(path: Path, pattern: bytes) -> bool:
    """Return whether the first 64 KiB of a file match `pattern`; False for folders."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(pattern, file.read(1 << 16), re.MULTILINE) is not None


@contextmanager
def locating(located: Callable[[str, int], InputError]) -> Iterator[None]:
    """Turn an error about an edge into `located(message, edge)`, which names its place in the file."""
    try:
        yield
    except EdgeError as error:
        raise located(error.message, error.edge) from None


def parse_names(tokens: Any) -> Names:
    """Return names from text: integers if every token is a plain integer ("7", not "007"), otherwise strings."""
    names: Names = np.asarray(tokens, dtype=object)
    if not all(map(_INTEGER.fullmatch, names.tolist())):
        return names
    try:
        return names.astype(np.int64)
    except OverflowError:
        return names
