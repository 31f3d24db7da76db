"""Read columns of numbers split by white space with a fast parser; a slow one finds the line of an error."""

import re
from collections.abc import Iterator
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from banditplex.errors import FormatError
from banditplex.io.base import Progress

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
