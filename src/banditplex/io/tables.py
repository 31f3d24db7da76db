"""Several tables with a header, in a folder or as a list of files; each is a layer, or has a column of layers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from banditplex.errors import FormatError, InputError
from banditplex.io import delimited, excel, parquet
from banditplex.io.base import Format, Progress, read_side_note
from banditplex.io.edge_tables import edge_tables, has_edges, header_of, tables_in, tell_left_out, usual_delimiter
from banditplex.io.edgelists import SUFFIXES as LISTS
from banditplex.io.sniff import Dialect
from banditplex.io.table_join import SUFFIXES, Part, join_tables
from banditplex.io.text_table import read_columns, sniff
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import integer_names, tell_odd_names
from banditplex.multiplex.dates import with_times
from banditplex.multiplex.frame import read_frame
from banditplex.multiplex.notes import Quiet, collected, show_files, tell_together
from banditplex.multiplex.numbers import with_weights
from banditplex.multiplex.roles import EDGE_ROLES, ONE_LAYER, PAIR_ROLES, Columns, with_usual
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
        are read, and a warning names other files; those that look like edges under other headers are refused.
    progress
        Called with (bytes done, bytes in total).
    directed, num_nodes, header, delimiter, decimal, thousands, date_format, encoding
        See `banditplex.io.delimited.read`.
    sheet, missing, bipartite, fold_case, max_size, columns
        See `banditplex.io.excel.read`. Columns may be tuples of names; each table has one of them, or a usual one.
    node_table
        A file of the folder that is no table of edges.
    """
    asked: dict[str, Any] = {role: name for role, name in columns.items() if name is not None}
    given = {role: with_usual(role, name) for role, name in asked.items()}
    left: list[Path] = []
    if isinstance(path, Path):
        named = str(path)
        files, left = edge_tables(path, given, header=header, apart=Path(node_table or path))
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
        _check_one_each(file, asked, given)
        with collected(silent=True) as notes[file]:
            parts.append(_read_part(file, given, text, cells, sheet, max_size))
        notes[file] = [each if isinstance(each, Quiet) else each.replace(ONE_LAYER, "") for each in notes[file]]
        if progress:
            progress(done[len(parts) - 1], done[-1])
    tell_left_out(left, parts, given, named)
    tell_together(notes)
    _check_used(asked, parts)
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


def _matches(path: Path) -> bool:
    """Return whether a folder has a table of edges with a header, or tables that cannot be lists without a header."""
    if not path.is_dir():
        return False
    files = tables_in(path)
    if any(has_edges(file, {}) for file in files):
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
        return Part(*read_columns(file, usual_delimiter(file), given, **text, **cells, max_size=max_size))
    if name.endswith(excel.FORMAT.suffixes):
        frame = excel.read_sheet(file, sheet, max_size)
        rows = frame.index.to_numpy() + 2
        return Part(*read_frame(frame, given, path=file, line_of=lambda row: int(rows[row]), **cells))
    if name.endswith(parquet.FORMAT.suffixes):
        table, origin, _ = parquet.read_columns(file, given, missing=cells["missing"])
        table, spelling = with_weights(table, origin, cells["decimal"], cells["thousands"])
        return Part(with_times(table, origin, spelling.point, cells["date_format"]), origin)
    raise InputError(f"{file}: expected one of several files to end in {', '.join(SUFFIXES)}, got {file.name!r}.")


def _check_one_each(file: Path, asked: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse a table with several columns that are given for one role."""
    for role, names in asked.items():
        if isinstance(names, tuple):
            there = {column.casefold() for column in header_of(file, given)}
            found = [name for name in names if name.casefold() in there]
            if len(found) > 1:
                raise FormatError(f"expected one column as {role}, got {' and '.join(map(repr, found))}", path=file)


def _check_used(columns: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """Refuse a column that no table has."""
    for role, names in columns.items():
        used = {str(part.origin.columns.get(role, "")).casefold() for part in parts}
        for name in names if isinstance(names, tuple) else (names,):
            if name and name.casefold() not in used:
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
