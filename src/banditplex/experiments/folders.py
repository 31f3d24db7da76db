"""Folders of results: rows of finished tasks in one file, so that a run that was stopped goes on where it was."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.evaluation.engine import outcomes
from banditplex.evaluation.results import Row, RowStore, read_results
from banditplex.evaluation.task import Function

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
    quiet: bool = False,
) -> list[Row]:
    """Run tasks with a progress bar and keep their rows in a folder; return the rows, sorted by the keys of the tasks.

    A folder that holds anything is refused, unless a run that was begun there with the same `about` is to go on.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    store = open_store(folder, about, resume=resume)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, disable=quiet) as progress:
        bar = progress.add_task("running", total=len(tasks))
        for key, _ in outcomes(function, tasks, engine=engine, jobs=jobs, store=store):
            progress.update(bar, advance=1, description=key)
    return read_results(store.path)[1]


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


def as_typed(folder: Path) -> str:
    """Return a folder as a command may show it anywhere: as it was given, or by its name alone if it was absolute."""
    return folder.name if folder.is_absolute() else folder.as_posix()
