"""Messages and progress bars on stderr; results go to stdout."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


def say(message: str) -> None:
    """Print one line on stderr, prefixed with the name of the program."""
    print(f"banditplex: {message}", file=sys.stderr)


def say_new(place: Path) -> None:
    """Print that there is no run to resume, so a new one starts."""
    say(f"{place}: there is nothing to resume; a new run begins.")


def say_twentieths(title: str, done: int, total: int) -> None:
    """Print progress in steps of 5 %, for output that is not a terminal."""
    if done * 20 // total > (done - 1) * 20 // total:
        say(f"{title}: {done} of {total} runs.")


def again(program: str = "banditplex") -> str:
    """Return the command that resumes the current run."""
    words = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return f"{program} {shlex.join([*words, '--resume'])}"


@contextmanager
def bars(*fields: str, quiet: bool = False) -> "Iterator[Bars | None]":
    """Yield a display for progress bars on stderr, with a title, a count, the named fields and the remaining time.

    It is None if stderr is not a terminal, or with `quiet`.
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
def progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], Any] | None]:
    """Yield a callback (done, total) that draws a progress bar on stderr; None as for `bars`."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
