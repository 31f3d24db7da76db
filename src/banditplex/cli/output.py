"""What the commands print, and tables that they write to a file: JSON, text, CSV and Parquet."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

from banditplex.cli.options import option
from banditplex.errors import InputError
from banditplex.storage.files import replacing
from banditplex.terminal import escape

if TYPE_CHECKING:
    import pandas as pd

LONG, NARROW = 20, 12  # characters that make a text which may be wrapped, and that are left to it

Json = Annotated[bool, option("--json", "Print JSON, for machines.")]


def check_place(path: Path, endings: Sequence[str], *, force: bool) -> None:
    """Refuse a file whose name has another ending, that has no folder, or that exists, unless `force` replaces it."""
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: expected a name that ends in {', '.join(endings[:-1])} or {endings[-1]}.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected the folder {path.parent} to exist.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force replaces it.")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, default=str))


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, with None for what is not known."""
    rows = table.to_dict("records")
    return [{str(name): None if value != value else value for name, value in row.items()} for row in rows]


def wrapped(text: str, *, break_on_hyphens: bool = True) -> str:
    """Return a text in lines of at most 79 characters."""
    return fill(text, 79, break_on_hyphens=break_on_hyphens)


def print_lines(text: str) -> None:
    """Print lines of text; control characters in them are shown as escapes."""
    print("\n".join(map(escape, text.split("\n"))))


def print_text(markup: str, text: str) -> None:
    """Print marked-up text of ours, then plain text of others; a file gets it in one line."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text.from_markup(markup) + Text(escape(text)), soft_wrap=not sys.stdout.isatty())


def print_table(columns: list[str], rows: list[list[Any]], *, digits: int | None = None) -> None:
    """Print rows under their columns, in the width of the terminal as far as possible; a file gets every line whole.

    Values may be `Text` of rich, with a style. Numbers have four decimals, or so many significant `digits`.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts = [[value if isinstance(value, Text) else Text(_show(value, digits)) for value in row] for row in rows]
    cells = [[text.plain for text in row] for row in texts]  # names are text, not markup
    console = Console()
    widths = _fit(columns, cells, console.width if sys.stdout.isatty() else None)
    console.width = max(console.width, _total(widths))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Any = "right" if any(isinstance(row[i], int | float) for row in rows) else "left"
        table.add_column(Text(escape(column)), justify=justify, width=width, overflow="fold")
    for row in texts:
        table.add_row(*row)
    console.print(table)


def _fit(columns: list[str], cells: list[list[str]], room: int | None) -> list[int]:
    """Return how wide columns are in a room (None: without end).

    Where the room is too narrow, names of columns are wrapped, and then texts of some length, the widest first. Nothing
    is ever cut: what does not fit even so is left to the terminal.
    """
    contents = [max((len(row[i]) for row in cells), default=0) for i in range(len(columns))]
    widths = [max(content, len(column)) for content, column in zip(contents, columns, strict=True)]
    if room is None or _total(widths) <= room:
        return widths
    widths = [max([content, *map(len, column.split())]) for content, column in zip(contents, columns, strict=True)]
    texts = [i for i, content in enumerate(contents) if content >= LONG]
    while texts and _total(widths) > room:
        widest = max(texts, key=widths.__getitem__)
        if widths[widest] <= NARROW:
            break
        widths[widest] -= 1
    return widths


def _total(widths: list[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _show(value: Any, digits: int | None = None) -> str:
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.4f}" if digits is None else f"{value:.{digits}g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(value)


SEPARATOR = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATOR, ".parquet")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # how texts begin that a spreadsheet takes for formulas, or hides


def without_formulas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose texts begin with ' if a spreadsheet would take them for formulas."""
    return table.map(lambda cell: f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell)


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of the name; a file that exists is replaced.

    Excel takes a CSV file for UTF-8 only if it begins with a byte order mark; it gets one if there is a need.
    """
    with replacing(path) as file:
        if path.suffix.lower() == ".parquet":
            table.to_parquet(file, index=False)
        else:
            texts = table.select_dtypes(["object", "string"])
            plain = all(str(cell).isascii() for name in texts for cell in (name, *texts[name].unique()))
            encoding = "utf-8-sig" if path.suffix.lower() == ".csv" and not plain else "utf-8"
            table.to_csv(file, index=False, sep=SEPARATOR[path.suffix.lower()], encoding=encoding)
