"""Excel workbooks (.xlsx): a sheet with a header; read only, through openpyxl and pandas."""

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditplex.errors import FormatError, InputError
from banditplex.io.text import FACTOR, check_zip
from banditplex.multiplex.notes import note
from banditplex.multiplex.options import TableOptions

if TYPE_CHECKING:
    import pandas as pd

SPARSE = 10**7
"""Cells that a sheet may always have; a larger one is refused if fewer than one of `FACTOR` cells is used."""


def read_sheet(path: Path, options: TableOptions, *, rows: int | None = None) -> "pd.DataFrame":
    """Return a sheet, or its first rows, as a table of pandas.

    Ids that are numbers in some cells and text in others become text.
    """
    sheet, header = options.sheet, 0 if options.header else None
    try:
        from openpyxl import load_workbook  # type: ignore[import-untyped]
        from pandas.io.parsers import TextParser  # type: ignore[attr-defined]

        check_zip(path, options.max_size)
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
