"""Parse text with one row per line, column by column; a slow second pass finds the line of an error."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from banditplex.arrays import Ints
from banditplex.errors import FormatError
from banditplex.io.base import parse_names, show
from banditplex.multiplex.build import EdgeError, Numbers
from banditplex.multiplex.names import Names, factorize

Column = Any  # a pyarrow.ChunkedArray of strings

BLANKS = " "  # as a delimiter: any run of spaces and tabs


@dataclass(frozen=True)
class Rows:
    """The fields of a text as columns of strings; knows the line of each row."""

    path: Path
    text: bytes
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def line(self, row: int) -> int:
        """Return the line number of a row; blank lines are not rows."""
        return next(number for place, (number, _) in enumerate(filled_lines(self.text)) if place == row)

    def error(self, message: str, row: int) -> FormatError:
        """Return an error about the line of `row`."""
        return FormatError(message, path=self.path, line=self.line(row))

    def names(self, column: int) -> Column:
        """Return a column of names; an empty name is an error."""
        row = pc.index(self.columns[column], "").as_py()
        if row >= 0:
            raise self.error(f"expected a name in column {column + 1}, got an empty field", row)
        return self.columns[column]

    def numbers(self, column: int, expected: str) -> Numbers:
        """Return a column as int64 if all fields are plain integers (no +, no leading 0), otherwise as float64."""
        fields, plain = self.columns[column], r"^(0|-?[1-9][0-9]*)$"
        parts = fields.slice(0, 1000), fields  # a failing cast is slow: check first
        if all(pc.all(pc.match_substring_regex(part, plain)).as_py() is not False for part in parts):
            with suppress(pa.ArrowInvalid):  # beyond 64 bits
                return np.asarray(pc.cast(fields, pa.int64()), np.int64)
        return self._cast(column, pa.float64(), expected)

    def integers(self, column: int, name: str) -> Ints:
        """Return a column of integers."""
        return self._cast(column, pa.int64(), f"an integer as {name}")

    def _cast(self, column: int, kind: pa.DataType, expected: str) -> Numbers:
        fields = self.columns[column]
        try:
            return np.asarray(pc.cast(fields, kind), kind.to_pandas_dtype())
        except pa.ArrowInvalid:
            row = _first_failure(fields, kind)
            raise self.error(f"expected {expected}, got {fields[row].as_py()!r}", row) from None


def read_text(path: Path, *, comments: Sequence[bytes] = ()) -> bytes:
    r"""Return a file as UTF-8 text with \n line ends; lines that start with one of `comments` become blank."""
    if not path.is_file():
        raise FormatError("no such file", path=path)
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise FormatError(f"expected UTF-8 text, got byte 0x{text[error.start]:02x}", path=path, line=line) from None
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for mark in comments:
        if mark in text:
            text = re.sub(rb"(?m)^[ \t]*" + re.escape(mark) + rb".*$", b"", text)
    return text


def parse_rows(text: bytes, path: Path, *, delimiter: str, widths: range) -> Rows:
    """Split every line of a text from `read_text` into as many fields as the first has, a number in `widths`.

    White space around the delimiter is dropped. An empty text has the fewest fields.
    """
    text = _tidy(text, delimiter)
    first = next(filled_lines(text), None)
    if first is None:
        return Rows(path, text, (pa.chunked_array([], pa.string()),) * widths[0])
    width = first[1].count(delimiter.encode()) + 1
    if width not in widths:
        expected = " to ".join(str(each) for each in sorted({widths[0], widths[-1]}))
        raise FormatError(f"expected {expected} columns, got {width}: {show(first[1])}", path=path, line=first[0])
    names = [str(column) for column in range(width)]
    kinds = dict.fromkeys(names, pa.string())
    try:
        columns = pyarrow.csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            pyarrow.csv.ReadOptions(column_names=names, block_size=1 << 22),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
            pyarrow.csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False, check_utf8=False),
        ).columns
    except pa.ArrowInvalid as error:
        for number, line in filled_lines(text):
            found = line.count(delimiter.encode()) + 1
            if found != width:
                message = f"expected {width} columns as in the first line, got {found}: {show(line)}"
                raise FormatError(message, path=path, line=number) from None
        raise FormatError(str(error), path=path) from None  # such as a line of many megabytes
    if delimiter != BLANKS and (b" " in text or b"\t" in text):
        columns = [pc.utf8_trim(column, " \t") for column in columns]
    return Rows(path, text, tuple(columns))


def _tidy(text: bytes, delimiter: str) -> bytes:
    """Empty lines of white space; for `BLANKS`, leave single spaces between fields and none around lines."""
    if delimiter != BLANKS:
        return re.sub(rb"(?m)^[ \t]+$", b"", text) if b" " in text or b"\t" in text else text
    text = text.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def filled_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each non-empty line."""
    start, number = 0, 1
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        if end > start:
            yield number, text[start:end]
        start, number = end + 1, number + 1


def _first_failure(fields: Column, kind: Any) -> int:
    """Return the first row that cannot be cast, by bisection."""
    low, high = 0, len(fields)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(fields.slice(low, middle - low), kind)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


# Names


def index_names(columns: Sequence[Column], *, declared: Sequence[Column] = ()) -> tuple[Names, list[Ints]]:
    """Return the distinct names, integers if all fields are, and for each column the name indices of its fields.

    Declared names come first, in order of first occurrence; the others follow in sorted order.
    """
    every = [*declared, *columns]
    encoded = pa.chunked_array([chunk for column in every for chunk in column.chunks], pa.string()).dictionary_encode()
    known = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    found, rank = factorize(parse_names(known))
    codes = rank[np.concatenate([np.empty(0, np.int64), *(chunk.indices for chunk in encoded.chunks)])]
    sizes = np.cumsum([len(column) for column in every])
    num_fields = int(sizes[len(declared) - 1]) if declared else 0
    places = np.sort(np.unique(codes[:num_fields], return_index=True)[1])
    first = codes[places]
    order = np.concatenate([first, np.setdiff1d(np.arange(len(found)), first)])
    return found[order], np.split(np.argsort(order)[codes], sizes[:-1])[len(declared) :] if every else []


def index_fields(parts: Sequence[Rows], fields: Sequence[int]) -> tuple[Names, list[Ints]]:
    """Return the names in some fields of all parts, concatenated, and the name indices of each field."""
    chunks = [[chunk for rows in parts for chunk in rows.names(field).chunks] for field in fields]
    return index_names([pa.chunked_array(each, pa.string()) for each in chunks])


@contextmanager
def naming_rows(parts: Sequence[Rows]) -> Iterator[None]:
    """Turn an error about an edge into an error about its line; the edges are the concatenated rows of `parts`."""
    try:
        yield
    except EdgeError as error:
        ends = np.cumsum([len(rows) for rows in parts])
        place = int(np.searchsorted(ends, error.edge, side="right"))
        raise parts[place].error(error.message, error.edge - int(ends[place]) + len(parts[place])) from None


def tokens(names: Iterable[Any]) -> Column:
    """Return names as a column of strings."""
    return pa.chunked_array([[str(name) for name in names]], pa.string())
