"""Parse tables of text with one row per edge: how they are written, which columns they have, numbers and dates."""

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Progress
from banditplex.io.limits import check_max_size
from banditplex.io.records import OtherEncoding, check_decoded, check_records, codec, line_of_row, opened, records
from banditplex.io.sniff import ENCODINGS, SAMPLE, Dialect, delimiter_name, sniff_delimiter, sniff_encoding
from banditplex.io.text import is_number
from banditplex.multiplex.cells import NOT_AVAILABLE, Origin, in_all, leave_out_missing
from banditplex.multiplex.roles import EDGE_ROLES, assign_columns, choose_columns
from banditplex.multiplex.table import TYPES
from banditplex.terminal import warn

MISSING_HINT = "; missing='drop' leaves rows with an empty cell out"
_ROWS = 1000  # rows that show what is in a column


def read_columns(
    path: Path,
    usual: str,
    given: Mapping[str, object],
    *,
    roles: Sequence[str] = EDGE_ROLES,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str = "error",
    max_size: int | None = None,
    progress: Progress | None = None,
) -> tuple[pa.Table, Origin, str]:
    """Return the columns of a file by role, its origin, and its decimal point.

    Weights are numbers, all others are strings. Rows with an empty cell are refused or left out (`missing`).
    """
    _check_options(delimiter, decimal, encoding)
    check_max_size(max_size)
    dialect = Dialect(delimiter or usual, encoding or "utf-8", max_size)
    dialect = sniff(path, given, roles, dialect, header=header, fixed=(delimiter is not None, encoding is not None))
    head = list(islice(records(path, dialect, header), 1 + _ROWS))
    if not head:
        raise FormatError("expected a header and rows, got an empty file", path=path)
    names = head[0][1]
    with _in_one_encoding():
        check_decoded(path, dialect, *head[0])
    if not header and not any(given.values()):
        given = dict(zip([role for role in roles if role not in TYPES], names, strict=False))
    hint = "; header=False reads the first line as an edge" if header and roles == EDGE_ROLES else ""
    sample = partial(_cells, names, [row for _, row in head[1:]])
    columns = assign_columns(names, given, sample, path=path, roles=roles, hint=hint)
    try:
        table = _parse(path, dialect, names, columns, header, progress)
    except OtherEncoding as error:
        if encoding is not None or dialect.encoding != "utf-8":
            raise error.shown from None
        dialect = replace(dialect, encoding="cp1252")  # a late letter of another encoding
        with _in_one_encoding():
            table = _parse(path, dialect, names, columns, header, progress)
    origin = Origin(path, columns, partial(line_of_row, partial(records, path, dialect, header)))
    table, origin = leave_out_missing(table, origin, missing, blank=True)
    table, point = _with_weights(table, origin, decimal)
    said = []
    if encoding is None and dialect.encoding in ENCODINGS:
        said.append(f"as {ENCODINGS[dialect.encoding]} text")
    if delimiter is None and dialect.delimiter != usual:
        said.append(f"with {delimiter_name(dialect.delimiter)}s")
    if decimal is None and point == ",":
        said.append("with decimal commas")
    if said:
        warn(f"{path}: read {', '.join(said)}.")
    return table, origin, point


@contextmanager
def _in_one_encoding() -> Iterator[None]:
    """Show the user an error about the encoding: there is no other to try."""
    try:
        yield
    except OtherEncoding as error:
        raise error.shown from None


def _check_options(delimiter: str | None, decimal: str | None, encoding: str | None) -> None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise InputError(f"Expected one character as delimiter, got {delimiter!r}.")
    if decimal not in (None, ".", ","):
        raise InputError(f"Expected decimal to be '.' or ',', got {decimal!r}.")
    try:
        codecs.lookup(encoding or "utf-8")
        "".encode(encoding or "utf-8")
    except LookupError:
        raise InputError(f"Expected encoding to be one that Python knows, such as utf-8, got {encoding!r}.") from None


def sniff(
    path: Path,
    given: Mapping[str, object],
    roles: Sequence[str],
    dialect: Dialect,
    *,
    header: bool,
    fixed: tuple[bool, bool] = (True, False),
) -> Dialect:
    """Return how a file is written, as far as delimiter and encoding are not fixed."""
    with opened(path, max_size=dialect.max_size) as file:
        sample = file.read(SAMPLE)
    if not fixed[1]:
        dialect = replace(dialect, encoding=sniff_encoding(sample))
    if fixed[0]:
        return dialect

    def accept(names: Sequence[str]) -> bool:
        try:
            return bool(choose_columns(names, given, roles=roles)) if header else len(names) > 1
        except FormatError:
            return False

    text = codecs.getincrementaldecoder(codec(dialect))(errors="replace").decode(sample)
    return replace(dialect, delimiter=sniff_delimiter(text, dialect.delimiter, accept))


def _cells(names: list[str], rows: list[list[str]], column: str) -> list[str]:
    """Return the cells of a column in some rows."""
    index = names.index(column)
    return [row[index] for row in rows if len(row) > index]


def _parse(
    path: Path, dialect: Dialect, names: list[str], columns: dict[str, str], header: bool, progress: Progress | None
) -> pa.Table:
    """Return columns by role: weights as numbers if they can be read as such, all others as strings."""
    error: Exception | None = None
    for weight in (pa.float64(), pa.string()):
        kinds = {name: weight if role == "weight" else pa.string() for role, name in columns.items()}
        try:
            with opened(path, progress, max_size=dialect.max_size) as file:
                table = pyarrow.csv.read_csv(
                    file,
                    pyarrow.csv.ReadOptions(
                        block_size=2**22, column_names=None if header else names, encoding=_arrow_codec(dialect)
                    ),
                    pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
                    pyarrow.csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, null_values=[""]),
                )
            return table.select(list(columns.values())).rename_columns(list(columns))
        except (pa.ArrowException, UnicodeError) as failure:
            error = failure
        if "weight" not in columns:
            break
    check_records(path, dialect, partial(records, path, dialect, header))
    raise FormatError(f"expected a table, got {str(error).splitlines()[0]}", path=path) from None


def _arrow_codec(dialect: Dialect) -> str:
    return "utf8" if dialect.encoding == "utf-8" else dialect.encoding


# Numbers and dates


def _with_weights(table: pa.Table, origin: Origin, decimal: str | None) -> tuple[pa.Table, str]:
    """Turn weights into numbers, and return the decimal point."""
    if "weight" not in table.column_names or not pa.types.is_string(table["weight"].type):
        return table, decimal or "."
    tokens = pc.utf8_trim_whitespace(table["weight"])
    for point in (decimal,) if decimal else (".", ","):
        try:
            weight = _plain(tokens, point).cast(pa.float64())
        except pa.ArrowInvalid:
            continue
        return table.set_column(table.column_names.index("weight"), "weight", weight), point
    point = decimal or "."
    raise _refusal(tokens, partial(_is_number, point=point), "a number", "weight", origin, MISSING_HINT)


def _plain(tokens: pa.ChunkedArray, point: str) -> pa.ChunkedArray:
    """Return numbers with a decimal point; with decimal commas, a point makes no number."""
    if point == ".":
        return tokens
    return pc.replace_substring(pc.replace_substring(tokens, ".", "?"), ",", ".")


def with_times(table: pa.Table, origin: Origin, point: str) -> pa.Table:
    """Turn the time column from strings into integers, floats or dates."""
    tokens = table["time"]
    for column in (tokens, _plain(tokens, point)) if point == "," else (tokens,):
        for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            try:
                return table.set_column(table.column_names.index("time"), "time", column.cast(kind))
            except pa.ArrowInvalid:
                continue
    expected = _is_time if _is_time(tokens[0].as_py()) else partial(_is_number, point=point)
    raise _refusal(
        tokens, expected, "a number or a date such as 2024-05-01", "time", origin, "; time='' ignores the column"
    )


def _refusal(
    tokens: pa.ChunkedArray, good: Callable[[str], bool], expected: str, role: str, origin: Origin, hint: str
) -> FormatError:
    """Return an error about the first cell that is not what it should be, and how many there are."""
    bad = [row for row, token in enumerate(tokens.to_pylist()) if not good(token)] or [0]
    got = tokens[bad[0]].as_py()
    more = in_all(len(bad)) + hint * (len(bad) > 1 or got in NOT_AVAILABLE)
    return origin.error(f"expected {expected} as {origin.show(role)}, got {got!r}{more}", bad[0])


def _is_number(token: str, point: str = ".") -> bool:
    return is_number((token if point == "." else token.replace(".", "?").replace(",", ".")).encode(), float)


def _is_time(token: str) -> bool:
    try:
        datetime.fromisoformat(token)
    except ValueError:
        return False
    return True
