"""The steps of a process that change the disk, numbered: each can be made its last, or made to fail.

A step is a call that renames, removes, makes, shortens or synchronises a file or folder below a root; it counts twice,
before and after. Appending to a results file and writing a draft count once more, half-way through.
"""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from banditplex.storage import files
from banditplex.storage.rows import RowStore

CALLS = ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "fsync", "ftruncate")
Action = Callable[["Points", str], None]


class Points:
    """Counts the steps below a root; at number `at`, counted from 0, `action` is taken.

    Install it in a process of its own: nothing is put back.
    """

    def __init__(self, root: Path, at: int | None = None, action: Action | None = None) -> None:
        self.root, self._at, self._action = str(root.resolve()), at, action
        self.seen: list[str] = []
        self._names: dict[str, str] = {}  # of drafts, which are random, as steps are called
        self._inside = False

    def install(self) -> None:
        """Watch all calls of this process."""
        for name in CALLS:
            setattr(os, name, self._watched(name, getattr(os, name)))
        files.exchange = self._watched("exchange", files.exchange)
        whole, draft = RowStore._append, files._draft_of

        def append(store: RowStore, file: int, data: bytes) -> None:
            self._half(f"append {store.path.name}", lambda: os.write(file, data[: len(data) // 2]))
            whole(store, file, data)

        def draft_of(path: Path) -> Path:
            made = draft(path)
            self._names[made.name] = f"draft of {path.name}"
            self._half(f"draft of {path.name}", lambda: made.write_bytes(b"half"))
            return made

        RowStore._append = append  # type: ignore[method-assign, assignment]
        files._draft_of = draft_of

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            where = None if self._inside else self._where(arguments[-1] if name == "replace" else arguments[0])
            if where is None:
                return call(*arguments, **options)
            self._step(f"before {name} {where}")
            result = call(*arguments, **options)
            self._step(f"after {name} {where}")
            return result

        return watched

    def _half(self, what: str, write_half: Callable[[], Any]) -> None:
        if len(self.seen) == self._at and self._action is kill:
            write_half()
        self._step(f"half {what}")

    def _where(self, place: Any) -> str | None:
        """Return a path or the path of an open file relative to the root; None if it is elsewhere."""
        text = os.readlink(f"/proc/self/fd/{place}") if isinstance(place, int) else os.path.abspath(os.fsdecode(place))
        if not text.startswith(self.root + os.sep):
            return None
        return os.path.join(*(self._names.get(part, part) for part in Path(os.path.relpath(text, self.root)).parts))

    def _step(self, what: str) -> None:
        number = len(self.seen)
        self.seen.append(what)
        if number == self._at and self._action is not None:
            self._inside = True
            try:
                self._action(self, what)
            finally:
                self._inside = False


def kill(points: Points, what: str) -> None:
    """End this process as the power would."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Action:
    """Return the action that lets a call fail with an error of the system, such as a full disk."""

    def fail(points: Points, what: str) -> None:
        if what.startswith("before"):
            raise OSError(number, os.strerror(number))

    return fail


def removing(name: str) -> Action:
    """Return the action that removes a file or folder, as somebody else might."""

    def remove(points: Points, what: str) -> None:
        place = Path(points.root) / name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    return remove


def replacing(name: str) -> Action:
    """Return the action that puts an empty file or folder in the place of another."""

    def replace(points: Points, what: str) -> None:
        place = Path(points.root) / name
        was_folder = place.is_dir()
        removing(name)(points, what)
        if was_folder:
            place.mkdir()
        else:
            place.touch()

    return replace
