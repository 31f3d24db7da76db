"""Tables that commands write to a file: CSV, TSV or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING

from banditplex.storage.files import replacing

if TYPE_CHECKING:
    import pandas as pd

SEPARATOR = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATOR, ".parquet")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How texts begin that a spreadsheet takes for formulas, or hides."""


def without_formulas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose texts begin with ' if a spreadsheet would take them for formulas."""
    return table.map(lambda cell: f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell)


def _is_ascii(table: "pd.DataFrame") -> bool:
    texts = table.select_dtypes(["object", "string"])
    return all(str(cell).isascii() for name in texts for cell in (name, *texts[name].unique()))


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of the name; a file that exists is replaced.

    Excel takes a CSV file for UTF-8 only if it begins with a byte order mark; it gets one if there is a need.
    """
    with replacing(path) as file:
        if path.suffix.lower() == ".parquet":
            table.to_parquet(file, index=False)
        else:
            encoding = "utf-8-sig" if path.suffix.lower() == ".csv" and not _is_ascii(table) else "utf-8"
            table.to_csv(file, index=False, sep=SEPARATOR[path.suffix.lower()], encoding=encoding)
