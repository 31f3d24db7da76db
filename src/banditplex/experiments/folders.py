"""Folders of results: rows of finished tasks in one file, so that a run that was stopped goes on where it was."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.jobs.engine import outcomes
from banditplex.jobs.results import Row, RowStore, read_results
from banditplex.jobs.task import Function
from banditplex.terminal import again, bars, say, say_new, say_twentieths

ROWS = "rows.jsonl"


def collect(
    folder: Path,
    function: Function,
    tasks: Sequence[Any],
    about: Mapping[str, Any],
    *,
    engine: str = "processes",
    jobs: int | None = None,
    resume: bool = False,
) -> list[Row]:
    """Run tasks and keep their rows in a folder; return the rows, sorted by the keys of the tasks.

    Progress is shown on stderr. A folder that holds anything is refused, unless a run that was begun there with the
    same `about` is to go on.
    """
    store = open_store(folder, about, resume=resume)
    with _bar(folder, len(tasks)) as show:
        for done, (key, _) in enumerate(outcomes(function, tasks, engine=engine, jobs=jobs, store=store), 1):
            show(done, key)
    return read_results(store.path)[1]


@contextmanager
def _bar(folder: Path, total: int) -> Iterator[Callable[[int, str], None]]:
    """Yield a callback that shows on stderr how many tasks have finished, and which was the last."""
    with bars() as room:
        if room is None:
            yield lambda done, _: say_twentieths(str(folder), done, total)
            return
        bar = room.add_task("running", total=total)
        yield lambda done, key: room.update(bar, completed=done, description=key)


def open_store(folder: Path, about: Mapping[str, Any], *, resume: bool = False) -> RowStore:
    """Make a folder with a file of rows, or with `resume` open the one that is there."""
    check_folder(folder, resume=resume)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}.") from None
    return RowStore(folder / ROWS, about, resume=resume)


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds anything, unless that is a run which is to go on."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not begun(folder):
        raise InputError(f"{folder}: expected a new or empty folder, or one with {ROWS} to go on with.")
    if not resume:
        raise InputError(f"{folder}: exists; go on with that run (--resume), or choose another folder.")


def begun(folder: Path) -> bool:
    """Say whether there is a run to go on with."""
    return (folder / ROWS).is_file()


def run_command(app: Callable[[], None]) -> None:
    """Run a command line; what the user can mend is one line on stderr and status 2."""
    try:
        app()
    except InputError as error:
        say(str(error))
        raise SystemExit(2) from None


@contextmanager
def going_on(folder: Path, *, resume: bool, program: str = "banditplex") -> Iterator[None]:
    """Run a command that keeps what it has done: say if there is nothing to resume and, after Ctrl-C, how to go on."""
    check_folder(folder, resume=resume)
    if resume and not begun(folder):
        say_new(folder)
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; go on with: {again(program)}")
        raise SystemExit(130) from None


def as_typed(folder: Path) -> str:
    """Return a folder as a command may show it anywhere: as it was given, or by its name alone if it was absolute."""
    return folder.name if folder.is_absolute() else folder.as_posix()
