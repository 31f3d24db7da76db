"""What the commands print: JSON, text, tables, and bars on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from banditplex.io import Progress

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
    """Print rows under their columns, in the width of the terminal; a file gets every line whole.

    Where a terminal is too narrow the last column gives way: it is wrapped or, if hardly any room is left, cut.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    widths = [max(len(_show(row[i])) for row in [columns, *rows]) for i in range(len(columns))]
    console = Console(width=None if terminal else sum(widths) + 2 * len(widths))
    room = max(8, console.width - sum(widths[:-1]) - 2 * len(widths))
    widths[-1] = min(widths[-1], room)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Any = "right" if any(isinstance(row[i], int | float) for row in rows) else "left"
        wrapped = i == len(columns) - 1 and room >= 20
        table.add_column(column, justify=justify, width=width, no_wrap=not wrapped)
    for row in rows:
        table.add_row(*(Text(_show(value)) for value in row))  # names are text, not markup
    console.print(table)


def _show(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def say(message: str) -> None:
    """Print a line of ours on stderr."""
    print(f"banditplex: {message}", file=sys.stderr)


@contextmanager
def progress(title: str, *, quiet: bool = False) -> "Iterator[Progress | None]":
    """Yield a callback that draws a bar on stderr once something takes longer than a moment."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
