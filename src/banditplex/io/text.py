"""What readers of files share: progress, limits of size, bytes in messages."""

import io
import zipfile
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from banditplex.errors import FormatError
from banditplex.io.base import Progress
from banditplex.multiplex.options import check_max_size


class Counted(FileIO):
    """A file that reports how many bytes have been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._done, self._total = progress, 0, path.stat().st_size

    def read(self, size: int | None = -1) -> bytes:
        """Read and report."""
        block = super().read(size) or b""
        self._done += len(block)
        self._progress(self._done, self._total)
        return block


def show(token: bytes) -> str:
    """Return bytes of a file for a message, in any encoding, cut after 40 characters."""
    text = token.decode(errors="backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


FLOOR, FACTOR = 1 << 26, 100
"""A compressed file may always grow to 64 MiB, and beyond that to 100 times its size; graph files may have 64 MiB."""


def unpacked_limit(size: int, max_size: int | None = None) -> int:
    """Return how many bytes a compressed file of `size` bytes may grow to."""
    check_max_size(max_size)
    return max(FLOOR, FACTOR * size) if max_size is None else max_size


def check_file_size(path: Path, max_size: int | None, times: int) -> None:
    """Refuse a file that is parsed into `times` its size in memory, if it is larger than the limit."""
    check_max_size(max_size)
    size, limit = path.stat().st_size, FLOOR if max_size is None else max_size
    if size > limit:
        memory = f"reading it takes about {times} times as much memory; max_size={size} allows it"
        raise FormatError(f"expected a file of at most {limit:,} bytes, got {size:,}; {memory}", path=path)


def check_zip(path: Path, max_size: int | None = None) -> None:
    """Refuse a zip file whose members say that they are larger than the limit."""
    limit = unpacked_limit(path.stat().st_size, max_size)
    with zipfile.ZipFile(path) as archive:
        total = sum(member.file_size for member in archive.infolist())
    if total > limit:
        raise too_large(path, limit, f"; max_size={total} allows it")


def too_large(path: Path, limit: int, hint: str = "; max_size= raises the limit") -> FormatError:
    """Return an error about a file that grows beyond the limit."""
    return FormatError(f"expected at most {limit:,} bytes after decompression, got more{hint}", path=path)


class Bounded(io.RawIOBase):
    """A stream that refuses to yield more than `limit` bytes."""

    def __init__(self, stream: BinaryIO, path: Path, limit: int) -> None:
        self._stream, self._path, self._limit, self._done = stream, path, limit, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read into a buffer, up to the limit."""
        block = self._stream.read(len(buffer))
        self._done += len(block)
        if self._done > self._limit:
            raise too_large(self._path, self._limit)
        buffer[: len(block)] = block
        return len(block)
