"""A file or folder that is replaced in one step, as far as a system can do it.

It is written into a draft folder beside its place, under a lock, `.NAME.lock`, and takes its place from there. A folder
changes places with the old one, where the system can do that in one step; elsewhere the old one is moved into the draft
first, and moved back by whoever finds it there.
"""

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from banditplex.errors import InputError
from banditplex.storage.files import OLD, draft_folder, leftovers, sync
from banditplex.storage.lock import Lock


@contextmanager
def staged(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a path of the same name in a draft folder; on success, move it to `path`.

    On an error what is at `path` stays as it was.
    """
    with Lock.take(_lock_of(path), path):
        bring_back(path)
        with draft_folder(path) as stage:
            new = stage / path.name
            yield new
            if path.exists() and not overwrite:
                raise InputError(f"{path}: expected a new path, got an existing one; overwrite=True replaces it.")
            _check_replaceable(new, path)
            sync(new, within=True)
            _replace(new, path, stage / OLD)
            sync(path.parent)


def _lock_of(path: Path) -> Path:
    whole = Path(os.path.abspath(path))
    return whole.parent / f".{whole.name}.lock"


def bring_back(path: Path) -> None:
    """Move a folder back that was moved away to be replaced, if the write was cut off before it was."""
    for left in leftovers(path.parent, path):
        if (left / OLD).is_dir():
            if path.exists():
                shutil.rmtree(left)
            else:
                os.replace(left / OLD, path)


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
