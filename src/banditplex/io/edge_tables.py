"""Which files of a folder are tables of edges, by the names of their columns; the first rows tell others from them."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from banditplex.errors import FormatError, InputError
from banditplex.io import delimited, excel, parquet
from banditplex.io.edgelists import natural
from banditplex.io.node_table import ROLES as NODE_ROLES
from banditplex.io.records import records
from banditplex.io.sniff import Dialect
from banditplex.io.table_join import SUFFIXES, Part
from banditplex.io.text_table import sniff
from banditplex.multiplex.notes import collected, note, show_files
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, choose_columns


def tables_in(folder: Path) -> list[Path]:
    """Return the tables in a folder, in natural order."""
    found = [each for each in folder.iterdir() if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    return sorted((each for each in found if not each.name.startswith(".")), key=lambda each: natural(each.name))


def edge_tables(folder: Path, given: Mapping[str, Any], *, header: bool, apart: Path) -> tuple[list[Path], list[Path]]:
    """Return the tables of edges in a folder, and what is left out, without the one kept `apart`."""
    files = [file for file in tables_in(folder) if file.resolve() != apart.resolve()] if folder.is_dir() else []
    if not files:
        raise FormatError(f"expected a folder with files that end in {', '.join(SUFFIXES)}, got none", path=folder)
    chosen = [file for file in files if not header or has_edges(file, given)]
    chosen = [file for file in chosen if not file.stem.endswith("_negatives")]  # pairs without an edge
    if not chosen:
        choose_columns(header_of(files[0], given), given, path=files[0])  # says what is missing
        raise FormatError("expected a table of edges, got only negatives", path=folder)
    left = sorted(each for each in folder.iterdir() if each not in chosen and not each.name.startswith("."))
    left = [each for each in left if not each.name.endswith(".meta.json") and each.resolve() != apart.resolve()]
    return chosen, left


def tell_left_out(left: Sequence[Path], parts: Sequence[Part], given: Mapping[str, Any], folder: str) -> None:
    """Say which files of a folder are not read; refuse a table that looks like one of edges, but for its header.

    Such a table has two columns of nodes, or one in which nodes repeat; in a table of nodes, each has one row.
    """
    files = [each for each in left if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    nodes: set[str] = set()
    for column in [part.table[role] for part in parts if files for role in PAIR_ROLES]:
        nodes.update(_plain(str(name)) for name in pc.unique(column.combine_chunks()).to_pylist())
    for file in files:
        try:
            names, columns = _head(file, given)
        except InputError:  # no table at all
            continue
        columns = [[_plain(cell) for cell in column if cell.strip()] for column in columns]
        if any(_is_key(name, column) for name, column in zip(names, columns, strict=True)):
            continue
        known = [column for column in columns if 2 * len(nodes.intersection(column)) > len(set(column))]
        if len(known) > 1 or any(len(set(column)) < len(column) for column in known):
            hint = "; if it is a table of nodes, say node_table=FILE"
            choose_columns(names, given, path=file, hint=hint)  # which refuses it
    if left:
        listed = show_files([f"{each.name} ({_shown(each, given)})" if each in files else each.name for each in left])
        hint = "; source=NAME and destination=NAME name columns; node_table=FILE is for a table of nodes" * bool(files)
        note(f"{folder}: not read, as they are no tables of edges: {listed}{hint}.")


def _plain(name: str) -> str:
    return name.strip().removesuffix(".0")


def _is_key(name: str, column: Sequence[str]) -> bool:
    """Return whether a column has the ids of a table of nodes."""
    return name.strip().casefold() in NODE_ROLES["id"] and len(set(column)) == len(column)


def _shown(file: Path, given: Mapping[str, Any]) -> str:
    """Return the columns of a table for a message."""
    try:
        names = header_of(file, given)
    except InputError:
        return "no table"
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5)


def header_of(file: Path, given: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of a table."""
    return _head(file, given, 1)[0]


def _head(file: Path, given: Mapping[str, Any], count: int = 1000) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a table, and the texts in each of them in the first rows."""
    name = file.name.lower()
    if name.endswith(parquet.FORMAT.suffixes):
        try:
            with pq.ParquetFile(file) as opened:
                batch = next(opened.iter_batches(count), opened.schema_arrow.empty_table())
        except pa.ArrowException as error:
            raise FormatError(f"expected a Parquet file, got {str(error).splitlines()[0]}", path=file) from None
        return list(batch.schema.names), [[str(cell) for cell in column.to_pylist()] for column in batch.columns]
    if name.endswith(excel.FORMAT.suffixes):
        with collected(silent=True):
            frame = excel.read_sheet(file, rows=count)
        return [str(column) for column in frame], [frame[column].dropna().map(str).tolist() for column in frame]
    dialect = sniff(file, given, EDGE_ROLES, Dialect(usual_delimiter(file)), header=True, fixed=(False, False))
    (_, names), *rows = list(islice(records(file, dialect, True), count + 1)) or [(1, [])]
    return names, [[row[i] for _, row in rows if len(row) > i] for i in range(len(names))]


def has_edges(file: Path, given: Mapping[str, Any]) -> bool:
    """Return whether a table has columns of source and destination, and is none that `predict` writes."""
    try:
        names = header_of(file, given)
        return bool(choose_columns(names, given)) and not {"probability", "score"} <= set(names)  # what predict writes
    except InputError:
        return False


def usual_delimiter(file: Path) -> str:
    """Return what the name of a file says about the character between its columns."""
    return "\t" if file.name.lower().endswith(delimited.TSV.suffixes) else ","
