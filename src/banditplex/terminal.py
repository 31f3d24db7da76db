"""What commands print on stderr: one-line notes, and progress bars if stderr is a terminal."""

import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger("banditplex")  # the logger of the library: what training and ranking do, at level INFO
STILL = 3  # seconds without a step after which a bar says what is done instead, unless steps take as long
THEN = "finishing the model"  # what is done after the last epoch
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape(text: object) -> str:
    r"""Return a text with control characters as escapes: names from files must not command the terminal.

    >>> print(escape("a\x1b[31mb\n"), escape("Zoë"))
    a\x1b[31mb\n Zoë
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], str(text))


def say(message: str) -> None:
    """Print a one-line message on stderr; control characters are shown as escapes."""
    print(f"banditplex: {escape(message)}", file=sys.stderr)


def warn(message: str) -> None:
    """Warn the caller of the library; the command line prints such a message as `say` does."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


class Estimate:
    """Says once, after the first step of long work, how long it will take; `hint` says what else could be done.

    With `sets_up`, the first step is not counted, as things are set up in it.
    """

    def __init__(self, unit: str, hint: str = "", *, least: float = 120, sets_up: bool = False) -> None:
        self._begin, self._before, self._unit, self._hint = time.monotonic(), 0, unit, hint
        self._least, self._sets_up, self._said = least, sets_up, False

    def tell(self, done: int, total: int) -> None:
        """Say it if `done` of `total` steps are done, and the rest takes more than `least` seconds."""
        if self._sets_up and done:
            self._begin, self._before, self._sets_up = time.monotonic(), done, False
        counted = done - self._before
        left = (time.monotonic() - self._begin) / max(counted, 1) * (total - done)
        if counted and not self._said and left > self._least:
            say("; ".join(filter(None, [f"{total} {self._unit}, about {duration(left)} to go", self._hint])) + ".")
        self._said = self._said or counted > 0


def duration(seconds: float) -> str:
    """Return a length of time in words."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds > 1.5 * length:
            return f"{seconds / length:.0f} {unit}s"
    return f"{max(seconds, 1):.0f} second{'s' * (seconds >= 1.5)}"


def _as_text(title: str) -> str:
    """Return a title that may hold names, for rich: neither control characters nor markup."""
    from rich.markup import escape as without_markup

    return without_markup(escape(title))


@contextmanager
def bars(
    titles: Iterable[str], total: int | None = None, *, then: str = "", counted: bool = True, quiet: bool = False
) -> "Iterator[Callable[..., None] | None]":
    """Yield a callback (title, text) that advances the bar of a title by 1 and shows a text beside it.

    It may instead be given `completed` and `total`. `then` says what comes after the last step: it is shown with a
    clock once a bar has stood still for much longer than a step. Steps that are not `counted` are shown as a share.
    None if `quiet` or if stderr is no terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class TimeLeft(progress.TimeRemainingColumn):
        def render(self, task: progress.Task) -> Text:
            still = time.monotonic() - task.fields["moved"]
            if then and task.speed and still > max(STILL, 5 / task.speed):
                return Text(f"{then}, {still:.0f} s")
            return Text("at most " if then else "") + super().render(task) + Text(" left")

    titled, said = progress.TextColumn("{task.description}"), progress.TextColumn("{task.fields[text]}")
    done = progress.MofNCompleteColumn() if counted else progress.TaskProgressColumn()
    columns = titled, progress.BarColumn(), done, said, TimeLeft()
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as room:
        now = time.monotonic()
        tasks = {title: room.add_task(_as_text(title), total=total, text="", moved=now) for title in titles}

        def show(title: str, text: str = "", **state: Any) -> None:
            room.update(tasks[title], text=_as_text(text), moved=time.monotonic(), **(state or {"advance": 1}))

        yield show


@contextmanager
def epoch_bar(
    *, quiet: bool = False, lines: bool = False, after: float = 0
) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Yield a callback that shows how training goes, given the row of an epoch, as `on_epoch` gets it.

    A bar or, with `lines` and if stderr is no terminal, a line per tenth of the epochs and after the last, once `after`
    seconds have passed; None if there is nothing to show.
    """
    begin = time.monotonic()
    with bars(["Training"], quiet=quiet, then=THEN) as show:
        if quiet or (show is None and not lines):
            yield None
            return

        def tell(row: dict[str, Any]) -> None:
            losses = f"loss {row['train_loss']:.3f}  validation {row['validation_loss']:.3f}"
            if row["members"] > 1:  # each begins anew
                losses += f"  network {row['member']} of {row['members']}"
            done, epochs = row["epoch"], row["epochs"]
            if show is not None:
                show("Training", losses, completed=done, total=epochs)
            elif time.monotonic() - begin >= after:
                if done * 10 // epochs > (done - 1) * 10 // epochs:
                    say(f"epoch {done} of at most {epochs}: {losses}")
                if row["last"]:
                    say(f"epoch {done} was the last; {THEN}")

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
    """Yield a callback (done, total) that draws a progress bar on stderr; None if there is none to draw."""
    with bars([title], counted=False, quiet=quiet) as show:
        yield show and (lambda done, total: show(title, completed=done, total=total))
