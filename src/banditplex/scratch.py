"""Room for large arrays: in memory or, within `in_files`, in memory-mapped files, whose pages come and go as needed.

The files have no names: each is unlinked while it is still empty, and the system removes it with the array, also
after a kill. This needs Linux.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from banditplex.errors import InputError

if TYPE_CHECKING:
    import torch

LEAST = 1 << 24
"""Bytes of the smallest array that is put into a file."""
PART = 1 << 18
"""Numbers that are computed at once where results are large."""
_folders: list[tuple[Path, int]] = []


@contextmanager
def in_files(folder: str | Path, least: int = LEAST) -> Iterator[None]:
    """Put the arrays that `room` returns into files in a folder, if they have at least so many bytes."""
    _folders.append((Path(folder), least))
    try:
        yield
    finally:
        _folders.pop()


def room(size: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Return an array for `size` values, still to come."""
    kind = np.dtype(dtype)
    if not _folders or size * kind.itemsize < _folders[-1][1]:
        return np.empty(size, kind)
    import torch

    values: npt.NDArray[Any] = mapped(_folders[-1][0], size, getattr(torch, kind.name)).numpy()
    return values


def mapped(folder: Path, size: int, dtype: "torch.dtype") -> "torch.Tensor":
    """Return a tensor of zeros (size,) in a new file in a folder."""
    import torch

    needed = size * dtype.itemsize
    try:
        file, path = tempfile.mkstemp(prefix="banditplex-", dir=folder)
        try:
            os.unlink(path)
            os.posix_fallocate(file, 0, needed)  # a full disk is an error now, not a crash later
            return torch.from_file(f"/proc/self/fd/{file}", shared=True, size=size, dtype=dtype)
        finally:
            os.close(file)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{folder}: expected room for {needed:,} bytes of scratch files, got: {reason}.") from None
