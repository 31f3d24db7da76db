"""Locks: at most one process writes to a run folder or a results file.

A lock is a file that names its owner: process, start of that process, host, and since when. The system's own lock on
that file (flock) makes taking it atomic, and frees it when the owner ends, however it ends; the names are for the one
who is refused, and for file systems without such locks. A lock whose owner is gone is removed and made anew. Nothing is
ever written to a file that this process has not made, and links are not followed.
"""

import fcntl
import json
import os
import socket
import stat
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from banditplex.errors import InputError
from banditplex.schema import parse, whole

PATIENCE = 100  # hundredths of a second for the owner of a lock to write its name
IN_FOLDER = ".lock"  # the name of the lock of a folder, inside it
EXCLUSIVE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW  # how a file is made that must not be there yet
OWNER = {"pid": whole(1), "start": (type(None), int), "host": str, "since": str}
_HELD: dict[tuple[Path, int], "Lock"] = {}  # by place and thread, which may take its lock again


class Owner(NamedTuple):
    """Who holds a lock."""

    pid: int
    start: int | None
    host: str
    since: str

    @property
    def here(self) -> bool:
        """Whether it is a process of this machine."""
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs, as far as can be known: those of other machines may."""
        return not self.here or is_alive(self.pid, self.start)


class Lock:
    """The lock of a place, held from the call of `take` to that of `release`; errors name the place."""

    def __init__(self, path: Path, place: Path) -> None:
        self.path, self.place = path, place
        self._file, self._count, self._process = -1, 0, os.getpid()

    @classmethod
    def take(cls, path: Path, place: Path | None = None) -> "Lock":
        """Take a lock, of `place` if that is not the file itself; refuse if somebody else has it, and say who."""
        key = path.parent.resolve() / path.name, threading.get_ident()
        lock = _HELD.get(key)
        if lock is None:
            lock = _HELD[key] = cls(path, place or path)._acquired()
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
            return os.path.samestat(os.fstat(self._file), os.lstat(self.path))
        except OSError:
            return False

    def check(self) -> None:
        """Refuse to write once the place has been removed, or replaced by another."""
        if not self.is_in_place:
            got = "none or another: it was removed or replaced while it was written to"
            raise InputError(f"{self.place}: expected the lock of this process ({os.getpid()}), got {got}.")

    def _acquired(self) -> "Lock":
        try:
            for _ in range(PATIENCE):
                if self._attempt():
                    return self
                time.sleep(0.01)
        except OSError as error:
            raise InputError(f"{self.place}: cannot be written: {error.strerror or error}.") from None
        raise InputError(f"{self.place}: expected to be the only writer, got another process that has locked it.")

    def _attempt(self) -> bool:
        """Make the lock, or remove one whose owner is gone; return whether this process has it now."""
        is_new, taken = True, False
        try:
            self._file = os.open(self.path, EXCLUSIVE, 0o666)
        except FileExistsError:
            is_new = False
            try:
                self._file = open_regular(self.path, os.O_RDWR)
            except FileNotFoundError:  # just released
                return False
        try:
            busy = _is_busy(self._file)
            if is_new and not busy:
                try:
                    pid, since = os.getpid(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
                    owner = Owner(pid, process_start(pid), socket.gethostname(), since)
                    os.write(self._file, json.dumps(owner._asdict()).encode())
                except OSError:
                    self.path.unlink()
                    raise
                taken = self.is_in_place  # somebody may have taken it for one that was left
                return taken
            found = self._owner()
            if found is not None and found.is_alive and self.is_in_place:
                where = "" if found.here else f" on {found.host}"
                more = "" if found.here else f"; if it has ended, remove {self.path}"
                since = f"which has been writing since {found.since}; wait for it, or choose another place{more}"
                raise InputError(f"{self.place}: locked by process {found.pid}{where}, {since}.")
            if not busy and self.is_in_place:
                self.path.unlink()  # its owner is gone
            return False
        finally:
            if not taken:
                os.close(self._file)

    def _owner(self) -> Owner | None:
        """Return whom the lock names; None if it is empty, as one that was cut off; refuse a file that is no lock."""
        text = os.pread(self._file, 4096, 0)
        try:
            return Owner(**parse(text, OWNER)) if text else None
        except InputError:
            raise InputError(f"{self.path}: expected the lock of a process, got another file; move it away.") from None


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a file that is there; refuse links, folders and devices."""
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        if path.is_symlink():
            raise InputError(f"{path}: expected a file, got a link.") from None
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InputError(f"{path}: expected a file, got a {'folder' if path.is_dir() else 'device or pipe'}.")
    return file


def is_alive(pid: int, start: int | None) -> bool:
    """Return whether a process of this machine that began at `start` still runs; numbers of processes are reused."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return start is None or process_start(pid) in (None, start)


def process_start(pid: int) -> int | None:
    """Return when a process began, in ticks since the system did; None where this is not known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        return int(text.rpartition(")")[2].split()[19])  # the name in brackets may hold anything
    except (OSError, ValueError, IndexError):
        return None


def _is_busy(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks: the owner decides
        pass
    return False
