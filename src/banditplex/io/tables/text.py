"""Parse tables of text with one row per edge: how they are written, which columns they have, numbers and dates."""

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from banditplex.errors import FormatError
from banditplex.io.base import Bounded, Counted, Progress, show, unpacked_limit
from banditplex.multiplex.cells import Origin, in_all
from banditplex.multiplex.notes import note
from banditplex.multiplex.numbers import is_guess, looks_grouped
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, assign_columns, choose_columns
from banditplex.multiplex.table import TYPES, read_cells
from banditplex.terminal import escape

SAMPLE = 1 << 16  # bytes that are looked at
DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {"cp1252": "Windows-1252", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
"""Names of encodings as users know them."""
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """How a table is written; `max_size` limits what it may grow to when it is decompressed."""

    delimiter: str
    encoding: str
    header: bool
    max_size: int | None


def sniff_encoding(sample: bytes) -> str:
    """Return the encoding of a text: UTF-8 if it can be that, UTF-16 by its mark or its zeros, or Windows-1252."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not sample.startswith(codecs.BOM_UTF32_LE):
        return "utf-16"
    zeros = sample[0::2].count(0), sample[1::2].count(0)
    if 3 * sum(zeros) > len(sample) > 0:  # Latin letters in two bytes each
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE)  # the last may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def sniff_delimiter(text: str, usual: str, accept: Callable[[Sequence[str]], bool]) -> str:
    """Return the delimiter of a table: the usual one of its format if that gives fields to `accept`, or another."""
    line = text.lstrip("\r\n\ufeff").partition("\n")[0].partition("\r")[0]
    others = [each for each in DELIMITERS if each != usual]
    fields = {each: _split(line, each) for each in (usual, *others)}
    accepted = next((each for each in fields if accept(fields[each])), None)
    if accepted is not None:
        return accepted
    return usual if len(fields[usual]) > 1 else max(fields, key=lambda each: len(fields[each]))


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


@contextmanager
def opened(path: Path, progress: Progress | None = None, *, max_size: int | None = None) -> Iterator[BinaryIO]:
    """Open a file and, if its name says that it is compressed, decompress it up to a limit."""
    try:
        with path.open("rb") if progress is None else Counted(path, progress) as raw:
            if path.suffix.lower() != ".gz":
                yield raw
                return
            limit = unpacked_limit(path.stat().st_size, max_size)
            with gzip.GzipFile(fileobj=raw) as stream:
                yield io.BufferedReader(Bounded(stream, path, limit), 1 << 18)  # type: ignore[arg-type, type-var]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"expected a complete gzip file, got {error}", path=path) from None


class OtherEncoding(FormatError):
    """A text is not in the encoding that was tried."""


def codec(dialect: Dialect) -> str:
    """Return the codec that decodes a text of a dialect, without its byte order mark."""
    return "utf-8-sig" if dialect.encoding in ("utf-8", "utf8") else dialect.encoding


def records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each row, column names first; bytes that are no text become lone surrogates."""
    with opened(path, max_size=dialect.max_size) as file:
        text = io.TextIOWrapper(file, encoding=codec(dialect), errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter=dialect.delimiter)
        begin, header = 1, dialect.header
        try:
            for row in rows:
                if row and not header:
                    yield begin, [str(column) for column in range(1, len(row) + 1)]
                    header = True
                if row:
                    yield begin, row
                begin = rows.line_num + 1
        except csv.Error as error:
            raise FormatError(f"expected a table, got {error}", path=path, line=begin) from None
        except UnicodeError as error:
            raise FormatError(f"expected {dialect.encoding} text, got {error}", path=path, line=begin) from None
        finally:
            text.detach()


def line_of_row(path: Path, dialect: Dialect, row: int) -> int:
    """Return the line in which a row begins."""
    return next(line for index, (line, _) in enumerate(records(path, dialect), -1) if index == row)


def check_decoded(path: Path, dialect: Dialect, line: int, row: list[str]) -> None:
    """Refuse a row with bytes that could not be decoded."""
    token = next((cell for cell in row if any("\udc80" <= letter <= "\udcff" for letter in cell)), None)
    if token is not None:
        name = ENCODINGS.get(dialect.encoding, dialect.encoding.upper())
        got = show(token.encode(errors="surrogateescape"))
        raise OtherEncoding(f"expected {name} text, got {got}", path=path, line=line)


def check_records(path: Path, dialect: Dialect) -> None:
    """Raise an error for the first row of a wrong number of columns, or of another encoding if that comes first."""
    rows = records(path, dialect)
    names = next(rows)[1]
    ragged: list[tuple[int, int]] = []
    for line, row in rows:
        if len(row) != len(names):
            ragged.append((line, len(row)))
        if not ragged:
            check_decoded(path, dialect, line, row)
    if ragged:
        line, width = ragged[0]
        expected = f"{len(names)} columns ({', '.join(escape(name)[:40] for name in names)})"
        raise FormatError(f"expected {expected}, got {width}{in_all(len(ragged))}", path=path, line=line)


_ROWS = 1000  # rows that show what is in a column


def read_columns(
    path: Path, usual: str, options: TableOptions, *, roles: Sequence[str] = EDGE_ROLES,
    progress: Progress | None = None, ours: bool = False,
) -> tuple[pa.Table, Origin, str]:  # fmt: skip
    """Return the columns of a file by role, its origin, and its decimal point.

    Weights are numbers, times are numbers or dates, all others are strings. Rows with an empty cell are refused or left
    out; in a file of `ours`, spaces alone are a name. `usual` is the usual character between columns.
    """
    header, decimal, thousands, encoding = options.header, options.decimal, options.thousands, options.encoding
    given: Mapping[str, object] = options.columns
    dialect = sniff(path, options, roles, usual)
    head = list(islice(records(path, dialect), 1 + _ROWS))
    if not head:
        raise FormatError("expected a header and rows, got an empty file", path=path)
    names = head[0][1]
    check_decoded(path, dialect, *head[0])
    if not header and not any(given.values()):
        given = dict(zip([role for role in roles if role not in TYPES], names, strict=False))
    hint = "; header=False reads the first line as an edge" if header and roles == EDGE_ROLES else ""
    if hint and usual == "\t" and len(names) == 3:
        hint += "; read with format=triples for head, relation and tail"
    sample = partial(_cells, names, [row for _, row in head[1:]])
    columns = assign_columns(names, given, sample, path=path, roles=roles, hint=hint)
    as_written = decimal == "," or thousands is not None
    try:
        table = _parse(path, dialect, names, columns, progress, as_written)
    except OtherEncoding:
        if encoding is not None or dialect.encoding != "utf-8":
            raise
        dialect = replace(dialect, encoding="cp1252")  # a late letter of another encoding
        table = _parse(path, dialect, names, columns, progress, as_written)
    origin = Origin(path, columns, partial(line_of_row, path, dialect))
    table, origin, spelling = read_cells(table, origin, options, blank="empty" if ours else "spaces")
    said = []
    if encoding is None and dialect.encoding in ENCODINGS:
        said.append(f"as {ENCODINGS[dialect.encoding]} text")
    if options.delimiter is None and dialect.delimiter != usual:
        said.append(f"with {_NAMES.get(dialect.delimiter, repr(dialect.delimiter))}s")
    if is_guess(spelling, decimal, thousands):
        said.append(f"with {spelling}")
    if said:
        note(f"{path}: read {', '.join(said)}.")
    if "weight" in columns and dialect.delimiter == ";" and (decimal, thousands, *spelling) == (None, None, ".", ""):
        grouped = looks_grouped(sample(columns["weight"]))
        if grouped:
            hint = f"thousands='.' reads them as {grouped.replace('.', '')}"
            note(f"{path}: weights such as {grouped} are read with decimal points; {hint}.")
    return table, origin, spelling.point


def sniff(path: Path, options: TableOptions, roles: Sequence[str], usual: str) -> Dialect:
    """Return how a file is written, as far as the options do not say it."""
    with opened(path, max_size=options.max_size) as file:
        sample = file.read(SAMPLE)
    encoding = options.encoding or sniff_encoding(sample)
    dialect = Dialect(options.delimiter or usual, encoding, options.header, options.max_size)
    if options.delimiter is not None:
        return dialect

    def accept(names: Sequence[str]) -> bool:
        try:
            return bool(choose_columns(names, options.columns, roles=roles)) if options.header else len(names) > 1
        except FormatError:
            return False

    try:
        text = codecs.getincrementaldecoder(codec(dialect))(errors="replace").decode(sample)
    except UnicodeError as error:
        raise FormatError(f"expected {dialect.encoding} text, got {error}", path=path) from None
    return replace(dialect, delimiter=sniff_delimiter(text, dialect.delimiter, accept))


def _cells(names: list[str], rows: list[list[str]], column: str) -> list[str]:
    """Return the cells of a column in some rows."""
    index = names.index(column)
    return [row[index] for row in rows if len(row) > index]


def _parse(
    path: Path, dialect: Dialect, names: list[str], columns: dict[str, str], progress: Progress | None, as_written: bool
) -> pa.Table:
    """Return columns by role: weights as numbers if they can be read as such (not `as_written`), others as strings."""
    error: Exception | None = None
    shown, encoding = None if dialect.header else names, "utf8" if dialect.encoding == "utf-8" else dialect.encoding
    for weight in (pa.string(),) if as_written else (pa.float64(), pa.string()):
        kinds = {name: weight if role == "weight" else pa.string() for role, name in columns.items()}
        try:
            with opened(path, progress, max_size=dialect.max_size) as file:
                table = pyarrow.csv.read_csv(
                    file,
                    pyarrow.csv.ReadOptions(block_size=2**22, column_names=shown, encoding=encoding),
                    pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
                    pyarrow.csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, null_values=[""]),
                )
            return table.select(list(columns.values())).rename_columns(list(columns))
        except (pa.ArrowException, UnicodeError) as failure:
            error = failure
        if "weight" not in columns:
            break
    check_records(path, dialect)
    raise FormatError(f"expected a table, got {str(error).splitlines()[0]}", path=path) from None
