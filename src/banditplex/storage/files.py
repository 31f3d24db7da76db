"""Files that take their place in one step: at any moment there is the old one or the new one, whole.

What is written goes to a draft, a new file or folder in the same folder. A draft is made exclusively (no file that is
there is opened, no link is followed), under a name that nobody can foresee. The name says which process made it:
the next write to the folder removes drafts whose process is gone, and nothing else.

Several files and folders are replaced together, all or none as far as a system can do it (`staged`). They are written
into a draft folder beside their place, under a lock, `.NAME.lock`. From there:

- one file or folder takes its place in one step. A folder changes places with the old one, where the system can do that
  in one step; elsewhere the old one is moved into the draft first, and moved back by whoever finds it there.
- several files (a format with companions, or a side note) take their places one after another. Meanwhile there is a
  mark, `.NAME.mixed`; `check_whole` refuses to read files that it stands beside, as old and new may be mixed.
"""

import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from banditplex.errors import FormatError, InputError
from banditplex.storage.lock import EXCLUSIVE, IN_FOLDER, Lock, is_alive, open_regular, process_start

OLD = ".old"  # in the draft of a folder, the one that it replaces, for a moment: this is not removed but moved back
DRAFT = re.compile(r"\.banditplex-draft-([0-9a-f]{8})-([0-9]+)-([0-9]+)-([0-9a-f]{8})-[0-9a-f]{16}")
"""Names of drafts: checksum of the file's name, process, start of that process, checksum of the host, random."""


@contextmanager
def replacing(path: Path, place: Path | None = None) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of `path` at the end, and is on the disk then; on an error nothing changes.

    An error of the system becomes one line that names `place` or the path: a full disk, a read-only one, a folder that
    has gone.
    """
    with writing(place or path):
        draft = _draft_of(path)
        file = os.fdopen(os.open(draft, EXCLUSIVE, 0o666), "wb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        sync(path.parent)


def replace_file(path: Path, data: bytes, place: Path | None = None) -> None:
    """Put `data` in place of a file in one step; it is on the disk when this returns."""
    with replacing(path, place) as file:
        file.write(data)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path` that nobody else can open; it is removed at the end."""
    folder = _draft_of(path)
    folder.mkdir(0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def regular(path: Path) -> Path:
    """Return a path; refuse a folder there, and a pipe or device, whose reading might never end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: expected a file, got {'a folder' if path.is_dir() else 'a pipe or device'}.")
    return path


def make_folder(folder: Path) -> None:
    """Make a folder unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{folder}: expected a folder, got a file.") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}.") from None


@contextmanager
def locked_folder(folder: Path) -> Iterator[Lock]:
    """Make a folder unless it is there, and hold its lock; one that is left empty is removed if it was not there."""
    new = not folder.exists()
    make_folder(folder)
    try:
        with Lock.take(folder / IN_FOLDER, folder) as lock:
            yield lock
    finally:
        if new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}.") from None


def sync(path: Path, *, within: bool = False) -> None:
    """Have a file or folder, and if asked what is `within` a folder, written to the disk."""
    for each in path.iterdir() if within and path.is_dir() else ():
        sync(each, within=True)
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def is_draft(path: Path) -> bool:
    """Return whether a file or folder has the name of a draft."""
    return DRAFT.fullmatch(path.name) is not None


def leftovers(folder: Path, of: Path | None = None) -> Iterator[Path]:
    """Yield drafts in a folder that are provably ours and whose process is gone; those `of` a path, if one is given."""
    with os.scandir(folder) as entries:
        found = [(entry, match) for entry in entries if (match := DRAFT.fullmatch(entry.name))]
    for entry, match in found:
        name, pid, start, host = match.groups()
        about = entry.stat(follow_symlinks=False)
        alone = stat.S_ISDIR(about.st_mode) or (stat.S_ISREG(about.st_mode) and about.st_nlink == 1)
        ours = host == _checksum(socket.gethostname()) and about.st_uid == os.geteuid()
        if alone and ours and (of is None or name == _checksum(of.name)) and not is_alive(int(pid), int(start) or None):
            yield Path(entry.path)


def clear_drafts(folder: Path) -> None:
    """Remove drafts that killed processes have left in a folder."""
    for left in leftovers(folder):
        if not left.is_dir():
            left.unlink(missing_ok=True)
        elif not (left / OLD).exists():
            shutil.rmtree(left, ignore_errors=True)


def _draft_of(path: Path) -> Path:
    """Return a new name for a draft; earlier ones that were left in the folder are removed."""
    clear_drafts(path.parent)
    pid, name, host = os.getpid(), _checksum(path.name), _checksum(socket.gethostname())
    draft = f".banditplex-draft-{name}-{pid}-{process_start(pid) or 0}-{host}-{secrets.token_hex(8)}"
    return path.parent / draft


def _checksum(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:8]


SHOWN = 5  # how many changes an error lists
LONG = 40  # values are cut off after this many characters
ABSENT = object()


def differences(before: Mapping[str, Any], now: Mapping[str, Any], *, within: str = "") -> Iterator[str]:
    """Describe how two mappings differ, one line per entry."""
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name, ABSENT), now.get(name, ABSENT)
        if old == new:
            continue
        if all(value is None or isinstance(value, Mapping) for value in (old, new)) and (old or new):
            yield from differences(old or {}, new or {}, within=f"{within}{name} ")
        else:
            was, is_now = _shown(old), _shown(new)
            yield f"{within}{name} " + ("has changed" if was == is_now else f"was {was}, now {is_now}")


def check_same(path: Path, changes: Iterable[str]) -> None:
    """Refuse to resume the run stored at `path` if there are any changes."""
    found = list(changes)
    if found:
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        listed = "; ".join(found[:SHOWN] + more)
        raise InputError(f"{path}: expected the settings and data of this run, got changes: {listed}.")


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "not given"
    if isinstance(value, Mapping) and value:
        return "given"
    text = repr(value)
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."


@contextmanager
def staged(path: Path, *, overwrite: bool, companion: Path | None = None) -> Iterator[Path]:
    """Yield a path of the same name in a draft folder; on success, move everything in it next to `path`.

    An old `companion` that has no new one is removed. On an error the files at `path` stay as they were.
    """
    with Lock.take(_beside(path, ".lock"), path):
        _restore(path)
        with draft_folder(path) as stage:
            yield stage / path.name
            _commit(stage, path, companion, overwrite=overwrite)


def check_whole(path: Path) -> None:
    """Refuse files of which some may be old and some new, since a write was cut off; bring an old folder back."""
    if os.path.lexists(_beside(path, ".mixed")):
        message = "expected files that belong together, got old and new ones mixed: a write was cut off; write it again"
        raise FormatError(message, path=path)
    if not path.exists():
        with suppress(OSError):
            _restore(path)


def _beside(path: Path, ending: str) -> Path:
    whole = Path(os.path.abspath(path))
    return whole.parent / f".{whole.name}{ending}"


def _restore(path: Path) -> None:
    """Move a folder back that was moved away to be replaced, if the write was cut off before it was."""
    for left in leftovers(path.parent, path):
        if (left / OLD).is_dir():
            if path.exists():
                shutil.rmtree(left)
            else:
                os.replace(left / OLD, path)


def _commit(stage: Path, path: Path, companion: Path | None, *, overwrite: bool) -> None:
    """Move everything in the draft to its place, all of it or nothing, as far as can be known before."""
    mark = _beside(path, ".mixed")
    ours = _names_in(mark)  # files that a write which was cut off has left
    made = sorted(stage.iterdir(), key=lambda each: each.name == path.name)
    places = [path.parent / each.name for each in made]
    gone = [companion] if companion is not None and companion not in places and companion.exists() else []
    for place in (*places, *gone):
        if place.exists() and not overwrite and place.name not in ours:
            raise InputError(f"{place}: expected a new path, got an existing one; overwrite=True replaces it.")
    for new, place in zip(made, places, strict=True):
        _check_replaceable(new, place)
    for new in made:
        sync(new, within=True)
    fresh = [place.name for place in places if not place.exists() or place.name in ours]
    if len(made) + len(gone) > 1:
        replace_file(mark, "\n".join(fresh).encode(), path)
    moved: list[Path] = []
    try:
        for new, place in zip(made, places, strict=True):
            _replace(new, place, stage / OLD)
            moved.append(place)
        for place in gone:
            place.unlink()
    except OSError:
        if not ours and all(place.name in fresh for place in moved):  # as it was before
            for place in moved:
                place.unlink()
            mark.unlink(missing_ok=True)
        raise
    sync(path.parent)
    mark.unlink(missing_ok=True)


def _names_in(mark: Path) -> set[str]:
    """Return the names in a mark; none if there is no mark."""
    try:
        file = open_regular(mark)
    except FileNotFoundError:
        return set()
    with os.fdopen(file, encoding="utf-8", errors="surrogateescape") as text:
        return set(text.read().split("\n"))


def _check_replaceable(new: Path, old: Path) -> None:
    """Refuse to replace a folder by a file, or a folder that has other kinds of files than the new one."""
    if not old.is_dir():
        return
    if not new.is_dir():
        raise InputError(f"{old}: expected a file to replace, got a folder.")
    endings = {each.suffix for each in new.iterdir()}
    foreign = sorted(each.name for each in old.iterdir() if each.is_dir() or each.suffix not in endings)
    if foreign:
        raise InputError(f"{old}: expected only files that the new folder replaces, got {foreign[0]!r}; move it first.")


def _replace(new: Path, old: Path, away: Path) -> None:
    """Put a file or folder in the place of another."""
    if not old.is_dir() or old.is_symlink():
        os.replace(new, old)
    elif not exchange(new, old):
        os.replace(old, away)
        try:
            os.replace(new, old)
        except OSError:
            os.replace(away, old)
            raise


def exchange(a: Path, b: Path) -> bool:
    """Let two files or folders change places in one step; False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(a), here, os.fsencode(b), swap) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(b))
