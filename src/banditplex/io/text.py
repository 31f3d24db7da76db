"""Read columns of numbers split by white space with a fast parser; a slow one finds the line of an error."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Progress
from banditplex.multiplex.options import check_max_size

_BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")
_INTEGER = re.compile(rb"-?[0-9]{1,19}")


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


def open_binary(path: Path, progress: Progress | None) -> BinaryIO:
    """Open a file for reading; `progress`, if given, is called with (bytes read, bytes in total)."""
    return path.open("rb") if progress is None else Counted(path, progress)


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and stripped content of each non-blank line of a file."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line := line.strip():
                yield number, line


def line_of_row(path: Path, row: int) -> int:
    """Return the line number of row `row` of a file; blank lines are not rows."""
    return next(number for i, (number, _) in enumerate(lines(path)) if i == row)


def read_numbers(path: Path, columns: dict[str, type], progress: Progress | None) -> pa.Table:
    """Read a file of numbers split by white space; `columns` maps column names to int or float.

    Most files have single spaces between columns and none around lines; the fast parser reads these directly.
    """
    try:
        with open_binary(path, progress) as file:
            return _parse(file, columns)
    except pa.ArrowInvalid:
        pass
    try:
        return _parse(BytesIO(squeeze(path.read_bytes().translate(_BLANKS))), columns)
    except pa.ArrowInvalid as error:
        _check_lines(path, columns)
        raise FormatError(f"expected columns {', '.join(columns)}, got {error}", path=path) from None


def _parse(file: BinaryIO, columns: dict[str, type]) -> pa.Table:
    kinds = {int: pa.int64(), float: pa.float64()}
    return pyarrow.csv.read_csv(
        file,
        pyarrow.csv.ReadOptions(column_names=list(columns), block_size=2**22),
        pyarrow.csv.ParseOptions(delimiter=" ", quote_char=False),
        pyarrow.csv.ConvertOptions(column_types={name: kinds[kind] for name, kind in columns.items()}, null_values=[]),
    )


def squeeze(text: bytes) -> bytes:
    """Leave single spaces between columns and none around lines."""
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _check_lines(path: Path, columns: dict[str, type]) -> None:
    """Raise an error for the first line with a wrong number of columns or a bad number."""
    for number, line in lines(path):
        tokens = line.split()
        if len(tokens) != len(columns):
            expected = f"{len(columns)} columns ({', '.join(columns)})"
            raise FormatError(f"expected {expected}, got {len(tokens)}", path=path, line=number)
        for (name, kind), token in zip(columns.items(), tokens, strict=True):
            if not is_number(token, kind):
                noun = "an integer" if kind is int else "a number"
                raise FormatError(f"expected {noun} as {name}, got {show(token)}", path=path, line=number)


def is_number(token: bytes, kind: type) -> bool:
    """Return whether a token is a number of type `kind`, int (of 64 bits) or float.

    >>> [is_number(token, int) for token in (b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808")]
    [True, True, False]
    >>> [is_number(token, float) for token in (b"1e5", b"1_0", b"x")]
    [True, False, False]
    """
    if kind is int:
        return _INTEGER.fullmatch(token) is not None and -(2**63) <= int(token) < 2**63
    try:
        float(token)
    except ValueError:
        return False
    return b"_" not in token


def show(token: bytes) -> str:
    """Return bytes of a file for a message, in any encoding, cut after 40 characters."""
    text = token.decode(errors="backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


FLOOR, FACTOR = 1 << 26, 100
"""A compressed file may always grow to 64 MiB, and beyond that to 100 times its size; graph files may have 64 MiB."""


def unpacked_limit(size: int, max_size: int | None = None) -> int:
    """Return how many bytes a compressed file of `size` bytes may grow to.

    >>> unpacked_limit(1000), unpacked_limit(1 << 30), unpacked_limit(1000, 500)
    (67108864, 107374182400, 500)
    """
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


_ROWS = 1 << 20  # rows written at once


def write_rows(file: BinaryIO, columns: Sequence[Any], delimiter: str) -> None:
    """Write columns (arrays of strings or numbers) as lines of delimited fields; numbers are exact."""
    for start in range(0, len(columns[0]), _ROWS):
        fields = [pc.cast(pa.array(column[start : start + _ROWS]), pa.string()) for column in columns]
        lines = pc.binary_join_element_wise(*fields, delimiter)
        lines = pc.binary_join_element_wise(lines, "", "\n")
        file.write(lines.buffers()[2])  # the characters of all lines


def as_strings(names: Sequence[Any]) -> pa.Array:
    """Return names as strings."""
    return pa.array([str(name) for name in names], pa.string())


def refuse_names(names: Sequence[Any], pattern: str, what: str, because: str) -> None:
    """Refuse names that match `pattern`."""
    wrong = next((name for name in names if re.search(pattern, str(name))), None)
    if wrong is not None:
        raise InputError(f"Expected names that the format can store, got the {what} name {wrong!r}: {because}.")
