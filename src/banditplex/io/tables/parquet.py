"""Parquet: one row per edge; direction, names, node types and layer order are in the schema metadata."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from banditplex.errors import FormatError
from banditplex.io.base import Progress, too_large, unpacked_limit
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, assign_columns
from banditplex.multiplex.table import read_cells, to_table
from banditplex.schema import ANYTHING, DISTINCT_NAMES, check, check_version, parse, whole

KEY = b"banditplex"  # key in the schema metadata
VERSION = 1
PLACE = f"the metadata {KEY.decode()!r}"
NOTE = {
    "version?": int, "directed?": bool, "layers?": DISTINCT_NAMES, "types?": {"names": [str], "index": [int]},
    "nodes?": (DISTINCT_NAMES, {"first": whole(-(2**63)), "count": whole(0)}),
}  # fmt: skip


def read_columns(
    path: Path, options: TableOptions, *, roles: Sequence[str] = EDGE_ROLES, progress: Progress | None = None
) -> tuple[pa.Table, Origin, str, dict[str, Any]]:
    """Return the columns of a file by role, its origin, decimal point and note; other columns are not read."""
    with _opened(path) as file:
        sample = partial(_cells, file)
        columns = assign_columns(file.schema_arrow.names, options.columns, sample, path=path, roles=roles)
        text = (file.schema_arrow.metadata or {}).get(KEY, b"{}")
        note: dict[str, Any] = parse(text, {"*": ANYTHING}, path=path, what=PLACE)
        check_version(note.get("version", VERSION), VERSION, path=path, what="metadata")
        check(note, NOTE, path=path, what=PLACE)
        table = _read_table(file, path, list(columns.values()), options, progress)
    table = table.select(list(columns.values())).rename_columns(list(columns))
    table, origin, spelling = read_cells(table, Origin(path, columns), options)
    return table, origin, spelling.point, note


def read_whole(path: Path, options: TableOptions) -> pd.DataFrame:
    """Return all columns of a file."""
    with _opened(path) as file:
        frame: pd.DataFrame = _read_table(file, path, file.schema_arrow.names, options, None).to_pandas()
    for name in frame.select_dtypes("category"):
        frame[name] = frame[name].astype(object)
    return frame


def head_of(path: Path, count: int) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a file, and the texts in each of them in the first rows."""
    with _opened(path) as file:
        names = list(file.schema_arrow.names)
        return names, [[str(cell) for cell in _cells(file, name, count)] for name in names]


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file; its strings stay encoded, so that a long one that is repeated takes memory once."""
    try:
        schema = pq.read_schema(path, memory_map=True)
        texts = [each.name for each in schema if pa.types.is_string(each.type) or pa.types.is_large_string(each.type)]
        with pq.ParquetFile(path, memory_map=True, read_dictionary=texts) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"expected a Parquet file, got {str(error).splitlines()[0]}", path=path) from None


def _cells(file: pq.ParquetFile, column: str, count: int = 1000) -> list[object]:
    """Return the first cells of a column."""
    batch = next(file.iter_batches(batch_size=count, columns=[column]), None)
    return [] if batch is None or not batch.num_columns else batch.column(0).to_pylist()


def write(mx: Multiplex, path: Path) -> None:
    """Write one row per edge; columns of string names are dictionary-encoded."""
    table = to_table(mx)
    note = {"version": VERSION, "directed": mx.directed, "layers": list(mx.layer_names)} | _shrink(mx)
    if mx.node_types is not None:
        note["types"] = {"names": list(mx.type_names), "index": mx.type_index.tolist()}
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(note).encode()}), path)


def _read_table(
    file: pq.ParquetFile, path: Path, columns: list[str], options: TableOptions, progress: Progress | None
) -> pa.Table:
    """Return columns, if they do not take too much memory: a few bytes may stand for any number of rows."""
    size, total = path.stat().st_size, file.metadata.num_rows
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    unpacked = 8 * total * len(columns) + sum(group.total_byte_size for group in groups)
    if unpacked > unpacked_limit(size, options.max_size):
        raise too_large(path, unpacked_limit(size, options.max_size), f"; max_size={unpacked} allows it")
    parts = []
    for group in range(file.num_row_groups):
        parts.append(file.read_row_group(group, columns))
        for chunk in (chunk for column in parts[-1].columns for chunk in column.chunks):  # a file may hold any bytes
            (chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk).validate(full=True)
        if progress:
            progress(sum(map(len, parts)), total)
    return pa.concat_tables(parts).unify_dictionaries() if parts else file.read(columns)


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


def expand_nodes(nodes: Any, num_edges: int, path: Path) -> Any:
    """Return the names of nodes that a note declares as a range or a list."""
    if not isinstance(nodes, dict):
        return nodes
    first, count, most = nodes["first"], nodes["count"], most_nodes(num_edges)
    if count > most:
        hint = f"; num_nodes={count} reads it" if first == 0 else ""
        raise FormatError(f"expected at most {most} nodes in a file of {num_edges} edges, got {count}{hint}", path=path)
    if first + count > 2**63:
        raise FormatError(f"expected node names below 2**63, got {first + count - 1}", path=path)
    return first + np.arange(count)
