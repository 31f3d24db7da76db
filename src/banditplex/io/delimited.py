"""CSV and TSV: a header and one row per edge; a side note stores the rest."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, read_side_note, side_note, write_side_note
from banditplex.io.table import EDGE_ROLES, Columns, Origin, choose_columns, from_table, to_table
from banditplex.io.text import is_number, open_binary, show
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import as_names

Records = Callable[[], Iterator[tuple[int, list[str]]]]


def read(
    path: Path,
    delimiter: str,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    header: bool = True,
    num_nodes: int | None = None,
    **columns: Unpack[Columns],
) -> Multiplex:
    """Read a table with one row per edge.

    Names are integers if all of them are plain integers ("7", not "007"), otherwise strings. Times are numbers or
    dates; dates become nanoseconds since 1970.

    Parameters
    ----------
    path, delimiter
        The file, compressed if its name ends in `.gz`, and the character between columns.
    progress
        Called with (bytes done, bytes in total).
    directed
        Whether edges are directed. None: as the side note says, or undirected.
    header
        Whether the first row has the column names. If not, the columns are named "1", "2", ... By default these are
        source, destination, layer, weight and time, as far as there are columns.
    num_nodes
        The nodes are 0 to num_nodes-1.
    columns
        See `banditplex.io.table.Columns`.
    """
    table, origin = read_columns(path, delimiter, columns, header=header, progress=progress)
    note = read_side_note(path)
    nodes, layers = note.get("nodes") if num_nodes is None else np.arange(num_nodes), note.get("layers")
    table = _with_integers(table, ["source", "destination"], nodes)
    table = _with_integers(table, ["layer"], layers) if "layer" in table.column_names else table
    table = _with_times(table, origin) if "time" in table.column_names else table
    directed = bool(note.get("directed")) if directed is None else directed
    return from_table(table, origin, nodes=nodes, layers=layers, directed=directed)


def write(mx: Multiplex, path: Path, delimiter: str) -> None:
    """Write one row per edge; names are quoted if some name needs it."""
    names = [str(name) for name in (*mx.layer_names, *mx.node_names.tolist())]
    if "" in names:
        raise InputError("Expected non-empty names, got ''.")
    quotes = any(not {delimiter, '"', "\n", "\r"}.isdisjoint(name) for name in names)
    table = to_table(mx)
    kinds = [column.type.value_type if pa.types.is_dictionary(column.type) else column.type for column in table]
    table = table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))
    with gzip.open(path, "wb", compresslevel=6) if path.suffix == ".gz" else path.open("wb") as file:
        file.write((delimiter.join(table.column_names) + "\n").encode())
        quoting = {"quoting_style": "needed" if quotes else "none"}
        pyarrow.csv.write_csv(
            table, file, pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, **quoting)
        )
    write_side_note(path, side_note(mx))


def _matches(path: Path, delimiter: str) -> bool:
    if not path.is_file():
        return False
    try:
        names = next(_records(path, delimiter, True), (1, []))[1]
        return bool(choose_columns(names, {}, path))
    except (FormatError, csv.Error):
        return False


# The fast parser


def read_columns(
    path: Path,
    delimiter: str,
    given: Mapping[str, object],
    *,
    roles: Sequence[str] = EDGE_ROLES,
    header: bool = True,
    progress: Progress | None = None,
) -> tuple[pa.Table, Origin]:
    """Return the columns of a file by role, weights as numbers and all others as strings, and its origin."""
    records = partial(_records, path, delimiter, header)
    names = next(records(), (1, []))[1]
    if not names:
        raise FormatError("expected a header and rows, got an empty file", path=path)
    if not header and not any(given.values()):
        given = dict(zip(roles, names, strict=False))
    hint = "; header=False reads the first line as an edge" if header and roles == EDGE_ROLES else ""
    columns = choose_columns(names, given, path, roles=roles, hint=hint)
    origin = Origin(path, columns, partial(_line_of_row, records))
    kinds = {name: pa.float64() if role == "weight" else pa.string() for role, name in columns.items()}
    try:
        raw = open_binary(path, progress)
        with pa.CompressedInputStream(pa.PythonFile(raw), "gzip") if path.suffix == ".gz" else raw as file:
            table = pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(block_size=2**22, column_names=None if header else names),
                pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, null_values=[]),
            )
    except (pa.ArrowInvalid, OSError, EOFError, zlib.error) as error:
        _check_records(path, records, columns)
        raise FormatError(f"expected a table, got {str(error).splitlines()[0]}", path=path) from None
    table = table.select(list(columns.values())).rename_columns(list(columns))
    for role in table.column_names:
        row = pc.index(table[role], "").as_py() if role in ("source", "destination", "layer") else -1
        if row >= 0:
            raise origin.error(f"expected a name as {role}, got an empty cell", row)
    return table, origin


def _with_integers(table: pa.Table, roles: list[str], declared: Any) -> pa.Table:
    """Turn string columns into integers if every token is a plain integer and no declared name is a string."""
    if declared is not None and as_names(declared, "declared").dtype == object:
        return table
    try:
        columns = {role: table[role].cast(pa.int64()) for role in roles}
    except pa.ArrowInvalid:
        return table
    if any(not column.cast(pa.string()).equals(table[role]) for role, column in columns.items()):
        return table
    for role, column in columns.items():
        table = table.set_column(table.column_names.index(role), role, column)
    return table


def _with_times(table: pa.Table, origin: Origin) -> pa.Table:
    """Turn the time column from strings into integers, floats or dates."""
    for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        try:
            return table.set_column(table.column_names.index("time"), "time", table["time"].cast(kind))
        except pa.ArrowInvalid:
            continue
    tokens = table["time"].to_pylist()
    expected = _is_time if _is_time(tokens[0]) else _is_number
    row = next((row for row, token in enumerate(tokens) if not expected(token)), 0)
    raise origin.error(f"expected a number or a date as time, got {tokens[row]!r}", row)


def _is_number(token: str) -> bool:
    return is_number(token.encode(), float)


def _is_time(token: str) -> bool:
    try:
        datetime.fromisoformat(token)
    except ValueError:
        return False
    return True


# The slow parser, which knows line numbers


def _records(path: Path, delimiter: str, header: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and fields of each row; the column names come first."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        rows = csv.reader(_decoded_lines(path, file), delimiter=delimiter)
        begin = 1
        for row in rows:
            if row and not header:
                yield begin, [str(column) for column in range(1, len(row) + 1)]
                header = True
            if row:
                yield begin, row
            begin = rows.line_num + 1


def _decoded_lines(path: Path, file: Iterable[bytes]) -> Iterator[str]:
    try:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise FormatError(f"expected UTF-8 text, got {show(line.strip())}", path=path, line=number) from None
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(f"expected a complete gzip file, got {error}", path=path) from None


def _line_of_row(records: Records, row: int) -> int:
    return next(line for index, (line, _) in enumerate(records(), -1) if index == row)


def _check_records(path: Path, records: Records, columns: dict[str, str]) -> None:
    """Raise an error for the first row with a wrong number of columns or a bad weight."""
    rows = records()
    names = next(rows)[1]
    for line, row in rows:
        if len(row) != len(names):
            raise FormatError(
                f"expected {len(names)} columns ({', '.join(names)}), got {len(row)}", path=path, line=line
            )
        if "weight" in columns:
            token = row[names.index(columns["weight"])]
            if not _is_number(token):
                raise FormatError(f"expected a number as {columns['weight']}, got {token!r}", path=path, line=line)


def _format(name: str, delimiter: str, description: str) -> Format:
    return Format(
        name=name,
        description=description,
        suffixes=(f".{name}", f".{name}.gz"),
        read=partial(read, delimiter=delimiter),
        write=partial(write, delimiter=delimiter),
        holds=frozenset({"weight", "time"}),
        matches=partial(_matches, delimiter=delimiter),
    )


CSV = _format("csv", ",", "a table: source,target,layer[,weight][,time]")
TSV = _format("tsv", "\t", "the same with tabs between the columns")
