"""The `Format` class, and what all formats share: side notes, parsing of names, progress and limits of size."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from banditplex.errors import FormatError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.cells import tidy
from banditplex.multiplex.names import Names, factorize
from banditplex.multiplex.options import check_max_size
from banditplex.schema import ANYTHING, DISTINCT_NAMES, check, check_version, parse

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)([.,]0+)?")

Progress = Callable[[int, int], None]  # called with (done, total), in bytes or edges


@dataclass(frozen=True)
class Format:
    """A way to store a multiplex.

    Every format stores names, direction and isolated nodes, in a side note if necessary. `write(mx, path, **options)`
    writes to a path in an empty staging folder; all files there are moved to their final place afterwards.
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


# A side note, NAME.meta.json next to the file NAME, stores what the format cannot: direction, unused names, ...

NOTE = {"directed?": bool, "nodes?": DISTINCT_NAMES, "layers?": DISTINCT_NAMES}  # what a side note may say


def side_note_path(path: Path) -> Path:
    """Return the path of the side note of a file."""
    return path.with_name(path.name + ".meta.json")


def write_side_note(path: Path, note: dict[str, Any]) -> None:
    """Write the side note of `path`, unless it is empty."""
    if note:
        side_note_path(path).write_text(json.dumps({"banditplex": 1, **note}), encoding="utf-8")


def read_side_note(path: Path) -> dict[str, Any]:
    """Return the side note of `path`, or an empty dictionary."""
    where = side_note_path(path)
    if not where.is_file():
        return {}
    note: dict[str, Any] = parse(where.read_bytes(), {"*": ANYTHING}, path=where)
    check_version(note.pop("banditplex", None), 1, path=where, what="side note")
    check(note, NOTE, path=where)
    return note


def side_note(mx: Multiplex) -> dict[str, Any]:
    """Return what a plain edge list does not store: direction, and names that cannot be inferred from the edges."""
    note: dict[str, Any] = {"directed": True} if mx.directed else {}
    layers = np.array(mx.layer_names, dtype=object)
    linked = np.zeros(mx.num_nodes, np.bool_)
    linked[mx.edge_index.ravel()] = True
    if not _implied(mx.node_names[linked], mx.node_names.tolist()):
        note["nodes"] = mx.node_names.tolist()
    if not _implied(layers[mx.layer_sizes > 0], list(mx.layer_names)):
        note["layers"] = list(mx.layer_names)
    return note


def _implied(used: Names, declared: list[Name]) -> bool:
    found, _ = factorize(parse_names([str(name) for name in used.tolist()]))
    if found.dtype == object and all(map(_WHOLE.fullmatch, found.tolist())):
        return False  # names such as 7.0 would be read as integers
    if found.dtype == object and tidy(pa.array(found, pa.string())).to_pylist() != found.tolist():
        return False  # spaces around names would be left out
    return bool(found.tolist() == declared)  # 1 != "1", so this compares types too


def parse_names(tokens: Any) -> Names:
    """Return names from text: integers if every token is a plain integer ("7", not "007"), otherwise strings."""
    names: Names = np.asarray(tokens, dtype=object)
    if not all(map(_INTEGER.fullmatch, names.tolist())):
        return names
    try:
        return names.astype(np.int64)
    except OverflowError:
        return names


# Progress, and limits of size


class Counted(io.FileIO):
    """A file that reports how many bytes have been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._done, self._total = progress, 0, path.stat().st_size

    def read(self, size: int | None = -1) -> bytes:
        """Read and report."""
        block = super().read(size) or b""
        self._done += len(block)
        self._progress(self._done, self._total)
        return block


def show(token: bytes) -> str:
    """Return bytes of a file for a message, in any encoding, cut after 60 characters."""
    text = token.decode(errors="backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


FLOOR, FACTOR = 1 << 26, 100
"""A compressed file may always grow to 64 MiB, and beyond that to 100 times its size; graph files may have 64 MiB."""


def unpacked_limit(size: int, max_size: int | None = None) -> int:
    """Return how many bytes a compressed file of `size` bytes may grow to."""
    check_max_size(max_size)
    return max(FLOOR, FACTOR * size) if max_size is None else max_size


def too_large(path: Path, limit: int, hint: str = "; max_size= raises the limit") -> FormatError:
    """Return an error about a file that grows beyond the limit."""
    return FormatError(f"expected at most {limit:,} bytes after decompression, got more{hint}", path=path)


class Bounded(io.RawIOBase):
    """A stream that refuses to yield more than `limit` bytes."""

    def __init__(self, stream: BinaryIO, path: Path, limit: int) -> None:
        self._stream, self._path, self._limit, self._done = stream, path, limit, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read into a buffer, up to the limit."""
        block = self._stream.read(len(buffer))
        self._done += len(block)
        if self._done > self._limit:
            raise too_large(self._path, self._limit)
        buffer[: len(block)] = block
        return len(block)
