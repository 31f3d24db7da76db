"""Rows in a file: what was run stands in the first line, and each finished task adds one.

The file holds JSON, a line at a time, so that a run that was killed leaves what had finished. Rows are plain
dictionaries of strings, numbers, booleans and None.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.changes import check_same, differences
from banditplex.errors import FormatError, InputError
from banditplex.multiplex import Multiplex
from banditplex.version import __version__

Row = dict[str, Any]
FORMAT = "banditplex results 1"


class RowStore:
    """The rows of finished tasks, in a file that is made when the first one has finished.

    Parameters
    ----------
    path
        The file. One that exists is refused, unless `resume`.
    about
        What is run: settings, seed, data, as plain values. It stands in the first line, with our version.
    resume
        Whether to go on with the file, if it is there. It must have been begun with the same `about` by the same
        version. A last line that was cut off is dropped: its task is to be run again.

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
        self._begun = self.path.exists() and self._resume(resume=resume)
        if not os.access(self.path.parent, os.W_OK):
            raise InputError(f"{self.path}: cannot be written: expected a folder at {self.path.parent}.")

    def add(self, key: str, rows: list[Row]) -> None:
        """Keep the rows of a task; they are on the disk when this returns."""
        lines: list[Row] = [{"task": key, "rows": rows}]
        if not self._begun:
            lines = [{"format": FORMAT, "about": self.about}, *lines]
        with _opened(self.path, "ab" if self._begun else "xb") as file:
            file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
            file.flush()
            os.fsync(file.fileno())
        self._begun = True
        self.finished[key] = rows

    def _resume(self, *, resume: bool) -> bool:
        """Go on with the file that is there; say whether it holds anything."""
        if not resume:
            raise InputError(_exists(self.path))
        about, self.finished, whole = _read(self.path)
        if about is None:
            self.path.unlink()
            return False
        check_same(self.path, differences(about, self.about))
        with _opened(self.path, "r+b") as file:
            file.truncate(whole)
        return True


def read_results(path: str | Path) -> tuple[Row, list[Row]]:
    """Return what was run, and the rows of all finished tasks, sorted by the keys of the tasks."""
    about, finished, _ = _read(Path(path))
    if about is None:
        raise FormatError(f"expected {FORMAT}, got a file that was cut off in its first line", path=path)
    return about, [row for key in sorted(finished) for row in finished[key]]


def describe_data(mx: Multiplex) -> Row:
    """Return what identifies a multiplex: its sizes, and a checksum of all that it holds but the metadata."""
    arrays = (mx.edge_index, mx.layer_offsets, mx.weight, mx.time, mx.node_features)
    digest = hashlib.sha256(repr((mx.layer_names, mx.node_names.tolist())).encode())
    for array in arrays:
        digest.update(b"none" if array is None else f"{array.dtype} {array.shape}".encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return {
        "nodes": mx.num_nodes,
        "layers": mx.num_layers,
        "edges": mx.num_edges,
        "directed": mx.directed,
        "checksum": digest.hexdigest()[:16],
    }


def _read(path: Path) -> tuple[Row | None, dict[str, list[Row]], int]:
    """Return what was run, the rows of each finished task, and the length of the file without a torn last line."""
    with _opened(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    about: Row | None = None
    finished: dict[str, list[Row]] = {}
    whole = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            if number == len(lines) and (number > 1 or _begins_a_header(line)):
                break
            raise FormatError(f"expected {FORMAT}" if number == 1 else "expected JSON", path=path, line=number)
        if number == 1:
            if entry.get("format") != FORMAT:
                raise FormatError(f"expected {FORMAT}, got {entry.get('format')!r}", path=path, line=1)
            about = entry["about"]
        else:
            finished.setdefault(entry["task"], entry["rows"])
        whole += len(line)
    return about, finished, whole


def _begins_a_header(line: bytes) -> bool:
    """Say whether a line that was cut off may be the first of a file of ours."""
    start = json.dumps({"format": FORMAT})[:-1].encode()
    return not line.endswith(b"\n") and (start.startswith(line) or line.startswith(start))


def _opened(path: Path, mode: str) -> Any:
    try:
        return path.open(mode)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file or folder.") from None
    except FileExistsError:
        raise InputError(_exists(path)) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror or error}.") from None


def _exists(path: Path) -> str:
    return f"{path}: exists; continue that run (resume=True) or choose another file."
