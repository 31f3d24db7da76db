"""Parquet: one row per edge; direction, names, node types and layer order are in the schema metadata."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, begins_with, redirect
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin, integer_names, leave_out_missing
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, Columns, assign_columns
from banditplex.multiplex.spelling import tidy_names
from banditplex.multiplex.table import from_table, to_table
from banditplex.schema import ANYTHING, DISTINCT_NAMES, check, check_version, parse, whole

KEY = b"banditplex"  # key in the schema metadata
VERSION = 1
PLACE = f"the metadata {KEY.decode()!r}"
NOTE = {
    "version?": int, "directed?": bool, "layers?": DISTINCT_NAMES, "types?": {"names": [str], "index": [int]},
    "nodes?": (DISTINCT_NAMES, {"first": whole(-(2**63)), "count": whole(0)}),
}  # fmt: skip


def read(
    path: Path,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    num_nodes: int | None = None,
    missing: str = "error",
    bipartite: bool | None = None,
    fold_case: bool = False,
    **columns: Unpack[Columns],
) -> Multiplex:
    """Read a table with one row per edge; unused columns are not read.

    Parameters
    ----------
    path
        The file.
    progress
        Called with (edges done, edges in total).
    directed
        Whether edges are directed. None: as the file says, or undirected. With True, the edges of a file that is marked
        undirected are stored in both directions.
    num_nodes
        The nodes are 0 to num_nodes-1.
    missing
        "error" refuses empty cells. "drop" leaves out rows without a node or layer; an edge without a weight has
        weight 1, and one without a time the earliest time.
    bipartite
        Whether source and destination are two kinds of nodes, each with ids of its own. None: they are not, but a
        warning says if it looks so.
    fold_case
        Whether names that differ only by case or spaces are the same; the most frequent spelling is kept.
    columns
        See `banditplex.multiplex.roles.Columns`.
    """
    table, origin, note = read_columns(path, columns, missing=missing, progress=progress)
    nodes = _expand(note.get("nodes"), len(table), path) if num_nodes is None else np.arange(num_nodes)
    for roles in (PAIR_ROLES, ("layer",)):
        table = table if note else tidy_names(table, roles, path)[0]  # our own names are what they are
        table = integer_names(table, roles, origin)
    says = note.get("directed", directed)
    mx = from_table(
        Multiplex, table, origin, nodes=nodes, layers=note.get("layers"), directed=says, bipartite=bipartite,
        fold_case=fold_case,
    )  # fmt: skip
    if "types" in note and num_nodes is None:
        names = note["types"]["names"]
        check(note["types"]["index"], [whole(0, len(names) - 1)], path=path, what=f"types.index in {PLACE}")
        mx = mx.with_node_types([names[place] for place in note["types"]["index"]])
    return redirect(mx, directed)


def read_columns(
    path: Path,
    given: Mapping[str, object],
    *,
    roles: Sequence[str] = EDGE_ROLES,
    missing: str = "error",
    progress: Progress | None = None,
) -> tuple[pa.Table, Origin, dict[str, Any]]:
    """Return the columns of a file by role, its origin, and the note in its metadata."""
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            sample = partial(_cells, file)
            columns = assign_columns(file.schema_arrow.names, given, sample, path=path, roles=roles)
            note = _read_note(file.schema_arrow.metadata or {}, path)
            table = _read_table(file, list(columns.values()), progress)
            _check_strings(table)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"expected a Parquet file, got {str(error).splitlines()[0]}", path=path) from None
    table = table.select(list(columns.values())).rename_columns(list(columns))
    return *leave_out_missing(table, Origin(path, columns), missing), note


def _cells(file: pq.ParquetFile, column: str) -> list[object]:
    """Return the first cells of a column."""
    batch = next(file.iter_batches(batch_size=1000, columns=[column]), None)
    return [] if batch is None or not batch.num_columns else batch.column(0).to_pylist()


def write(mx: Multiplex, path: Path) -> None:
    """Write one row per edge; columns of string names are dictionary-encoded."""
    table = to_table(mx)
    note = {"version": VERSION, "directed": mx.directed, "layers": list(mx.layer_names)} | _shrink(mx)
    if mx.node_types is not None:
        note["types"] = {"names": list(mx.type_names), "index": mx.type_index.tolist()}
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(note).encode()}), path)


def _read_table(file: pq.ParquetFile, columns: list[str], progress: Progress | None) -> pa.Table:
    if progress is None:
        return file.read(columns)
    total, parts = file.metadata.num_rows, []
    for group in range(file.num_row_groups):
        parts.append(file.read_row_group(group, columns))
        progress(sum(map(len, parts)), total)
    return pa.concat_tables(parts) if parts else file.read(columns)


def _check_strings(table: pa.Table) -> None:
    """Refuse strings that are not UTF-8: a file may hold any bytes. Of encoded columns, only the dictionary is read."""
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        (chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk).validate(full=True)


def _read_note(metadata: dict[bytes, bytes], path: Path) -> dict[str, Any]:
    note: dict[str, Any] = parse(metadata.get(KEY, b"{}"), {"*": ANYTHING}, path=path, what=PLACE)
    check_version(note.get("version", VERSION), VERSION, path=path, what="metadata")
    check(note, NOTE, path=path, what=PLACE)
    return note


def _shrink(mx: Multiplex) -> dict[str, Any]:
    """Return the node names for the note: nothing if the edges imply them, a range, or a list."""
    names = mx.node_names
    linked = np.zeros(mx.num_nodes, np.bool_)
    linked[mx.edge_index.ravel()] = True
    if linked.all() and (names[1:] > names[:-1]).all():
        return {}
    if names.dtype != object and (np.diff(names) == 1).all() and len(names) <= most_nodes(mx.num_edges):
        return {"nodes": {"first": int(names[0]), "count": len(names)}}
    return {"nodes": names.tolist()}


def most_nodes(num_edges: int) -> int:
    """Return how many nodes a file of so many edges may declare as a range: a few bytes could ask for any number."""
    return max(1 << 20, 16 * num_edges)


def _expand(nodes: Any, num_edges: int, path: Path) -> Any:
    if not isinstance(nodes, dict):
        return nodes
    first, count, most = nodes["first"], nodes["count"], most_nodes(num_edges)
    if count > most:
        hint = f"; num_nodes={count} reads it" if first == 0 else ""
        raise FormatError(f"expected at most {most} nodes in a file of {num_edges} edges, got {count}{hint}", path=path)
    if first + count > 2**63:
        raise FormatError(f"expected node names below 2**63, got {first + count - 1}", path=path)
    return first + np.arange(count)


FORMAT = Format(
    name="parquet",
    description="a table: source, target, layer[, weight][, time]",
    suffixes=(".parquet", ".pq"),
    read=read,
    write=write,
    holds=frozenset({"weight", "time", "types"}),
    matches=partial(begins_with, pattern=rb"\APAR1"),
)
