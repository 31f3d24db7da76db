"""Files and folders that are replaced together, all or none as far as a system can do it.

They are written into a draft folder beside their place, under a lock, `.NAME.lock`. From there:

- one file or folder takes its place in one step. A folder changes places with the old one, where the system can do that
  in one step; elsewhere the old one is moved into the draft first, and moved back by whoever finds it there.
- several files (a format with companions, or a side note) take their places one after another. Meanwhile there is a
  mark, `.NAME.mixed`; `check_whole` refuses to read files that it stands beside, as old and new may be mixed.
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
from banditplex.storage.files import OLD, draft_folder, leftovers, replace_file, sync
from banditplex.storage.lock import Lock, open_regular


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
