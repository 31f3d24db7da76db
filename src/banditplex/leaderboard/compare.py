"""`compare`: every method on the same splits, tuned with the same budget, each fit in a child process with limits."""

import inspect
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import InputError
from banditplex.evaluation.metrics import AT, FILTERED, rank_metrics, ranks
from banditplex.evaluation.protocol import Progress, copy_scorer, score_split, testable, with_filtered
from banditplex.evaluation.rows import check_rows, describe_data, metric_schema, row_schemas
from banditplex.evaluation.split import FixedSplit, Split
from banditplex.jobs.engine import run_tasks
from banditplex.jobs.limits import PATIENCE, REASONS, alone, limited, stop_child
from banditplex.leaderboard.methods import Method, Settings, choose_methods
from banditplex.leaderboard.plan import Part, Parts, Plan, find_device, on_cuda, start_device
from banditplex.multiplex import Multiplex, Name
from banditplex.schema import ANYTHING, one_of, parse, whole
from banditplex.storage.rows import Row, RowStore, open_store

TOLD_APART = ("roc_auc", "average_precision", "ap_at_50", "accuracy", "f1")
MEDIANS = ("roc_auc", "average_precision", "ap_at_50")
"""Metrics whose median over layers is told, too, as median_roc_auc and so on."""
EARLY = 0.8  # share of its time after which a method that can stop early does so
OURS_EARLY = 0.6
"""The same for our learner: what comes after its epochs, weights of its parts and calibration, takes time, too."""
RANKING = ("mrr", *(f"hits_at_{cut}" for cut in AT))


@dataclass(frozen=True)
class Job:
    """What the child process is sent: a method with settings, the data, and the plan with the limits of its fit."""

    key: str
    method: Method
    settings: Settings
    seed: int
    part: Part
    plan: Plan


def measure(job: Job) -> list[Row]:
    """Return rows of a fit: one per layer, one pooled and one mean, all with time, memory and number of parameters."""
    data, plan = job.part.test, job.plan
    seconds, memory = plan.budget, plan.memory * GIGABYTE
    targets = testable(data, plan.targets or data.train.layer_names)
    scorer = limit(copy_scorer(job.method.make(**job.settings), job.seed, data.hide), plan.device, seconds)
    start_device(plan.device)
    in_epochs = "on_epoch" in inspect.signature(scorer.fit).parameters
    most = seconds * (OURS_EARLY if job.method.ours else EARLY)
    with limited(seconds, memory) as fitted:
        early = {"on_epoch": lambda *_: fitted.elapsed() > most} if in_epochs else {}
        scorer.fit(data.train, targets=targets, **early)
    with limited(seconds, memory, before=fitted.before) as scored:
        rows = score_split(scorer, data, targets, metrics=TOLD_APART, threshold=None)
        if job.part.triples is not None:
            rows = with_filtered(rows, scorer, job.part.triples, targets, job.part.name)
        rankings = {name: rank_split(scorer, part, targets) for name, part in job.part.ranked.items()}
    told = getattr(scorer, "num_parameters_", None)
    took: Row = {"fit_seconds": fitted.seconds, "score_seconds": scored.seconds}
    took |= {"parameters": None if told is None else int(told), "memory": max(fitted.memory, scored.memory)}
    return [row | _columns(row, rows, rankings) | took for row in rows]


def limit(scorer: Any, device: str, seconds: float) -> Any:
    """Set the parameter `device`, and `time_limit` if that is None to a little less, of a scorer that has them."""
    known = scorer.get_params(deep=False) if hasattr(scorer, "get_params") else {}
    values = {"device": device, "time_limit": EARLY * seconds if known.get("time_limit", 0) is None else None}
    wanted = {name: value for name, value in values.items() if name in known and value is not None}
    return scorer.set_params(**wanted) if wanted else scorer


def rank_split(scorer: Any, part: Split, targets: list[Name]) -> dict[Name, dict[str, float]]:
    """Return MRR and Hits of the edges of each layer among their own negatives."""
    names, found = part.train.node_names, {}
    for layer in targets:
        pairs, negatives = part.ranking(layer)
        if len(pairs):
            others = scorer.score_pairs(names[negatives.reshape(-1, 2)], layer)
            rank = ranks(scorer.score_pairs(names[pairs], layer), np.reshape(others, negatives.shape[:2]))
            found[layer] = rank_metrics(rank, AT, negatives.shape[1])
    return found


def _columns(row: Row, rows: list[Row], rankings: dict[str, dict[Name, dict[str, float]]]) -> Row:
    """Return more metrics of a row: rankings of its layer, or means and medians over layers; pooled rows have none."""
    columns: Row = {}
    if row["scope"] == "mean":
        layers = [each for each in rows if each["scope"] == "layer"]
        columns = {f"median_{name}": float(np.median([each[name] for each in layers])) for name in MEDIANS}
    for name, by_layer in rankings.items():
        for metric in RANKING:
            if row["scope"] == "mean" and by_layer:
                columns[f"{name}_{metric}"] = float(np.mean([each[metric] for each in by_layer.values()]))
            elif row["scope"] == "layer" and row["layer"] in by_layer:
                columns[f"{name}_{metric}"] = by_layer[row["layer"]][metric]
    return columns


START_SECONDS = 120.0  # what a child process may need besides the limits: to start, and to receive the data
GIGABYTE = 10**9


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


def as_text(settings: Mapping[str, Any]) -> str:
    """Return settings as JSON; what JSON does not know is shown as text."""
    return json.dumps(settings, sort_keys=True, default=str)


class Bench:
    """The function of a `Fit`: runs it in a child process, and turns a failure into a row."""

    def __init__(self, methods: Mapping[str, Method], parts: Parts, plan: Plan) -> None:
        self.plan, self.methods, self.parts = plan, dict(methods), parts
        self._last: tuple[tuple[int, bool], Part] | None = None

    def __call__(self, fit: Fit) -> list[Row]:
        """Return the rows of a fit; one row if it is for tuning, or fails."""
        plan, method = self.plan, self.methods[fit.method]
        settings = next(each for each in method.trials(plan.trials) if as_text(each) == fit.settings)
        job = Job(fit.key, method, settings, fit.seed, self._part(fit), plan)
        outcome = alone(measure, job, at_most=2 * PATIENCE * plan.budget + START_SECONDS)
        if outcome.error is not None:
            limits = {"out of time": f"{plan.budget:g} s", "out of memory": f"{plan.memory:g} GB"}
            exceeded = outcome.error in REASONS.values()
            told = f"{outcome.error} ({limits[outcome.error]})" if exceeded else " ".join(outcome.error.split())
            return [failure(fit, told)]
        rows = [_about(fit) | row for row in json.loads(outcome.rows)]
        return [row for row in rows if row["scope"] == "mean"] if fit.tuning else rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def _part(self, fit: Fit) -> Part:
        """Return the split of a fit; the last one is kept, as the next fit often has the same."""
        if self._last is None or self._last[0] != (fit.seed, fit.tuning):
            make = self.parts.for_tuning if fit.tuning else self.parts.for_test
            with warnings.catch_warnings(action="ignore"):  # `compare` has told which layers have few negatives
                self._last = (fit.seed, fit.tuning), make(fit.seed)
        return self._last[1]


def _about(fit: Fit) -> Row:
    return {"method": fit.method, "trial": fit.seed, "fold": 0, "tuning": fit.tuning, "settings": fit.settings}


def failure(fit: Fit, error: str) -> Row:
    """Return the only row of a fit that failed."""
    return _about(fit) | {"scope": "none", "error": error}


def exceeds(row: Row) -> bool:
    """Return whether a row says that a limit was exceeded."""
    return str(row.get("error") or "").startswith(tuple(REASONS.values()))


def rows_check(plan: Plan, mx: Multiplex, *, ranked: bool, triples: bool = False) -> Callable[[str, list[Row]], None]:
    """Return the check of rows that are read from a result file: they are those of the fit with that key."""
    head = {"method": str, "trial": whole(0, plan.seeds - 1), "fold": one_of(0), "tuning": bool, "settings": str}
    measured = {
        **metric_schema((*TOLD_APART, *(FILTERED if triples else ()))),
        "memory": whole(),
        "parameters": (type(None), whole()),
    }
    test = row_schemas(head, measured, plan.targets or mx.layer_names)
    test["mean"] = test["mean"] | metric_schema(f"median_{name}" for name in MEDIANS)
    failed = {**head, "scope": str, "error": str}
    tuning = {"mean": test["mean"], "none": failed}
    rankings = metric_schema(f"{kind}_{name}" for kind in ("random", "hard") for name in RANKING) if ranked else {}
    test = {"layer": test["layer"] | rankings, "pooled": test["pooled"], "mean": test["mean"] | rankings}

    def check(key: str, rows: list[Row]) -> None:
        if rows and rows[0].get("tuning") is True:
            check_rows(rows, tuning, alone=("mean", "none"))
        else:
            check_rows(rows, {**test, "none": failed}, alone=("none",))
        for row in rows:
            parse(row["settings"], {"*": ANYTHING}, what="settings")
            found = Fit(row["method"], row["trial"], row["settings"], row["tuning"]).key
            if found != key:
                raise InputError(f"Expected rows of {key!r}, got rows of {found!r}.")

    return check


class Runner:
    """Runs fits, and counts those that are `done` over all stages, of a `total` that is expected."""

    def __init__(
        self, bench: Bench, store: RowStore | None, engine: str, jobs: int | None, tell: Progress | None, total: int
    ) -> None:
        self._bench, self._store, self._tell = bench, store, tell
        self._engine, self._jobs = engine, jobs
        self.done, self.total = 0, total
        self._seconds: dict[str, float] = {}

    def __call__(self, fits: Sequence[Fit]) -> dict[Fit, list[Row]]:
        """Return the rows of fits, in the order of the fits.

        They run by seed, as the next one then often has the same split, and the longest first: by their methods' time
        so far. Methods that have not been fitted yet come first, of them those that learn in epochs.
        """

        def rank(fit: Fit) -> tuple[int, float, bool]:
            longest = -self._seconds.get(fit.method, math.inf)
            return fit.seed, longest, not self._bench.methods[fit.method].learns_in_epochs

        by_key, found = {fit.key: fit for fit in sorted(fits, key=rank)}, {}
        finished = run_tasks(self._bench, by_key.values(), engine=self._engine, jobs=self._jobs, store=self._store)
        with closing(finished):
            for key, rows in finished:
                found[by_key[key]] = rows
                seconds = rows[-1].get("fit_seconds", self._bench.plan.budget)
                self._seconds[by_key[key].method] = max(seconds, self._seconds.get(by_key[key].method, 0.0))
                self.done += 1
                if self._tell is not None:
                    self._tell(self.done, max(self.total, self.done), rows)
        return {fit: found[fit] for fit in fits}


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
    return {**asdict(plan), **extra, "data": describe_data(mx)}


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
