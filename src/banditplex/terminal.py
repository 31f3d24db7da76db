"""What commands print on stderr: one-line notes, and progress bars if stderr is a terminal."""

import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

LOG = logging.getLogger("banditplex")  # the logger of the library: what training and ranking do, at level INFO
STILL = 3  # seconds without a step after which a bar says what is done instead, unless steps take as long
FIRST, THEN = "beginning", "finishing the model"  # what is done before the first step, and after the last epoch
LONG = 120  # seconds from which on it is said how long work will take
SEARCH = "Finding layers that help"  # what is done before the first epoch
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

    def __init__(self, unit: str, hint: str = "", *, sets_up: bool = False) -> None:
        self._begin, self._before, self._unit, self._hint = time.monotonic(), 0, unit, hint
        self._sets_up, self._said = sets_up, False

    def tell(self, done: int, total: int) -> None:
        """Say it if `done` of `total` steps are done, and the rest takes more than `LONG` seconds."""
        if self._sets_up and done:
            self._begin, self._before, self._sets_up = time.monotonic(), done, False
        counted = done - self._before
        left = (time.monotonic() - self._begin) / max(counted, 1) * (total - done)
        if counted and not self._said and left > LONG:
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
    titles: Iterable[str],
    total: int | None = None,
    *,
    first: str = "",
    then: str = "",
    counted: bool = True,
    in_turn: bool = False,
    quiet: bool = False,
) -> "Iterator[Callable[..., None] | None]":
    """Yield a callback (title, text) that advances the bar of a title by 1 and shows a text beside it.

    It may instead be given `completed` and `total`. `first` says what is done before the first step, and `then` what
    comes after the last step of the last bar: they are shown with a clock, once a bar has stood still for some seconds
    and for much longer than a step. Steps that are not `counted` are shown
    as a share. Of bars `in_turn`, one is seen at a time: the first, then that which was advanced last.
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
            ends = then and task.id == max(room.task_ids)
            if ends and task.speed and still > max(STILL, 5 / task.speed):
                return Text(f"{then}, {still:.0f} s")
            if first and task.total is None and still > STILL:
                return Text(f"{first}, {still:.0f} s")
            if task.total is None or task.time_remaining is None:
                return Text("")
            return Text("at most " if ends else "about ") + super().render(task) + Text(" left")

    titled, said = progress.TextColumn("{task.description}"), progress.TextColumn("{task.fields[text]}")
    done = progress.MofNCompleteColumn() if counted else progress.TaskProgressColumn()
    columns = titled, progress.BarColumn(), done, said, TimeLeft()
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as room:
        now = time.monotonic()
        tasks: dict[str, progress.TaskID] = {}
        for title in titles:
            seen = not in_turn or not tasks
            tasks[title] = room.add_task(_as_text(title), total=total, text="", moved=now, visible=seen)

        def show(title: str, text: str = "", **state: Any) -> None:
            for other, task in tasks.items():
                room.update(task, visible=not in_turn or other == title)
            room.update(tasks[title], text=_as_text(text), moved=time.monotonic(), **(state or {"advance": 1}))

        yield show


class Training(NamedTuple):
    """Callbacks that show how training goes."""

    search: Callable[[float], None]
    """Given the share of the search for panels that is done, as `on_search` gets it."""
    epoch: Callable[[dict[str, Any]], None]
    """Given the row of an epoch, as `on_epoch` gets it."""


@contextmanager
def training_bar(*, quiet: bool = False, lines: bool = False, after: float = 0) -> Iterator[Training | None]:
    """Yield callbacks that show how training goes; None if there is nothing to show.

    There is a bar or, with `lines` and if stderr is no terminal, a line per tenth of the search and of the epochs and
    after the last epoch, once `after` seconds have passed.
    """
    begin, tenths = time.monotonic(), 0
    with bars([SEARCH, "Training"], quiet=quiet, first=FIRST, then=THEN, in_turn=True) as show:
        if quiet or (show is None and not lines):
            yield None
            return

        def search(share: float) -> None:
            nonlocal tenths
            before, tenths = tenths, int(10 * share)
            if show is not None and share == 1:
                show("Training", completed=0)
            elif show is not None:
                show(SEARCH, completed=int(100 * share), total=100)
            elif before < tenths < 10 and time.monotonic() - begin >= after:
                say(f"{SEARCH.lower()}: {10 * tenths} % done")

        def epoch(row: dict[str, Any]) -> None:
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

        yield Training(search, epoch)


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
