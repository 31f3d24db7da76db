"""One way to read any table, with the same options and limits: its columns by role, all of it, or its head.

Parquet files of ours have direction, names, node types and layer order in the metadata of their schema.
"""

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from banditplex.errors import FormatError, InputError
from banditplex.io.base import FACTOR, Progress, read_side_note, too_large, unpacked_limit
from banditplex.io.tables.text import Dialect, opened, read_columns, records, sniff
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin, integer_names, tidy_names
from banditplex.multiplex.names import as_names
from banditplex.multiplex.notes import collected, note
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, assign_columns
from banditplex.multiplex.table import read_cells, read_frame, to_table
from banditplex.schema import ANYTHING, DISTINCT_NAMES, check, check_version, parse, whole

KINDS = {"csv": (".csv", ".csv.gz"), "tsv": (".tsv", ".tsv.gz"), "xlsx": (".xlsx",), "parquet": (".parquet", ".pq")}
"""Kinds of tables, and how the names of their files end."""
SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)
BETWEEN = {"csv": ",", "tsv": "\t"}  # what is usual between the columns of text
SPARSE = 10**7  # cells that a sheet may always have; a larger one must use one of `FACTOR` cells


class Part(NamedTuple):
    """One table, with its columns by role, its decimal point, and what the file says about itself."""

    table: pa.Table
    origin: Origin
    point: str = "."
    note: "dict[str, Any]" = {}  # noqa: RUF012
    text: bool = False

    @property
    def path(self) -> Path:
        """The file."""
        return Path(str(self.origin.path))

    def with_names(self, nodes: Any, layers: Any) -> pa.Table:
        """Return the table with tidy names, integers if they can be; names that a file declares are what they are."""
        table = self.table
        for roles, declared in ((PAIR_ROLES, nodes), (("layer",), layers)):
            if not self.text:
                table = table if self.note else tidy_names(table, roles, self.path)[0]
                table = integer_names(table, roles, self.origin)
            elif declared is None or as_names(declared, "declared").dtype != object:
                table = integer_names(table, roles, self.origin, text=True, decimal=self.point)
        return table


def kind_of(path: Path) -> str | None:
    """Return the kind of a table by the name of its file; None if that says none."""
    name = path.name.lower()
    return next((kind for kind, suffixes in KINDS.items() if name.endswith(suffixes)), None)


def _kind(path: Path, kind: str | None) -> str:
    found = kind or kind_of(path)
    if found is None:
        raise InputError(f"{path}: expected a table whose name ends in {', '.join(SUFFIXES)}, got {path.name!r}.")
    return found


def load(
    path: Path, options: TableOptions, *, kind: str | None = None, roles: Sequence[str] = EDGE_ROLES,
    progress: Progress | None = None,
) -> Part:  # fmt: skip
    """Return the columns of a table by role."""
    kind = _kind(path, kind)
    if options.wide or kind == "xlsx":
        frame = read_whole(path, options, kind=kind, texts=True)
        if progress:
            progress(path.stat().st_size, path.stat().st_size)
        rows = frame.index.to_numpy() + 2  # as spreadsheets count them: from 1, the header included
        table = read_frame(frame, options, path=path, line_of=lambda row: int(rows[row]), roles=roles)
        return Part(*table, text=kind in BETWEEN)
    if kind in BETWEEN:
        note = read_side_note(path) if roles == EDGE_ROLES else {}
        ours = "nodes" in note or "layers" in note
        return Part(*read_columns(path, BETWEEN[kind], options, roles=roles, progress=progress, ours=ours), note, True)
    return Part(*read_parquet(path, options, roles=roles, progress=progress))


def read_whole(path: Path, options: TableOptions, *, kind: str | None = None, texts: bool = False) -> pd.DataFrame:
    """Return all columns of a table; with `texts`, the cells of text files stay what they are."""
    if not path.is_file():
        raise InputError(f"{path}: {'expected a file, got a folder' if path.is_dir() else 'no such file'}.")
    kind = kind or kind_of(path) or "csv"
    if kind == "xlsx":
        frame = read_sheet(path, options)
    elif kind == "parquet":
        frame = whole_parquet(path, options)
    else:
        frame = _read_text(path, options, BETWEEN[kind], texts=texts)
    if frame.empty:
        raise FormatError("expected a header and rows, got an empty table", path=path)
    return frame


def _read_text(path: Path, options: TableOptions, usual: str, *, texts: bool) -> pd.DataFrame:
    dialect = sniff(path, options, EDGE_ROLES, usual)
    how: dict[str, Any] = {"sep": dialect.delimiter, "encoding": dialect.encoding, "thousands": options.thousands}
    how |= {"header": 0 if options.header else None, "skipinitialspace": True, "encoding_errors": "strict"}
    how |= {"dtype": str, "keep_default_na": False, "thousands": None} if texts else {}
    points = [options.decimal] if options.decimal else [".", ","] if dialect.delimiter != "," and not texts else ["."]
    frames = []
    try:
        for point in points:  # decimal commas make columns of numbers of what are texts else
            with opened(path, max_size=options.max_size) as file:
                frames.append(pd.read_csv(file, decimal=point, **how))
    except (ValueError, LookupError, OverflowError) as error:  # what pandas raises for files that are no tables
        if isinstance(error, InputError):
            raise
        text = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise FormatError(f"expected a table, got {text}", path=path) from None
    best: pd.DataFrame = max(frames, key=lambda each: len(each.select_dtypes("number").columns))
    if not isinstance(best.index, pd.RangeIndex):  # what pandas makes of cells without a column
        raise FormatError(f"expected {len(best.columns)} columns, as in the first line, got rows of more", path=path)
    return best.astype(object) if texts else best


def head_of(path: Path, options: TableOptions, count: int = 1000) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a table, and the texts in each of them in the first rows."""
    kind = _kind(path, None)
    if kind == "parquet":
        with _opened(path) as file:
            names = list(file.schema_arrow.names)
            return names, [[str(cell) for cell in _parquet_cells(file, name, count)] for name in names]
    if kind == "xlsx":
        with collected(silent=True):
            frame = read_sheet(path, options, rows=count)
        return [str(column) for column in frame], [frame[column].dropna().map(str).tolist() for column in frame]
    dialect = sniff(path, replace(options, header=True), EDGE_ROLES, BETWEEN[kind])
    (_, names), *rows = list(islice(records(path, dialect), count + 1)) or [(1, [])]
    return names, [[row[i] for _, row in rows if len(row) > i] for i in range(len(names))]


def usual_dialect(path: Path, options: TableOptions) -> Dialect:
    """Return how a text file seems to be written."""
    return sniff(path, options, EDGE_ROLES, BETWEEN.get(kind_of(path) or "csv", ","))


# Excel workbooks, read through openpyxl and pandas


def read_sheet(path: Path, options: TableOptions, *, rows: int | None = None) -> pd.DataFrame:
    """Return a sheet, or its first rows; ids that are numbers in some cells and text in others become text."""
    sheet, header = options.sheet, 0 if options.header else None
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
        from pandas.io.parsers import TextParser  # type: ignore[attr-defined]

        limit = unpacked_limit(path.stat().st_size, options.max_size)
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > limit:
            raise too_large(path, limit, f"; max_size={total} allows it")
        with closing(load_workbook(path, read_only=True, data_only=True, keep_links=False)) as book:
            sheets = {each.title: each for each in book.worksheets}
            if sheet is not None and sheet not in sheets:
                raise FormatError(f"expected a sheet among {', '.join(map(repr, sheets))}, got {sheet!r}", path=path)
            if sheet is None and len(sheets) > 1:
                first, *others = map(repr, sheets)
                note(f"{path}: sheets not read: {', '.join(others)}; sheet= chooses another than {first}.")
            cells = _cells(sheets[sheet or next(iter(sheets))], path, None if rows is None else rows + 1)
        how = {"header": header, "nrows": rows, "keep_default_na": False, "na_values": [""]}
        frame: pd.DataFrame = TextParser(cells, **how).read()
    except ImportError:
        other = "pip install 'banditplex[excel]' installs it; or save the sheet as CSV"
        raise InputError(f"{path}: expected the package openpyxl for Excel files, got none; {other}.") from None
    except FormatError:
        raise
    except Exception as error:  # openpyxl and zipfile raise many types
        message = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"expected an Excel workbook (.xlsx), got: {message}", path=path) from None
    frame = frame.dropna(how="all")
    if frame.empty:
        raise FormatError("expected a header and rows, got an empty sheet", path=path)
    for name in [name for name in frame if frame[name].map(type).nunique() > 1]:
        frame[name] = frame[name].map(_as_text)
    return frame


def _cells(sheet: Any, path: Path, rows: int | None) -> list[list[Any]]:
    """Return the rows of a sheet, all of one length; refuse cells that lie so far apart that these would be many."""
    sheet.reset_dimensions()  # the file may say anything
    found: list[list[Any]] = []
    width = used = held = last = 0
    for number, row in enumerate(islice(sheet.rows, rows), 1):
        cells = [_value(cell) for cell in row]
        while cells and cells[-1] == "":
            cells.pop()
        found.append(cells)
        width, held, used = max(width, len(cells)), held + len(cells), used + len(cells) - cells.count("")
        last = number if cells else last
        if max(held, width * last) > max(SPARSE, FACTOR * used):
            got = f"{last:,} rows and {width:,} columns, nearly all of them empty"
            raise FormatError(f"expected a table, got a sheet of {got}", path=path)
    return [cells + [""] * (width - len(cells)) for cells in found[:last]]


def _value(cell: Any) -> Any:
    """Return what a cell holds: whole numbers as integers, empty ones and errors as pandas expects them."""
    if cell.value is None or cell.data_type == "e":
        return "" if cell.value is None else float("nan")
    if cell.data_type == "n" and cell.value == int(cell.value):
        return int(cell.value)
    return cell.value


def _as_text(cell: Any) -> Any:
    """Return a cell of a mixed column as text: 7 and "7" are the same id."""
    if cell is None or cell != cell:
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


KEY = b"banditplex"  # key in the schema metadata
VERSION = 1
PLACE = f"the metadata {KEY.decode()!r}"
NOTE = {
    "version?": int, "directed?": bool, "layers?": DISTINCT_NAMES, "types?": {"names": [str], "index": [int]},
    "nodes?": (DISTINCT_NAMES, {"first": whole(-(2**63)), "count": whole(0)}),
}  # fmt: skip


def read_parquet(
    path: Path, options: TableOptions, *, roles: Sequence[str] = EDGE_ROLES, progress: Progress | None = None
) -> tuple[pa.Table, Origin, str, dict[str, Any]]:
    """Return the columns of a file by role, its origin, decimal point and note; other columns are not read."""
    with _opened(path) as file:
        sample = partial(_parquet_cells, file)
        columns = assign_columns(file.schema_arrow.names, options.columns, sample, path=path, roles=roles)
        text = (file.schema_arrow.metadata or {}).get(KEY, b"{}")
        note: dict[str, Any] = parse(text, {"*": ANYTHING}, path=path, what=PLACE)
        check_version(note.get("version", VERSION), VERSION, path=path, what="metadata")
        check(note, NOTE, path=path, what=PLACE)
        table = _read_table(file, path, list(columns.values()), options, progress)
    table = table.select(list(columns.values())).rename_columns(list(columns))
    table, origin, spelling = read_cells(table, Origin(path, columns), options)
    return table, origin, spelling.point, note


def whole_parquet(path: Path, options: TableOptions) -> pd.DataFrame:
    """Return all columns of a file."""
    with _opened(path) as file:
        frame: pd.DataFrame = _read_table(file, path, file.schema_arrow.names, options, None).to_pandas()
    for name in frame.select_dtypes("category"):
        frame[name] = frame[name].astype(object)
    return frame


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


def _parquet_cells(file: pq.ParquetFile, column: str, count: int = 1000) -> list[object]:
    """Return the first cells of a column."""
    batch = next(file.iter_batches(batch_size=count, columns=[column]), None)
    return [] if batch is None or not batch.num_columns else batch.column(0).to_pylist()


def write_parquet(mx: Multiplex, path: Path) -> None:
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
