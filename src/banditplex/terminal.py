"""What commands print on stderr: one-line notes, and progress bars if stderr is a terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


def say(message: str) -> None:
    """Print a one-line message on stderr."""
    print(f"banditplex: {message}", file=sys.stderr)


@contextmanager
def bars(*fields: str, quiet: bool = False) -> "Iterator[Bars | None]":
    """Yield a display of progress bars with title, count, the named fields and the time left.

    None if `quiet` or if stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    texts = [TextColumn(f"{{task.fields[{name}]}}") for name in fields]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *texts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as room:
        yield room


@contextmanager
def counters(titles: Iterable[str], total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a callback (title, finished runs): a bar per title or, if stderr is no terminal, a line per 5 %."""

    def tell(title: str, done: int) -> None:
        if done * 20 // total > (done - 1) * 20 // total:
            say(f"{title}: {done} of {total} runs.")

    with bars() as room:
        if room is None:
            yield tell
            return
        tasks = {title: room.add_task(f"{title:15}", total=total) for title in titles}
        yield lambda title, done: room.update(tasks[title], completed=done)


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
