"""The whole experiment: all runs, on any engine and with any number of processes, then tables and figures."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

from banditplex.errors import InputError
from banditplex.evaluation.rows import describe_data
from banditplex.experiments.paper.analysis import Runs
from banditplex.experiments.paper.claims import Finding
from banditplex.experiments.paper.measure import PaperRun, measure, multiplex_of
from banditplex.experiments.paper.report import write
from banditplex.experiments.paper.settings import DATASETS, FULL, HIDDEN_IN, METHODS, SEED, TRAINING, Size
from banditplex.jobs.engine import collect


def reproduce(
    folder: str | Path,
    *,
    datasets: Sequence[str] = tuple(DATASETS),
    size: Size = FULL,
    engine: str = "processes",
    jobs: int | None = None,
    resume: bool = False,
    command: str = "banditplex reproduce",
) -> list[Finding]:
    """Train every method on every data set; write rows, curves, claims, figures and an index into a new folder.

    With `resume`, the run in the folder is continued; if it is complete, tables and figures are written again. For
    `engine` and `jobs`, see `banditplex.jobs.engine.run_tasks`. `command` is what the index page states.
    """
    names = check_datasets(datasets)
    about = {
        "size": asdict(size), "seed": SEED, "hide": HIDDEN_IN, "training": dict(TRAINING),
        "methods": {name: asdict(method) for name, method in METHODS.items()},
        "data": {name: describe_data(multiplex_of(name)) for name in names},
    }  # fmt: skip
    rows = collect(Path(folder), measure, list(tasks(names, size)), about, engine=engine, jobs=jobs, resume=resume)
    return write(Runs.from_rows(rows), Path(folder), command=command, size=size)


def tasks(datasets: Sequence[str], size: Size) -> Iterator[PaperRun]:
    """Yield all runs, trial by trial, so that a run that was stopped covers all data sets and methods."""
    for trial, fold, dataset, method in product(range(size.trials), range(size.folds), datasets, METHODS):
        yield PaperRun(dataset, method, trial, fold, size.epochs, SEED)


def check_datasets(names: Sequence[str]) -> tuple[str, ...]:
    """Return data sets in the paper's order; refuse others."""
    for name in names:
        if name not in DATASETS:
            raise InputError(f"Expected data sets of the paper ({', '.join(DATASETS)}), got {name!r}.")
    return tuple(name for name in DATASETS if name in names)
