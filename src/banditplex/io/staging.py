"""Writes that are done whole or not at all, whenever they are cut off.

A write goes to a staging folder, `.NAME.new` beside its place NAME, under a lock, `.NAME.lock`. From there:

- one file or folder takes its place in one step: at any moment there is the old one or the new one. A folder changes
  places with the old one, where the system can do that in one step; elsewhere the old one is moved into the staging
  folder first, and moved back by whoever finds it there.
- several files (a format with companions, or a side note) take their places one after another. Meanwhile the staging
  folder holds a mark; `check_whole` refuses to read files that it stands beside, as old and new may be mixed.

The next write to the same place removes what one that was killed has left.
"""

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from banditplex.errors import FormatError, InputError
from banditplex.io.base import side_note_path
from banditplex.lock import Lock

MARK = ".mixed"  # in the staging folder, while several files take their places
OLD = ".old"  # in the staging folder, the folder that was replaced


@contextmanager
def staged(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a path of the same name in a staging folder; on success, move everything in it next to `path`.

    On an error the staging folder is removed, and the files at `path` stay as they were.
    """
    stage = _beside(path, ".new")
    with Lock.take(_beside(path, ".lock"), path):
        _restore(path)
        ours: set[str] = set()  # files that a write which was cut off has left
        if (stage / MARK).exists():
            ours = set((stage / MARK).read_text(encoding="utf-8").split("\n"))
            _empty(stage, but=MARK)
        else:
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir()
        try:
            yield stage / path.name
            _commit(stage, path, ours, overwrite=overwrite)
        except BaseException:
            if not (stage / MARK).exists():
                shutil.rmtree(stage, ignore_errors=True)
            raise
        (stage / MARK).unlink(missing_ok=True)
        shutil.rmtree(stage, ignore_errors=True)


def check_whole(path: Path) -> None:
    """Refuse files of which some may be old and some new, since a write was cut off; bring an old folder back."""
    if (_beside(path, ".new") / MARK).exists():
        message = "expected files that belong together, got old and new ones mixed: a write was cut off; write it again"
        raise FormatError(message, path=path)
    if not path.exists():
        with suppress(OSError):
            _restore(path)


def _beside(path: Path, ending: str) -> Path:
    whole = Path(os.path.abspath(path))
    return whole.parent / f".{whole.name}{ending}"


def _empty(folder: Path, *, but: str) -> None:
    for each in folder.iterdir():
        if each.name != but:
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()


def _restore(path: Path) -> None:
    """Move a folder back that was moved away to be replaced, if the write was cut off before it was."""
    old = _beside(path, ".new") / OLD
    if old.exists() and not path.exists():
        os.replace(old, path)


def _commit(stage: Path, path: Path, ours: set[str], *, overwrite: bool) -> None:
    """Move everything in the staging folder to its place, all of it or nothing, as far as can be known before."""
    made = sorted((each for each in stage.iterdir() if each.name != MARK), key=lambda each: each.name == path.name)
    places = [path.parent / each.name for each in made]
    stale = side_note_path(path)  # the side note of an earlier file
    gone = [] if stale in places or not stale.exists() else [stale]
    for place in (*places, *gone):
        if place.exists() and not overwrite and place.name not in ours:
            raise InputError(f"{place}: expected a new path, got an existing one; overwrite=True replaces it.")
    for new, place in zip(made, places, strict=True):
        _check_replaceable(new, place)
    for new in made:
        _sync(new)
    fresh = [place.name for place in places if not place.exists() or place.name in ours]
    if len(made) + len(gone) > 1:
        (stage / MARK).write_text("\n".join(fresh), encoding="utf-8")
        _sync(stage / MARK)
        _sync(stage, within=False)
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
            (stage / MARK).unlink(missing_ok=True)
        raise
    _sync(path.parent, within=False)


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
        os.replace(new, old)


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


def _sync(path: Path, *, within: bool = True) -> None:
    """Have a file, or a folder and what is in it, written to the disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    for each in path.iterdir() if within and path.is_dir() else ():
        _sync(each)
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
