"""Excel workbooks (.xlsx): a sheet with a header and one row per edge; read only, through pandas and openpyxl."""

from pathlib import Path
from typing import Any, Unpack

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress
from banditplex.io.limits import check_max_size, check_zip
from banditplex.multiplex import Multiplex
from banditplex.multiplex.frame import from_frame
from banditplex.multiplex.notes import note
from banditplex.multiplex.roles import Columns


def read(
    path: Path,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    num_nodes: int | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    missing: str = "error",
    bipartite: bool | None = None,
    fold_case: bool = False,
    max_size: int | None = None,
    **columns: Unpack[Columns],
) -> Multiplex:
    """Read a sheet with one row per edge.

    Parameters
    ----------
    path
        The workbook.
    progress
        Called with (bytes done, bytes in total).
    directed
        Whether edges are directed. None: as the column Type of Gephi says, or undirected.
    num_nodes
        The nodes are 0 to num_nodes-1.
    sheet
        The name of the sheet. None: the first one.
    decimal, thousands, date_format
        How numbers and dates are written in cells of text, as for CSV files.
    missing
        "error" refuses empty cells. "drop" leaves out rows without a node or layer; an edge without a weight has
        weight 1, and one without a time the earliest time.
    bipartite
        Whether source and destination are two kinds of nodes, each with ids of its own. None: they are not, but a
        warning says if it looks so.
    fold_case
        Whether names that differ only by case or spaces are the same; the most frequent spelling is kept.
    max_size
        How many bytes the workbook may grow to. None: 64 MiB, or 100 times its size if that is more.
    columns
        See `banditplex.multiplex.roles.Columns`.
    """
    frame = read_sheet(path, sheet, max_size)
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    rows = frame.index.to_numpy() + 2  # as Excel counts them: from 1, the header included
    return from_frame(
        Multiplex, frame, path=path, line_of=lambda row: int(rows[row]), directed=directed, num_nodes=num_nodes,
        decimal=decimal, thousands=thousands, date_format=date_format, missing=missing, bipartite=bipartite,
        fold_case=fold_case, **columns,
    )  # fmt: skip


def read_sheet(path: Path, sheet: str | None = None, max_size: int | None = None, *, rows: int | None = None) -> Any:
    """Return a sheet, or its first rows, as a table of pandas.

    Ids that are numbers in some cells and text in others become text.
    """
    import pandas as pd

    check_max_size(max_size)
    try:
        check_zip(path, max_size)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            if sheet is not None and sheet not in book.sheet_names:
                listed = ", ".join(map(repr, book.sheet_names))
                raise FormatError(f"expected a sheet among {listed}, got {sheet!r}", path=path)
            if sheet is None and len(book.sheet_names) > 1:
                first, *others = map(repr, book.sheet_names)
                note(f"{path}: sheets not read: {', '.join(others)}; sheet= chooses another than {first}.")
            frame = pd.read_excel(book, sheet or 0, keep_default_na=False, na_values=[""], nrows=rows)
    except ImportError:
        how = "pip install banditplex[excel], or save the sheet as CSV"
        raise InputError(f"{path}: expected the package openpyxl for Excel files, got none; {how}.") from None
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


def _as_text(cell: Any) -> Any:
    """Return a cell of a mixed column as text: 7 and "7" are the same id."""
    if cell is None or cell != cell:
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


FORMAT = Format(
    name="xlsx",
    description="an Excel sheet: source, target, layer[, weight][, time]; read only",
    suffixes=(".xlsx",),
    read=read,
    write=None,
    holds=frozenset({"weight", "time"}),
)
