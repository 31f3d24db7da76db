"""Result files in JSON Lines: the first line holds the settings of a run, each further line the rows of one task.

A task's line is appended as soon as it has finished, so a killed run keeps the results of all finished tasks. Rows are
plain dictionaries of strings, numbers, booleans and None.
"""

import hashlib
import json
import os
import weakref
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.changes import check_same, differences
from banditplex.errors import FormatError, InputError
from banditplex.lock import Lock
from banditplex.multiplex import Multiplex
from banditplex.schema import ANYTHING, check, parse
from banditplex.version import __version__

Row = dict[str, Any]
FORMAT = "banditplex results 1"
SUFFIX = ".lock"
"""Of the name of the lock beside a result file."""


class RowStore:
    """A result file. It is created when the first task has finished; no other process writes to it until `close`.

    Parameters
    ----------
    path
        The file. It must not exist, unless `resume`.
    about
        Settings, seed and data of the run, as plain values. They are stored in the first line, with our version.
    resume
        Whether to continue an existing file. Its `about` and version must be the same. An incomplete last line is
        removed, and its task has to run again.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "results.jsonl"
    >>> RowStore(path, {"seed": 0}).add("trial 0", [{"accuracy": 0.75}])
    >>> RowStore(path, {"seed": 0}, resume=True).finished
    {'trial 0': [{'accuracy': 0.75}]}
    >>> read_results(path)
    ({'version': '0.1.0', 'seed': 0}, [{'accuracy': 0.75}])
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = Path(path)
        self.about: Row = json.loads(json.dumps({"version": __version__, **about}))
        self.finished: dict[str, list[Row]] = {}
        self._size = 0  # bytes of the file that are ours
        if not os.access(self.path.parent, os.W_OK):
            raise InputError(f"{self.path}: expected a writable folder {self.path.parent}, got none.")
        lock = Lock.take(self.path.with_name(f"{self.path.name}{SUFFIX}"), self.path)
        self._lock, self.close = lock, weakref.finalize(self, lock.release)
        try:
            if self.path.exists():
                self._size = self._resume(resume=resume)
        except BaseException:
            self.close()
            raise

    def add(self, key: str, rows: list[Row]) -> None:
        """Append the rows of a task; they are on disk when this returns.

        A file that somebody removed, replaced or changed is refused, and one that cannot take the rows whole keeps none
        of them.
        """
        lines: list[Row] = [{"task": key, "rows": rows}]
        if not self._size:
            lines = [{"format": FORMAT, "about": self.about}, *lines]
        data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        self._lock.check()
        with _open(self.path, "r+b" if self._size else "xb", buffering=0) as file:
            found = file.seek(0, os.SEEK_END)
            if found != self._size:
                raise InputError(f"{self.path}: expected the {self._size} bytes that were written, got {found}.")
            self._append(file, data)
        self._size += len(data)
        self.finished[key] = rows

    def _append(self, file: FileIO, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[file.write(left) or 0 :]
            os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file.fileno(), self._size)
            if not self._size:
                self.path.unlink(missing_ok=True)
            why = error.strerror or error
            raise InputError(f"{self.path}: cannot be written: {why}; earlier results are kept.") from None

    def _resume(self, *, resume: bool) -> int:
        """Read the existing file; return the size of its complete lines."""
        if not resume:
            raise InputError(_exists(self.path))
        about, self.finished, complete = _read(self.path)
        if about is None:
            self.path.unlink()
            return 0
        check_same(self.path, differences(about, self.about))
        with _open(self.path, "r+b") as file:
            file.truncate(complete)
        return complete


def read_results(path: str | Path) -> tuple[Row, list[Row]]:
    """Return the settings of a run, and the rows of all finished tasks, sorted by the keys of the tasks."""
    about, finished, _ = _read(Path(path))
    if about is None:
        raise FormatError(f"expected {FORMAT}, got an incomplete first line", path=path)
    return about, [row for key in sorted(finished) for row in finished[key]]


def describe_data(mx: Multiplex) -> Row:
    """Return what identifies a multiplex: its sizes, and a checksum of everything except the metadata."""
    arrays = (mx.edge_index, mx.layer_offsets, mx.weight, mx.time, mx.node_features)
    digest = hashlib.sha256(repr((mx.layer_names, mx.node_names.tolist())).encode())
    for array in arrays:
        digest.update(b"none" if array is None else f"{array.dtype} {array.shape}".encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    if mx.node_types is not None:
        digest.update(repr(mx.node_types.tolist()).encode())
    return {
        "nodes": mx.num_nodes,
        "layers": mx.num_layers,
        "edges": mx.num_edges,
        "directed": mx.directed,
        "checksum": digest.hexdigest()[:16],
    }


def _read(path: Path) -> tuple[Row | None, dict[str, list[Row]], int]:
    """Return `about`, the rows of each finished task, and the number of bytes before an incomplete last line."""
    with _open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    about: Row | None = None
    finished: dict[str, list[Row]] = {}
    complete = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = parse(line, {"*": ANYTHING}, path=path, line=number) if line.endswith(b"\n") else None
        except FormatError:
            entry = None
        if entry is None:
            if number == len(lines) and (number > 1 or _may_be_header(line)):
                break
            expected, start = FORMAT if number == 1 else "JSON", line[:20].decode(errors="replace")
            raise FormatError(f"expected {expected}, got {start!r}", path=path, line=number)
        if number == 1:
            if entry.get("format") != FORMAT:
                raise FormatError(f"expected {FORMAT}, got {entry.get('format')!r}", path=path, line=1)
            check(entry, {"format": str, "about": {"*": ANYTHING}}, path=path, line=1)
            about = entry["about"]
        else:
            check(entry, {"task": str, "rows": [{"*": ANYTHING}]}, path=path, line=number)
            finished.setdefault(entry["task"], entry["rows"])
        complete += len(line)
    return about, finished, complete


def _may_be_header(line: bytes) -> bool:
    """Return whether an incomplete line may be the beginning of a header."""
    start = json.dumps({"format": FORMAT})[:-1].encode()
    return not line.endswith(b"\n") and (start.startswith(line) or line.startswith(start))


def _open(path: Path, mode: str, buffering: int = -1) -> Any:
    try:
        return path.open(mode, buffering)
    except FileExistsError:
        raise InputError(_exists(path)) from None
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be opened, got: {error.strerror or error}.") from None


def _exists(path: Path) -> str:
    return f"{path}: expected a new file, got an existing one; resume=True continues its run."
