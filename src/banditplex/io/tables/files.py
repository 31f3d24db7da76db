"""One way to read any table, with the same options and limits: its columns by role, all of it, or its head."""

import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from banditplex.errors import FormatError, InputError
from banditplex.io.base import FACTOR, Progress, read_side_note, too_large, unpacked_limit
from banditplex.io.tables import parquet
from banditplex.io.tables.text import Dialect, opened, read_columns, records, sniff
from banditplex.multiplex.cells import Origin, integer_names, tidy_names
from banditplex.multiplex.names import as_names
from banditplex.multiplex.notes import collected, note
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES
from banditplex.multiplex.table import read_frame

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
    if options.wide:
        frame = read_whole(path, options, kind=kind, texts=True)
        return Part(*read_frame(frame, options, path=path, line_of=_lines(frame)), text=kind in BETWEEN)
    if kind in BETWEEN:
        note = read_side_note(path) if roles == EDGE_ROLES else {}
        ours = "nodes" in note or "layers" in note
        return Part(*read_columns(path, BETWEEN[kind], options, roles=roles, progress=progress, ours=ours), note, True)
    if kind == "xlsx":
        frame = read_sheet(path, options)
        if progress:
            progress(path.stat().st_size, path.stat().st_size)
        return Part(*read_frame(frame, options, path=path, line_of=_lines(frame)))
    return Part(*parquet.read_columns(path, options, roles=roles, progress=progress))


def _lines(frame: pd.DataFrame) -> Any:
    rows = frame.index.to_numpy() + 2  # as spreadsheets count them: from 1, the header included
    return lambda row: int(rows[row])


def read_whole(path: Path, options: TableOptions, *, kind: str | None = None, texts: bool = False) -> pd.DataFrame:
    """Return all columns of a table; with `texts`, the cells of text files stay what they are."""
    if not path.is_file():
        raise InputError(f"{path}: {'expected a file, got a folder' if path.is_dir() else 'no such file'}.")
    kind = kind or kind_of(path) or "csv"
    if kind == "xlsx":
        frame = read_sheet(path, options)
    elif kind == "parquet":
        frame = parquet.read_whole(path, options)
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
        raise FormatError(f"expected a table, got {' '.join(str(error).split())}", path=path) from None
    best: pd.DataFrame = max(frames, key=lambda each: len(each.select_dtypes("number").columns))
    if not isinstance(best.index, pd.RangeIndex):  # what pandas makes of cells without a column
        raise FormatError(f"expected {len(best.columns)} columns, as in the first line, got rows of more", path=path)
    return best.astype(object) if texts else best


def head_of(path: Path, options: TableOptions, count: int = 1000) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a table, and the texts in each of them in the first rows."""
    kind = _kind(path, None)
    if kind == "parquet":
        return parquet.head_of(path, count)
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
