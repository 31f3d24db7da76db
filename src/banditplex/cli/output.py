"""What the commands print: JSON, text and tables."""

import json
import sys
from typing import Annotated, Any

import typer

LONG = 30  # characters that make a text which may be wrapped

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, default=str))


def print_text(markup: str, text: str) -> None:
    """Print marked-up text of ours, then plain text of others."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text.from_markup(markup) + Text(text))


def print_table(columns: list[str], rows: list[list[Any]]) -> None:
    """Print rows under their columns, in the width of the terminal as far as possible; a file gets every line whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_show(value) for value in row] for row in rows]
    console = Console()
    widths, widest = _fit(columns, cells, console.width if sys.stdout.isatty() else None)
    console.width = max(console.width, _total(widths))
    table, how = Table(box=None, header_style="bold", pad_edge=False), list[dict[str, Any]]()
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Any = "right" if any(isinstance(row[i], int | float) for row in rows) else "left"
        table.add_column(column, justify=justify, width=width)
        wrapped = i == widest and width >= 20
        how.append({"no_wrap": not wrapped, "overflow": "fold" if wrapped else "ellipsis"})
    for row in cells:  # names are text, not markup
        table.add_row(*(Text(cell, **options) for cell, options in zip(row, how, strict=True)))
    console.print(table)


def _fit(columns: list[str], cells: list[list[str]], room: int | None) -> tuple[list[int], int]:
    """Return how wide columns are in a room (None: without end), and which of them is the widest.

    Where the room is too narrow, names of columns are wrapped, and then the widest column if it is a text of some
    length; with hardly any room left that is cut. Nothing else is ever cut.

    >>> _fit(["name", "long title"], [["ann", "x" * 40]], None), _fit(["name", "long title"], [["ann", "x" * 40]], 31)
    (([4, 40], 1), ([4, 25], 1))
    """
    contents = [max((len(row[i]) for row in cells), default=0) for i in range(len(columns))]
    widths = [max(content, len(column)) for content, column in zip(contents, columns, strict=True)]
    if room is not None and _total(widths) > room:
        widths = [max([content, *map(len, column.split())]) for content, column in zip(contents, columns, strict=True)]
    widest = max(range(len(widths)), key=lambda i: (widths[i], i))
    if room is not None and widths[widest] >= LONG:
        widths[widest] = min(widths[widest], max(8, room - _total(widths) + widths[widest]))
    return widths, widest


def _total(widths: list[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _show(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
