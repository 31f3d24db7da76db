"""What commands say on stderr, beside their result: notes in one line, and bars where somebody looks."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bars


def say(message: str) -> None:
    """Print a line of ours on stderr."""
    print(f"banditplex: {message}", file=sys.stderr)


def say_new(place: Path) -> None:
    """Say that a run which was to go on begins, because there is none yet."""
    say(f"{place}: there is nothing to resume; a new run begins.")


def say_twentieths(title: str, done: int, total: int) -> None:
    """Tell how far something is, a twentieth at a time, where there is no terminal to draw a bar on."""
    if done * 20 // total > (done - 1) * 20 // total:
        say(f"{title}: {done} of {total} runs.")


def again(program: str = "banditplex") -> str:
    """Return the command that goes on with the run that this one began."""
    words = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return f"{program} {shlex.join([*words, '--resume'])}"


@contextmanager
def bars(*fields: str, quiet: bool = False) -> "Iterator[Bars | None]":
    """Yield room for bars on stderr, each with a title, a count, the named fields and the time left.

    None where nobody looks: stderr is no terminal, or it is to be quiet.
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
    """Yield a callback that draws a bar on stderr once something takes longer than a moment."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
