"""Result files in JSON Lines: the first line holds the settings of a run, each further line the rows of one task.

A task's line is appended as soon as it has finished, so a killed run keeps the results of all finished tasks. Rows are
plain dictionaries of strings, numbers, booleans and None.
"""

import json
import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from banditplex.errors import FormatError, InputError
from banditplex.schema import ANYTHING, check, parse
from banditplex.storage.files import check_same, differences, is_draft, make_folder, writing
from banditplex.storage.lock import EXCLUSIVE, Lock, open_regular
from banditplex.version import __version__

Row = dict[str, Any]
Check = Callable[[str, list[Row]], None]  # of the key and rows of a task; raises `InputError` if they are wrong
FORMAT = "banditplex results 1"
ROWS = "rows.jsonl"  # the result file of a folder of results
SUFFIX = ".lock"  # of the name of the lock beside a result file
STARTS = f'{{"format": "{FORMAT}"'.encode(), b'{"task": "'  # how the first line begins, and all others


class RowStore:
    """A result file. It is created when the first task has finished; no other process writes to it until `close`.

    Settings, seed and data of the run are plain values, stored in the first line with our version. With `resume`, an
    existing file continues, if `about` and version are the same; an incomplete last line is replaced by the next one,
    and its task has to run again. `check` refuses rows that no task of this run can have written.
    """

    def __init__(
        self, path: str | Path, about: Mapping[str, Any], *, resume: bool = False, check: Check | None = None
    ) -> None:
        self.path = Path(path)
        self.about: Row = json.loads(json.dumps({"version": __version__, **about}))
        self.finished: dict[str, list[Row]] = {}
        self._whole = 0  # bytes of complete lines
        self._size: int | None = None  # bytes of the file, None while there is none
        if not os.access(self.path.parent, os.W_OK):
            raise InputError(f"{self.path}: expected a writable folder {self.path.parent}, got none.")
        lock = Lock.take(self.path.with_name(f"{self.path.name}{SUFFIX}"), self.path)
        self._lock, self.close = lock, weakref.finalize(self, lock.release)
        try:
            if os.path.lexists(self.path):
                if not resume:
                    raise InputError(_exists(self.path))
                about_kept, self.finished, self._whole, self._size = _read(self.path, check)
                if about_kept is not None:
                    check_same(self.path, differences(about_kept, self.about))
        except BaseException:
            self.close()
            raise

    def add(self, key: str, rows: list[Row]) -> None:
        """Append the rows of a task; they are on disk when this returns.

        A file that somebody removed, replaced or changed is refused, and one that cannot take the rows whole keeps none
        of them.
        """
        lines: list[Row] = [{"task": key, "rows": rows}]
        if not self._whole:
            lines = [{"format": FORMAT, "about": self.about}, *lines]
        data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        self._lock.check()
        with writing(self.path):
            try:
                new = self._size is None
                file = os.open(self.path, EXCLUSIVE, 0o666) if new else open_regular(self.path, os.O_RDWR)
            except FileExistsError:
                raise InputError(_exists(self.path)) from None
            try:
                found = os.lseek(file, 0, os.SEEK_END)
                if found != (self._size or 0):
                    raise InputError(f"{self.path}: expected the {self._size} bytes that were written, got {found}.")
                self._append(file, data)
            finally:
                os.close(file)
        self._whole = self._size = self._whole + len(data)
        self.finished[key] = rows

    def _append(self, file: int, data: bytes) -> None:
        try:
            if self._size != self._whole:
                os.ftruncate(file, self._whole)
            os.lseek(file, self._whole, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, self._whole)
                if self._size is None:
                    self.path.unlink()
                else:
                    self._size = self._whole
            why = error.strerror or error
            raise InputError(f"{self.path}: cannot be written: {why}; earlier results are kept.") from None


def read_results(path: str | Path) -> tuple[Row, list[Row]]:
    """Return the settings of a run, and the rows of all finished tasks, sorted by the keys of the tasks."""
    about, finished, _, _ = _read(Path(path))
    if about is None:
        raise FormatError(f"expected {FORMAT}, got an incomplete first line", path=path)
    return about, [row for key in sorted(finished) for row in finished[key]]


def open_store(folder: Path, about: Mapping[str, Any], *, resume: bool = False, check: Check | None = None) -> RowStore:
    """Create a folder with a row file; with `resume`, open the existing one."""
    check_folder(folder, resume=resume)
    make_folder(folder)
    return RowStore(folder / ROWS, about, resume=resume, check=check)


def check_folder(folder: Path, *, resume: bool, how: str = "resume=True") -> None:
    """Refuse a folder with content, unless it holds a run and `resume` is set; `how` tells the user how to set it."""
    lock = f"{ROWS}{SUFFIX}"  # that of a run which was killed before its first row counts as nothing
    if not folder.exists() or (folder.is_dir() and all(p.name == lock or is_draft(p) for p in folder.iterdir())):
        return
    if not begun(folder):
        raise InputError(f"{folder}: expected a new or empty folder, or one with {ROWS}.")
    if not resume:
        raise InputError(f"{folder}: exists; continue that run ({how}) or choose another folder.")


def begun(folder: Path) -> bool:
    """Say whether a folder holds a run that can be resumed."""
    return (folder / ROWS).is_file()


def _read(path: Path, check_task: Check | None = None) -> tuple[Row | None, dict[str, list[Row]], int, int]:
    """Return `about`, the rows of each finished task, the bytes of complete lines, and those of the file."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            lines = file.read().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be opened, got: {error.strerror or error}.") from None
    about: Row | None = None
    finished: dict[str, list[Row]] = {}
    whole = 0
    for number, line in enumerate(lines, 1):
        start = STARTS[number > 1]
        if number == len(lines) and not line.endswith(b"\n") and line[: len(start)] == start[: len(line)]:
            break  # cut off while it was written
        if number == 1:
            about = _parse_header(path, line)
        else:
            entry = parse(line, {"task": str, "rows": [{"*": ANYTHING}]}, path=path, line=number)
            key, rows = entry["task"], entry["rows"]
            try:
                if check_task is not None:
                    check_task(key, rows)
            except InputError as error:
                raise FormatError(str(error).removesuffix("."), path=path, line=number) from None
            if key in finished:
                raise FormatError(f"expected each task once, got {key!r} again", path=path, line=number)
            finished[key] = rows
        whole += len(line)
    return about, finished, whole, sum(map(len, lines))


def _parse_header(path: Path, line: bytes) -> Row:
    try:
        entry: Row = parse(line, {"*": ANYTHING}, path=path, line=1)
    except FormatError:
        entry = {}
    if entry.get("format") != FORMAT:
        got = repr(entry["format"]) if "format" in entry else repr(line[:20].decode(errors="replace"))
        raise FormatError(f"expected {FORMAT}, got {got}", path=path, line=1)
    check(entry, {"format": str, "about": {"*": ANYTHING}}, path=path, line=1)
    return entry["about"]


def _exists(path: Path) -> str:
    return f"{path}: expected a new file, got an existing one; resume=True continues its run."
