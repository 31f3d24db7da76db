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
    """Print rows under their columns, in the width of the terminal; a file gets every line whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        number = any(isinstance(row[i], int | float) for row in rows)
        widest = max(len(_show(row[i])) for row in [columns, *rows])  # only the last column gives way
        width = None if i == len(columns) - 1 else widest
        table.add_column(column, justify="right" if number else "left", no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*(Text(_show(value)) for value in row))  # names are text, not markup
    Console(width=None if sys.stdout.isatty() else 160, soft_wrap=not sys.stdout.isatty()).print(table)


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
