"""What commands print on stderr: one-line notes, and progress bars if stderr is a terminal."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger("banditplex")
"""The logger of the library: what training and ranking do, at level INFO."""


def say(message: str) -> None:
    """Print a one-line message on stderr."""
    print(f"banditplex: {message}", file=sys.stderr)


@contextmanager
def bars(
    titles: Iterable[str], total: int | None = None, *, quiet: bool = False
) -> "Iterator[Callable[..., None] | None]":
    """Yield a callback (title, text) that advances the bar of a title by 1 and shows a text beside it.

    It may instead be given `completed` and `total`. None if `quiet` or if stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    texts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*texts, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as room:
        tasks = {title: room.add_task(title, total=total, text="") for title in titles}

        def show(title: str, text: str = "", **state: Any) -> None:
            room.update(tasks[title], text=text, **(state or {"advance": 1}))

        yield show


@contextmanager
def epoch_bar(*, quiet: bool = False, lines: bool = False) -> Iterator[Callable[[dict[str, Any], int], None] | None]:
    """Yield a callback (row, epochs) that shows how training goes, given the row of an epoch and their number.

    A bar or, with `lines` and if stderr is no terminal, a line per 5 % of the epochs; None if there is nothing to show.
    """
    with bars(["Training"], quiet=quiet) as show:
        if quiet or (show is None and not lines):
            yield None
            return

        def tell(row: dict[str, Any], epochs: int) -> None:
            losses, done = f"loss {row['train_loss']:.3f}  validation {row['validation_loss']:.3f}", row["epoch"]
            if show is not None:
                show("Training", losses, completed=done, total=epochs)
            elif done * 20 // epochs > (done - 1) * 20 // epochs:
                say(f"epoch {done} of {epochs}: {losses}")

        yield tell


@contextmanager
def counters(titles: Iterable[str], total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a callback (title, finished runs): a bar per title or, if stderr is no terminal, a line per 5 %."""
    with bars(titles, total) as show:

        def tell(title: str, done: int) -> None:
            if show is not None:
                show(title, completed=done)
            elif done * 20 // total > (done - 1) * 20 // total:
                say(f"{title}: {done} of {total} runs.")

        yield tell


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], Any] | None]:
    """Yield a callback that draws a progress bar on stderr; None if `quiet` or if stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
