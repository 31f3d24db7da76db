"""Several tables with a header, in a folder or as a list of files; each is a layer, or has a column of layers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from banditplex.errors import FormatError, InputError
from banditplex.io import delimited, excel, parquet
from banditplex.io.base import Format, Progress, read_side_note
from banditplex.io.edgelists import SUFFIXES as LISTS
from banditplex.io.edgelists import natural
from banditplex.io.records import records
from banditplex.io.sniff import Dialect
from banditplex.io.table_join import SUFFIXES, Part, join_tables
from banditplex.io.text_table import read_columns, sniff
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import integer_names, tell_odd_names
from banditplex.multiplex.dates import with_times
from banditplex.multiplex.frame import read_frame
from banditplex.multiplex.notes import collected, note, show_files, tell_together
from banditplex.multiplex.numbers import with_weights
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, ROLES, Columns, choose_columns
from banditplex.multiplex.table import direction, from_table


def read(
    path: Path | Sequence[Path],
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    num_nodes: int | None = None,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    missing: str = "error",
    bipartite: bool | None = None,
    fold_case: bool = False,
    max_size: int | None = None,
    node_table: str | Path | None = None,
    **columns: Unpack[Columns],
) -> Multiplex:
    """Read several tables, each with one row per edge, as one multiplex.

    A table without a column of layers is one layer, named after its file. A column that is given need not be in every
    table: in others, columns with usual names are used. The edges of a table without weights have weight 1. All other
    options are those of a single table; each applies to the tables that have a use for it.

    Parameters
    ----------
    path
        A folder, or CSV, TSV, Excel or Parquet files. Of a folder, the tables with columns of source and destination
        are read, and a warning names other files.
    progress
        Called with (bytes done, bytes in total).
    directed, num_nodes, header, delimiter, decimal, thousands, date_format, encoding
        See `banditplex.io.delimited.read`.
    sheet, missing, bipartite, fold_case, max_size, columns
        See `banditplex.io.excel.read`.
    node_table
        A file of the folder that is no table of edges.
    """
    given: dict[str, Any] = {
        role: (name, *_usual(role)) if name else name for role, name in columns.items() if name is not None
    }
    if isinstance(path, Path):
        named, files = str(path), _edge_tables(path, given, header=header, apart=Path(node_table or path))
    else:
        named, files = show_files([str(file) for file in path]), list(path)
    places = [file.resolve() for file in files]
    twice = next((file for file, place in zip(files, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise InputError(f"Expected different files, got {twice} more than once.")
    text = {"header": header, "delimiter": delimiter, "encoding": encoding}
    cells = {"decimal": decimal, "thousands": thousands, "date_format": date_format, "missing": missing}
    done = np.cumsum([file.stat().st_size for file in files]).tolist()
    parts: list[Part] = []
    notes: dict[object, list[str]] = {}
    for file in files:
        with collected(silent=True) as notes[file]:
            parts.append(_read_part(file, given, text, cells, sheet, max_size))
        if progress:
            progress(done[len(parts) - 1], done[-1])
    tell_together(notes)
    _check_used(columns, parts)
    if directed is None:
        directed = _common_direction(parts)
    table, layers, origin = join_tables(parts, named, typed=bool(bipartite))
    points = {part.point for part in parts}
    for roles in (PAIR_ROLES,) if layers else (PAIR_ROLES, ("layer",)):
        table = integer_names(table, roles, origin, text=True, decimal="," if points == {","} else ".")
    mx = from_table(
        Multiplex, table, origin, nodes=None if num_nodes is None else np.arange(num_nodes), layers=layers,
        directed=directed, bipartite=bipartite, fold_case=fold_case,
    )  # fmt: skip
    if num_nodes is None:
        tell_odd_names(mx.node_names, named)
    return mx


def _usual(role: str) -> tuple[str, ...]:
    return ROLES[role][:1] if role == "layer" else ROLES[role]


# Which files of a folder are tables of edges


def tables_in(folder: Path) -> list[Path]:
    """Return the tables in a folder, in natural order."""
    found = [each for each in folder.iterdir() if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    return sorted((each for each in found if not each.name.startswith(".")), key=lambda each: natural(each.name))


def _edge_tables(folder: Path, given: Mapping[str, Any], *, header: bool, apart: Path) -> list[Path]:
    """Return the tables of edges in a folder, and say which files are left out, except for the one kept `apart`."""
    files = [file for file in tables_in(folder) if file.resolve() != apart.resolve()] if folder.is_dir() else []
    if not files:
        raise FormatError(f"expected a folder with files that end in {', '.join(SUFFIXES)}, got none", path=folder)
    chosen = [file for file in files if not header or _has_edges(file, given)]
    chosen = [file for file in chosen if not file.stem.endswith("_negatives")]  # pairs without an edge
    if not chosen:
        choose_columns(_header(files[0], given), given, path=files[0])  # says what is missing
        raise FormatError("expected a table of edges, got only negatives", path=folder)
    left = sorted(each for each in folder.iterdir() if each not in chosen and not each.name.startswith("."))
    left = [each for each in left if not each.name.endswith(".meta.json") and each.resolve() != apart.resolve()]
    if left:
        listed = show_files([f"{each.name} ({_shown(each, given)})" if each in files else each.name for each in left])
        hint = "; source=NAME and destination=NAME name columns; node_table=FILE is for a table of nodes"
        hint = hint if any(each in files for each in left) else ""
        note(f"{folder}: not read, as they are no tables of edges: {listed}{hint}.")
    return chosen


def _shown(file: Path, given: Mapping[str, Any]) -> str:
    """Return the columns of a table for a message."""
    try:
        names = _header(file, given)
    except InputError:
        return "no table"
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5)


def _header(file: Path, given: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of a table."""
    name = file.name.lower()
    if name.endswith(parquet.FORMAT.suffixes):
        try:
            return list(pq.read_schema(file).names)
        except pa.ArrowException as error:
            raise FormatError(f"expected a Parquet file, got {str(error).splitlines()[0]}", path=file) from None
    if name.endswith(excel.FORMAT.suffixes):
        with collected(silent=True):
            return [str(column) for column in excel.read_sheet(file, rows=1)]
    dialect = sniff(file, given, EDGE_ROLES, Dialect(_delimiter(file)), header=True, fixed=(False, False))
    return next(records(file, dialect, True), (1, []))[1]


def _has_edges(file: Path, given: Mapping[str, Any]) -> bool:
    try:
        names = _header(file, given)
        return bool(choose_columns(names, given)) and not {"probability", "score"} <= set(names)  # what predict writes
    except InputError:
        return False


def _delimiter(file: Path) -> str:
    return "\t" if file.name.lower().endswith(delimited.TSV.suffixes) else ","


def _matches(path: Path) -> bool:
    """Return whether a folder has a table of edges with a header, or tables that cannot be lists without a header."""
    if not path.is_dir():
        return False
    files = tables_in(path)
    if any(_has_edges(file, {}) for file in files):
        return True
    lists = [each for each in path.iterdir() if each.suffix.lower() in LISTS and each not in files]
    return bool(files) and not lists and _is_other(files[0])


def _is_other(file: Path) -> bool:
    """Return whether a table is not split at commas or spaces."""
    if not file.name.lower().endswith((*delimited.CSV.suffixes, *delimited.TSV.suffixes)):
        return True
    return sniff(file, {}, EDGE_ROLES, Dialect(","), header=True, fixed=(False, False)).delimiter in ";|"


# One table


def _read_part(
    file: Path,
    given: Mapping[str, Any],
    text: Mapping[str, Any],
    cells: Mapping[str, Any],
    sheet: str | None,
    max_size: int | None,
) -> Part:
    name = file.name.lower()
    if name.endswith((*delimited.CSV.suffixes, *delimited.TSV.suffixes)):
        return Part(*read_columns(file, _delimiter(file), given, **text, **cells, max_size=max_size))
    if name.endswith(excel.FORMAT.suffixes):
        frame = excel.read_sheet(file, sheet, max_size)
        rows = frame.index.to_numpy() + 2
        return Part(*read_frame(frame, given, path=file, line_of=lambda row: int(rows[row]), **cells))
    if name.endswith(parquet.FORMAT.suffixes):
        table, origin, _ = parquet.read_columns(file, given, missing=cells["missing"])
        table, spelling = with_weights(table, origin, cells["decimal"], cells["thousands"])
        return Part(with_times(table, origin, spelling.point, cells["date_format"]), origin)
    raise InputError(f"{file}: expected one of several files to end in {', '.join(SUFFIXES)}, got {file.name!r}.")


def _check_used(columns: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """Refuse a column that no table has."""
    for role, name in columns.items():
        if name and not any(str(part.origin.columns.get(role, "")).casefold() == name.casefold() for part in parts):
            raise InputError(f"Expected a column {name!r} as {role} in one of {len(parts)} files, got none.")


def _common_direction(parts: Sequence[Part]) -> bool | None:
    """Return the direction that tables or their side notes say; refuse different ones."""
    found = {part.path: direction(part.table, part.origin) for part in parts}
    found = {path: read_side_note(path).get("directed") if says is None else says for path, says in found.items()}
    said = {says: path for path, says in found.items() if says is not None}
    if len(said) > 1:
        hint = "directed=True or directed=False says how to read all edges"
        raise FormatError(f"expected undirected edges, as in {said[False]}, got directed ones; {hint}", path=said[True])
    return next(iter(said), None)


FORMAT = Format(
    name="tables",
    description="a folder with a table per layer (CSV, TSV, Excel, Parquet); read only",
    suffixes=(),
    read=read,
    write=None,
    holds=frozenset({"weight", "time"}),
    matches=_matches,
)
