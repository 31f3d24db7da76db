"""Excel workbooks (.xlsx): a sheet with a header; read only, through pandas and openpyxl."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditplex.errors import FormatError, InputError
from banditplex.io.text import check_zip
from banditplex.multiplex.notes import note
from banditplex.multiplex.options import TableOptions

if TYPE_CHECKING:
    import pandas as pd


def read_sheet(path: Path, options: TableOptions, *, rows: int | None = None) -> "pd.DataFrame":
    """Return a sheet, or its first rows, as a table of pandas.

    Ids that are numbers in some cells and text in others become text.
    """
    import pandas as pd

    sheet = options.sheet
    try:
        check_zip(path, options.max_size)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            if sheet is not None and sheet not in book.sheet_names:
                listed = ", ".join(map(repr, book.sheet_names))
                raise FormatError(f"expected a sheet among {listed}, got {sheet!r}", path=path)
            if sheet is None and len(book.sheet_names) > 1:
                first, *others = map(repr, book.sheet_names)
                note(f"{path}: sheets not read: {', '.join(others)}; sheet= chooses another than {first}.")
            frame = pd.read_excel(
                book,
                sheet or 0,
                keep_default_na=False,
                na_values=[""],
                nrows=rows,
                header=0 if options.header else None,
            )
    except ImportError:
        how = "pip install 'banditplex[excel]' installs it; or save the sheet as CSV"
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
