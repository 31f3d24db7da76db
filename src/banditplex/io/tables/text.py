"""Parse tables of text with one row per edge: how they are written, which columns they have, numbers and dates."""

import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from banditplex.errors import FormatError
from banditplex.io.base import Progress
from banditplex.io.tables.records import (
    OtherEncoding,
    check_decoded,
    check_records,
    codec,
    line_of_row,
    opened,
    records,
)
from banditplex.io.tables.sniff import ENCODINGS, SAMPLE, Dialect, delimiter_name, sniff_delimiter, sniff_encoding
from banditplex.multiplex.cells import Origin, leave_out_missing
from banditplex.multiplex.dates import with_times
from banditplex.multiplex.notes import note
from banditplex.multiplex.numbers import is_guess, looks_grouped, with_weights
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, assign_columns, choose_columns
from banditplex.multiplex.table import TYPES

_ROWS = 1000  # rows that show what is in a column


def read_columns(
    path: Path,
    usual: str,
    options: TableOptions,
    *,
    roles: Sequence[str] = EDGE_ROLES,
    progress: Progress | None = None,
    ours: bool = False,
) -> tuple[pa.Table, Origin, str]:
    """Return the columns of a file by role, its origin, and its decimal point.

    Weights are numbers, times are numbers or dates, all others are strings. Rows with an empty cell are refused or left
    out; in a file of `ours`, spaces alone are a name. `usual` is the usual character between columns.
    """
    header, decimal, thousands, encoding = options.header, options.decimal, options.thousands, options.encoding
    given: Mapping[str, object] = options.columns
    dialect = sniff(path, options, roles, usual)
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
    as_written = decimal == "," or thousands is not None
    try:
        table = _parse(path, dialect, names, columns, header, progress, as_written=as_written)
    except OtherEncoding as error:
        if encoding is not None or dialect.encoding != "utf-8":
            raise error.shown from None
        dialect = replace(dialect, encoding="cp1252")  # a late letter of another encoding
        with _in_one_encoding():
            table = _parse(path, dialect, names, columns, header, progress, as_written=as_written)
    origin = Origin(path, columns, partial(line_of_row, partial(records, path, dialect, header)))
    table, origin = leave_out_missing(table, origin, options.missing, blank="empty" if ours else "spaces")
    table, spelling = with_weights(table, origin, decimal, thousands)
    table = with_times(table, origin, spelling.point, options.date_format)
    said = []
    if encoding is None and dialect.encoding in ENCODINGS:
        said.append(f"as {ENCODINGS[dialect.encoding]} text")
    if options.delimiter is None and dialect.delimiter != usual:
        said.append(f"with {delimiter_name(dialect.delimiter)}s")
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


@contextmanager
def _in_one_encoding() -> Iterator[None]:
    """Show the user an error about the encoding: there is no other to try."""
    try:
        yield
    except OtherEncoding as error:
        raise error.shown from None


def sniff(path: Path, options: TableOptions, roles: Sequence[str], usual: str) -> Dialect:
    """Return how a file is written, as far as the options do not say it."""
    with opened(path, max_size=options.max_size) as file:
        sample = file.read(SAMPLE)
    dialect = Dialect(options.delimiter or usual, options.encoding or sniff_encoding(sample), options.max_size)
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
    path: Path,
    dialect: Dialect,
    names: list[str],
    columns: dict[str, str],
    header: bool,
    progress: Progress | None,
    *,
    as_written: bool,
) -> pa.Table:
    """Return columns by role: weights as numbers if they can be read as such (not `as_written`), others as strings."""
    error: Exception | None = None
    for weight in (pa.string(),) if as_written else (pa.float64(), pa.string()):
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
