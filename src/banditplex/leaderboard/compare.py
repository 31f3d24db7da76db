"""`compare`: every method on the same splits, tuned with the same budget, each fit with the same limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.evaluation.rows import describe_data
from banditplex.evaluation.split import FixedSplit
from banditplex.jobs.limits import stop_child
from banditplex.leaderboard.fits import Bench, Fit, Progress, Runner, as_text, exceeds, failure, rows_check
from banditplex.leaderboard.methods import Method, Settings, choose_methods
from banditplex.leaderboard.plan import Parts, Plan, find_device, on_cuda
from banditplex.multiplex import Multiplex
from banditplex.storage.rows import Row, open_store

TUNED_FOR = ("filtered_mrr", "roc_auc")  # the first of these that there is on validation edges decides
FIRST_TRIALS = 2  # a method that fails in this many trials with a seed is not tried further


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
        own. On a GPU, None is one at a time.
    folder, resume
        A folder for the rows. With `resume`, finished fits are not repeated, and methods may be added.
    on_progress
        Called as on_progress(done, total, rows) after each fit.

    Rows are those of `evaluate` with trial = seed and fold 0, with random_mrr, hard_mrr and so on, memory (bytes),
    parameters and settings (JSON). A method that failed with a seed has one row with an `error` instead. A method that
    exceeded its time or memory with the first seed is not tried with others.
    """
    plan = plan or Plan()
    plan.check(mx)
    plan = replace(plan, device=find_device(plan.device, engine))
    jobs = 1 if jobs is None and on_cuda(plan.device) else jobs  # fits that share a GPU wait for each other
    named = choose_methods() if methods is None else methods
    found = [each for name in named for each in ([name] if isinstance(name, Method) else choose_methods([name]))]
    chosen = {each.name: each for each in found}
    if not chosen:
        raise InputError("Expected at least one method, got none.")
    bench = Bench(chosen, Parts(mx, plan.hide, fixed), plan)
    trials = {name: method.trials(plan.trials) for name, method in chosen.items()}
    bench.parts.split(0)  # warns of layers with few negatives, here and not in every fit
    store = None
    if folder is not None:
        check = rows_check(plan, mx, ranked=fixed is None, triples=bench.parts.triples is not None)
        store = open_store(Path(folder), describe(plan, mx, fixed), resume=resume, check=check)
    run = Runner(bench, store, engine, jobs, on_progress, _most_fits(trials, plan.seeds))
    try:
        return _fit_all(trials, plan.seeds, run)
    finally:
        stop_child()
        if store is not None:
            store.close()


def describe(plan: Plan, mx: Multiplex, fixed: FixedSplit | None = None) -> dict[str, Any]:
    """Return what all rows depend on, besides the methods."""
    extra = {} if fixed is None else {"fixed_split": {"test": len(fixed.test.label), "valid": len(fixed.valid.label)}}
    conditions = asdict(plan)
    if plan.device == "cpu":
        del conditions["device"]  # folders of earlier versions have no device, and can be resumed
    return {**conditions, **extra, "data": describe_data(mx)}


Trials = Mapping[str, list[Settings]]
Best = dict[tuple[str, int], tuple[Settings | None, str]]
Exceeded = set[tuple[str, str]]  # methods and settings (JSON) that exceeded a limit in tuning


def _fit_all(trials: Trials, seeds: int, run: Runner) -> list[Row]:
    """Return the rows of all tests; seed 0 comes first, and what exceeds a limit with it is not tried with others."""
    rows, exceeded = _tune_and_test(trials, range(1), run)
    if seeds == 1:
        return rows
    given_up = {row["method"]: f", tried with 1 of {seeds} seeds" for row in rows if exceeds(row)}
    left = {
        name: [settings for settings in some if (name, as_text(settings)) not in exceeded]
        for name, some in trials.items()
        if name not in given_up
    }
    run.total = run.done + _most_fits(left, seeds - 1)
    others, _ = _tune_and_test(left, range(1, seeds), run)
    first = [row | {"error": row["error"] + given_up[row["method"]]} if exceeds(row) else row for row in rows]
    return first + others


def _tune_and_test(trials: Trials, seeds: range, run: Runner) -> tuple[list[Row], Exceeded]:
    """Return the rows of all tests, one with an error where every trial failed, and which settings exceeded a limit."""
    best, exceeded = _tune(trials, seeds, run)
    tests = [Fit(*place, as_text(settings), False) for place, (settings, _) in best.items() if settings is not None]
    failed = [failure(Fit(*place, "{}", False), error) for place, (settings, error) in best.items() if settings is None]
    return [row for rows in run(tests).values() for row in rows] + failed, exceeded


def _tune(trials: Trials, seeds: range, run: Runner) -> tuple[Best, Exceeded]:
    """Return the settings with the best validation score, for each method and seed; None and an error if all failed.

    Methods with a single trial are not fitted. A method that fails in the first trials is not tried further.
    """
    scores: dict[tuple[str, int], list[tuple[float, Settings]]] = {}
    errors: dict[tuple[str, int], str] = {}
    exceeded: Exceeded = set()

    def try_some(some: Callable[[str, int], list[Settings]]) -> None:
        fits = {
            Fit(name, seed, as_text(settings), True): settings
            for seed in seeds
            for name in trials
            for settings in some(name, seed)
        }
        for fit, rows in run(list(fits)).items():
            place, row = (fit.method, fit.seed), rows[0]
            if row.get("error") is None:
                scores.setdefault(place, []).append((next(row[name] for name in TUNED_FOR if name in row), fits[fit]))
            else:
                errors.setdefault(place, row["error"])
            if exceeds(row):
                exceeded.add((fit.method, fit.settings))

    try_some(lambda name, seed: trials[name][:FIRST_TRIALS] if len(trials[name]) > 1 else [])
    run.total -= sum(len(trials[name]) - FIRST_TRIALS + 1 for name, seed in errors if (name, seed) not in scores)
    try_some(lambda name, seed: trials[name][FIRST_TRIALS:] if (name, seed) in scores else [])
    best: Best = {}
    for place in ((name, seed) for seed in seeds for name in trials):
        if place in scores:
            best[place] = max(scores[place], key=lambda each: each[0])[1], ""  # the first of the best
        else:
            best[place] = (None, errors[place]) if place in errors else (trials[place[0]][0], "")
    return best, exceeded


def _most_fits(trials: Trials, seeds: int) -> int:
    """Return how many fits there are if none fails."""
    return seeds * sum(1 + (len(some) if len(some) > 1 else 0) for some in trials.values())
