"""Result folders: the rows of finished tasks in one file, so that a run that was stopped can be resumed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.jobs.engine import run_tasks
from banditplex.jobs.results import SUFFIX, Row, RowStore
from banditplex.jobs.task import Function
from banditplex.terminal import counters

ROWS = "rows.jsonl"


def collect(
    folder: Path | None,
    function: Function,
    tasks: Sequence[Any],
    about: Mapping[str, Any],
    *,
    engine: str = "processes",
    jobs: int | None = None,
    resume: bool = False,
) -> list[Row]:
    """Run tasks with progress on stderr; return their rows, sorted by task key.

    Rows are kept in `folder`, unless it is None. A folder with content is refused, unless `resume` is set and it holds
    a run with the same `about`.
    """
    store = None if folder is None else open_store(folder, about, resume=resume)
    finished: dict[str, list[Row]] = {}
    title = str(folder or "running")
    with counters([title], len(tasks)) as show:
        for key, rows in run_tasks(function, tasks, engine=engine, jobs=jobs, store=store):
            finished[key] = rows
            show(title, len(finished))
    return [row for key in sorted(finished) for row in finished[key]]


def open_store(folder: Path, about: Mapping[str, Any], *, resume: bool = False) -> RowStore:
    """Create a folder with a row file; with `resume`, open the existing one."""
    check_folder(folder, resume=resume)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created: {error.strerror or error}.") from None
    return RowStore(folder / ROWS, about, resume=resume)


def check_folder(folder: Path, *, resume: bool, how: str = "resume=True") -> None:
    """Refuse a folder with content, unless it holds a run and `resume` is set; `how` tells the user how to set it."""
    if not folder.exists() or (folder.is_dir() and all(path.name == f"{ROWS}{SUFFIX}" for path in folder.iterdir())):
        return  # the lock of a run that was killed before its first row counts as nothing
    if not begun(folder):
        raise InputError(f"{folder}: expected a new or empty folder, or one with {ROWS}.")
    if not resume:
        raise InputError(f"{folder}: exists; continue that run ({how}) or choose another folder.")


def begun(folder: Path) -> bool:
    """Say whether a folder holds a run that can be resumed."""
    return (folder / ROWS).is_file()
