"""`compare`: every method on the same splits, tuned with the same budget, each fit with the same limits."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.evaluation.split import FixedSplit
from banditplex.jobs.engine import run_tasks
from banditplex.jobs.limits import PATIENCE, REASONS, alone, stop_child
from banditplex.jobs.result_folder import open_store
from banditplex.jobs.results import Row, RowStore, describe_data
from banditplex.leaderboard.measure import Job, measure
from banditplex.leaderboard.methods import Method, Settings, choose_methods
from banditplex.leaderboard.parts import Part, Parts
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility

Progress = Callable[[int, int, list[Row]], Any]
"""Called as on_progress(done, total, rows) after each fit."""
TUNED_FOR = "roc_auc"
FIRST_TRIALS = 2
"""A method that fails in this many trials with a seed is not tried further."""
START_SECONDS = 120.0
"""What a child process may need besides the limits: to start, and to receive the data."""
GIGABYTE = 10**9


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The conditions of a comparison, the same for all methods."""

    hide: str = "layer"
    seeds: int = 5  # splits, and seeds of the methods
    trials: int = 10  # settings tried per method and seed, at most; 1: no tuning
    budget: float = 120.0  # seconds of a fit, and of scoring the test pairs; see `jobs.limits.Usage`
    memory: float = 8.0  # gigabytes of a fit
    targets: tuple[Name, ...] | None = None  # None: every layer with enough edges

    def check(self, mx: Multiplex) -> None:
        """Refuse values that make no sense."""
        Visibility.of_split(self.hide, mx)
        for name, least in (("seeds", 1), ("trials", 1)):
            if getattr(self, name) < least:
                raise InputError(f"Expected {name} to be at least {least}, got {getattr(self, name)}.")
        for name in ("budget", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"Expected {name} to be above 0, got {getattr(self, name)}.")
        for layer in self.targets or ():
            mx.layer_index(layer)


@dataclass(frozen=True)
class Fit:
    """A task: one method with some settings on the split of a seed, to tune it or to test it."""

    method: str
    seed: int
    settings: str  # JSON
    tuning: bool

    @property
    def key(self) -> str:
        """The key of the task."""
        return f"{self.method}, seed {self.seed}, {'tuning' if self.tuning else 'test'}, {self.settings}"


def compare(
    mx: Multiplex,
    methods: Iterable[str | Method] | None = None,
    *,
    plan: Plan | None = None,
    fixed: FixedSplit | None = None,
    engine: str = "processes",
    jobs: int | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> list[Row]:
    """Tune, fit and test methods on the same splits; return the rows of all test fits.

    Parameters
    ----------
    mx
        The full multiplex.
    methods
        Names (see `find_methods`), or methods of your own. None: all.
    plan
        The conditions; None: those of `Plan()`.
    fixed
        A split that comes with the data: `valid` is for tuning, and seeds are those of the methods only.
    engine, jobs
        Where fits run, and how many at a time; see `banditplex.jobs.engine.run_tasks`. Each runs in a process of its
        own.
    folder, resume
        A folder for the rows. With `resume`, finished fits are not repeated, and methods may be added.
    on_progress
        Called as on_progress(done, total, rows) after each fit.

    Rows are those of `evaluate` with trial = seed and fold 0, with random_mrr, hard_mrr and so on, memory (bytes),
    parameters and settings (JSON). A method that failed with a seed has one row with an `error` instead.
    """
    plan = plan or Plan()
    plan.check(mx)
    chosen = {each.name: each for each in _as_methods(methods)}
    if not chosen:
        raise InputError("Expected at least one method, got none.")
    opener = None if folder is None else partial(open_store, Path(folder), describe(plan, mx, fixed))
    bench = Bench(chosen, Parts(mx, plan.hide, fixed), plan)
    run = _Runner(bench, opener, resume, engine, jobs, on_progress, _most_fits(chosen.values(), plan))
    try:
        trials = {name: method.trials(plan.trials) for name, method in chosen.items()}
        best = _tune(trials, plan.seeds, run)
        tests = [Fit(*place, as_text(settings), False) for place, (settings, _) in best.items() if settings is not None]
        failed = [
            _failure(Fit(*place, "{}", False), error) for place, (settings, error) in best.items() if settings is None
        ]
        return [row for rows in run(tests).values() for row in rows] + failed
    finally:
        stop_child()


def describe(plan: Plan, mx: Multiplex, fixed: FixedSplit | None = None) -> dict[str, Any]:
    """Return what all rows depend on, besides the methods."""
    extra = {} if fixed is None else {"fixed_split": {"test": len(fixed.test.label), "valid": len(fixed.valid.label)}}
    return {**asdict(plan), **extra, "data": describe_data(mx)}


def as_text(settings: Mapping[str, Any]) -> str:
    """Return settings as JSON; what JSON does not know is shown as text."""
    return json.dumps(settings, sort_keys=True, default=str)


class Bench:
    """The function of a `Fit`: runs it in a child process, and turns a failure into a row."""

    def __init__(self, methods: Mapping[str, Method], parts: Parts, plan: Plan) -> None:
        self.plan, self.methods, self._parts = plan, dict(methods), parts
        self._last: tuple[tuple[int, bool], Part] | None = None

    def __call__(self, fit: Fit) -> list[Row]:
        """Return the rows of a fit; one row if it is for tuning, or fails."""
        plan, method = self.plan, self.methods[fit.method]
        settings = next(each for each in method.trials(plan.trials) if as_text(each) == fit.settings)
        part = self._part(fit)
        names = plan.targets or part.test.train.layer_names
        job = Job(fit.key, method, settings, fit.seed, part, names, plan.budget, plan.memory * GIGABYTE)
        outcome = alone(measure, job, at_most=2 * PATIENCE * plan.budget + START_SECONDS)
        if outcome.error is not None:
            return [_failure(fit, self._explain(outcome.error))]
        rows = [_about(fit) | row for row in json.loads(outcome.rows)]
        return [row for row in rows if row["scope"] == "mean"] if fit.tuning else rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def _part(self, fit: Fit) -> Part:
        """Return the split of a fit; the last one is kept, as the next fit often has the same."""
        if self._last is None or self._last[0] != (fit.seed, fit.tuning):
            make = self._parts.for_tuning if fit.tuning else self._parts.for_test
            self._last = (fit.seed, fit.tuning), make(fit.seed)
        return self._last[1]

    def _explain(self, error: str) -> str:
        """Return an error in one line, with the limit that was exceeded."""
        limits = {"out of time": f"{self.plan.budget:g} s", "out of memory": f"{self.plan.memory:g} GB"}
        return f"{error} ({limits[error]})" if error in REASONS.values() else " ".join(error.split())


class _Runner:
    """Runs fits, and counts them over all stages; each opens the row file anew, as its predecessor has closed it."""

    def __init__(
        self,
        bench: Bench,
        opener: Callable[..., RowStore] | None,
        resume: bool,
        engine: str,
        jobs: int | None,
        tell: Progress | None,
        total: int,
    ) -> None:
        self._bench, self._opener, self._resume = bench, opener, resume
        self._engine, self._jobs, self._tell = engine, jobs, tell
        self._done, self.total = 0, total
        self._seconds: dict[str, float] = {}

    def __call__(self, fits: Sequence[Fit]) -> dict[Fit, list[Row]]:
        """Return the rows of fits, in the order of the fits."""
        by_key, found = {fit.key: fit for fit in self._longest_first(fits)}, {}
        store = None if self._opener is None else self._opener(resume=self._resume)
        self._resume = True
        finished = run_tasks(self._bench, by_key.values(), engine=self._engine, jobs=self._jobs, store=store)
        with closing(finished):
            for key, rows in finished:
                found[by_key[key]] = rows
                seconds = rows[-1].get("fit_seconds", self._bench.plan.budget)
                self._seconds[by_key[key].method] = max(seconds, self._seconds.get(by_key[key].method, 0.0))
                self._done += 1
                if self._tell is not None:
                    self._tell(self._done, max(self.total, self._done), rows)
        return {fit: found[fit] for fit in fits}

    def _longest_first(self, fits: Sequence[Fit]) -> list[Fit]:
        """Return fits in the order of their methods' time so far, so that no long one is left for the end.

        Methods that have not been fitted yet come first, of them those that learn in epochs.
        """

        def rank(fit: Fit) -> tuple[float, bool]:
            return -self._seconds.get(fit.method, math.inf), not self._bench.methods[fit.method].learns_in_epochs

        return sorted(fits, key=rank)


Best = dict[tuple[str, int], tuple[Settings | None, str]]


def _tune(trials: Mapping[str, list[Settings]], seeds: int, run: _Runner) -> Best:
    """Return the settings with the best validation score, for each method and seed; None and an error if all failed.

    Methods with a single trial are not fitted. A method that fails in the first trials is not tried further.
    """
    scores: dict[tuple[str, int], list[tuple[float, Settings]]] = {}
    errors: dict[tuple[str, int], str] = {}

    def try_some(some: Callable[[str, int], list[Settings]]) -> None:
        fits = {
            Fit(name, seed, as_text(settings), True): settings
            for seed in range(seeds)
            for name in trials
            for settings in some(name, seed)
        }
        for fit, rows in run(list(fits)).items():
            place, row = (fit.method, fit.seed), rows[0]
            if row.get("error") is None:
                scores.setdefault(place, []).append((row[TUNED_FOR], fits[fit]))
            else:
                errors.setdefault(place, row["error"])

    try_some(lambda name, seed: trials[name][:FIRST_TRIALS] if len(trials[name]) > 1 else [])
    skipped = sum(len(trials[name]) - FIRST_TRIALS + 1 for name, seed in errors if (name, seed) not in scores)
    run.total -= skipped
    try_some(lambda name, seed: trials[name][FIRST_TRIALS:] if (name, seed) in scores else [])
    best: Best = {}
    for place in ((name, seed) for seed in range(seeds) for name in trials):
        if place in scores:
            best[place] = max(scores[place], key=lambda each: each[0])[1], ""  # the first of the best
        else:
            best[place] = (None, errors[place]) if place in errors else ({}, "")
    return best


def _most_fits(methods: Iterable[Method], plan: Plan) -> int:
    """Return how many fits there are if none fails."""
    trials = [len(each.trials(plan.trials)) for each in methods]
    return plan.seeds * sum(1 + (count if count > 1 else 0) for count in trials)


def _about(fit: Fit) -> Row:
    return {"method": fit.method, "trial": fit.seed, "fold": 0, "tuning": fit.tuning, "settings": fit.settings}


def _failure(fit: Fit, error: str) -> Row:
    return _about(fit) | {"scope": "none", "error": error}


def _as_methods(methods: Iterable[str | Method] | None) -> Iterator[Method]:
    if methods is None:
        yield from choose_methods()
        return
    for each in methods:
        yield from [each] if isinstance(each, Method) else choose_methods([each])
