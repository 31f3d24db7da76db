"""The whole experiment: all runs, on any engine and with any number of processes, then tables and figures."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.experiments.paper.analysis import Runs
from banditplex.experiments.paper.claims import Finding
from banditplex.experiments.paper.measure import PaperRun, measure, multiplex_of
from banditplex.experiments.paper.report import write
from banditplex.experiments.paper.settings import DATASETS, FULL, HIDE, METHODS, SEED, TRAINING, Size
from banditplex.jobs.engine import run
from banditplex.jobs.result_folder import check_folder, open_store
from banditplex.jobs.results import describe_data

Progress = Callable[[str, int], Any]


def reproduce(
    folder: str | Path,
    *,
    datasets: Sequence[str] = tuple(DATASETS),
    size: Size = FULL,
    engine: str = "processes",
    jobs: int | None = None,
    resume: bool = False,
    command: str = "banditplex reproduce",
    on_run: Progress | None = None,
) -> list[Finding]:
    """Train every method on every data set; write rows, curves, claims, figures and an index into a folder.

    Parameters
    ----------
    folder
        A new folder; one with content is refused, unless `resume`.
    datasets, size
        Which data sets, and how many trials, folds and epochs.
    engine, jobs
        As in `banditplex.jobs.engine.run`; the results do not depend on them.
    resume
        Continue the run in the folder; if it is complete, write tables and figures again.
    command
        The command that the index page states.
    on_run
        Called as on_run(data set, finished runs of it) after each run.
    """
    names = check_datasets(datasets)
    out = Path(folder)
    check_folder(out, resume=resume)
    about = {
        "size": asdict(size), "seed": SEED, "hide": HIDE, "training": dict(TRAINING),
        "methods": {name: asdict(method) for name, method in METHODS.items()},
        "data": {name: describe_data(multiplex_of(name)) for name in names},
    }  # fmt: skip
    store = open_store(out, about, resume=resume)
    finished = dict.fromkeys(names, 0)
    rows = []
    for row in run(measure, tasks(names, size), engine=engine, jobs=jobs, store=store):
        rows.append(row)
        finished[row["dataset"]] += 1
        if on_run is not None:
            on_run(row["dataset"], finished[row["dataset"]])
    return write(Runs.from_rows(rows), out, command=command, size=size)


def tasks(datasets: Sequence[str], size: Size) -> Iterator[PaperRun]:
    """Yield all runs, trial by trial, so that a run that was stopped covers all data sets and methods."""
    for trial, fold, dataset, method in product(range(size.trials), range(size.folds), datasets, METHODS):
        yield PaperRun(dataset, method, trial, fold, size.epochs, SEED)


def runs_per_dataset(size: Size) -> int:
    """Return how many runs a data set has."""
    return size.trials * size.folds * len(METHODS)


def check_datasets(names: Sequence[str]) -> tuple[str, ...]:
    """Return data sets in the paper's order; refuse others.

    >>> check_datasets(["euair", "ckm"])
    ('ckm', 'euair')
    """
    for name in names:
        if name not in DATASETS:
            raise InputError(f"Expected data sets of the paper ({', '.join(DATASETS)}), got {name!r}.")
    return tuple(name for name in DATASETS if name in names)
