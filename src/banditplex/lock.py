"""Locks: at most one process writes to a run folder or a results file.

A lock is a file that names its owner: process, start of that process, host, and since when. The system's own lock on
that file (flock) makes taking it atomic, and frees it when the owner ends, however it ends; the names are for the one
who is refused, and for file systems without such locks. A lock whose owner is gone is taken over.
"""

import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from banditplex.errors import InputError
from banditplex.schema import parse, whole

PATIENCE = 100
"""Hundredths of a second for the owner of a lock to write its name."""
IN_FOLDER = ".lock"
"""The name of the lock of a folder, inside it."""
OWNER = {"pid": whole(1), "start": (type(None), int), "host": str, "since": str}
_HELD: dict[tuple[Path, int], "Lock"] = {}
"""Locks of this process by place and thread: one that is held may be taken again by its thread."""


class Owner(NamedTuple):
    """Who holds a lock."""

    pid: int
    start: int | None  # when that process began, in the clock of its system: numbers of processes are used again
    host: str
    since: str

    @property
    def here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs, as far as can be known: those of other machines may."""
        if not self.here:
            return True
        return is_running(self.pid) and (self.start is None or process_start(self.pid) in (None, self.start))


class Lock:
    """The lock of a place, held from the call of `take` to that of `release`; errors name the place."""

    def __init__(self, path: Path, place: Path) -> None:
        self.path, self.place = path, place
        self._file, self._count, self._process = -1, 0, os.getpid()

    @classmethod
    def take(cls, path: Path, place: Path | None = None) -> "Lock":
        """Take a lock, of `place` if that is not the file itself; refuse if somebody else has it, and say who."""
        key = Path(os.path.realpath(path)), threading.get_ident()
        lock = _HELD.get(key)
        if lock is None:
            lock = cls(path, place or path)
            lock._acquire()
            _HELD[key] = lock
        lock._count += 1
        return lock

    def release(self) -> None:
        """Give the lock back; the last release removes the file."""
        self._count -= 1
        if self._count:
            return
        for key in [key for key, lock in _HELD.items() if lock is self]:
            del _HELD[key]
        if self.is_in_place and os.getpid() == self._process:  # a process that was forked leaves it to this one
            with suppress(OSError):
                os.ftruncate(self._file, 0)
                self.path.unlink()
        os.close(self._file)

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    @property
    def is_in_place(self) -> bool:
        """Whether the file is where it was: nobody removed or replaced its folder."""
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except OSError:
            return False

    def check(self) -> None:
        """Refuse to write once the place has been removed, or replaced by another."""
        if not self.is_in_place:
            raise InputError(
                f"{self.place}: expected the lock of this process ({os.getpid()}), got none or another: it was removed "
                "or replaced while it was written to."
            )

    def _acquire(self) -> None:
        for attempt in count():
            try:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise InputError(f"{self.place}: cannot be written: {error.strerror or error}.") from None
            try:
                busy = _is_busy(self._file)
                owner = _read_owner(self._file)
                if busy and owner is None and attempt < PATIENCE:  # it is about to say who it is, or has just left
                    os.close(self._file)
                    time.sleep(0.01)
                    continue
                if busy or (owner is not None and owner.is_alive):
                    raise InputError(_refusal(self, owner))
                if not self.is_in_place:  # released and removed since it was opened
                    os.close(self._file)
                    continue
                _write_owner(self._file)
                return
            except OSError as error:
                os.close(self._file)
                raise InputError(f"{self.place}: cannot be written: {error.strerror or error}.") from None
            except BaseException:
                os.close(self._file)
                raise


def is_running(pid: int) -> bool:
    """Return whether there is a process of that number; True where this cannot be known."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def process_start(pid: int) -> int | None:
    """Return when a process began, in ticks since the system did; None where this is not known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        return int(text.rpartition(")")[2].split()[19])  # the name in brackets may hold anything
    except (OSError, ValueError, IndexError):
        return None


def _is_busy(file: int) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks: the owner decides
        pass
    return False


def _read_owner(file: int) -> Owner | None:
    """Return whom a lock names; None if it names nobody, as one that was cut off while it was written."""
    os.lseek(file, 0, os.SEEK_SET)
    try:
        fields: dict[str, Any] = parse(os.read(file, 4096), OWNER)
    except InputError:
        return None
    return Owner(**fields)


def _write_owner(file: int) -> None:
    pid = os.getpid()
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    owner = Owner(pid, process_start(pid), socket.gethostname(), since)
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, json.dumps(owner._asdict()).encode())


def _refusal(lock: Lock, owner: Owner | None) -> str:
    if owner is None:
        return f"{lock.place}: expected to be the only writer, got another process that has locked it."
    where, hint = "" if owner.here else f" on {owner.host}", "wait for it, or choose another place"
    hint += "" if owner.here and os.name == "posix" else f"; if it has ended, remove {lock.path}"
    return f"{lock.place}: locked by process {owner.pid}{where}, which has been writing since {owner.since}; {hint}."
