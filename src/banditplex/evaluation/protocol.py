"""`evaluate`: trials x folds of any scorers on the same splits, as rows."""

import copy
import json
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.evaluation.metrics import AT, evaluate_layers
from banditplex.evaluation.split import NEGATIVES, Split, k_fold
from banditplex.jobs.engine import Finished, check_engine, outcomes
from banditplex.jobs.results import Row, RowStore, describe_data
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility
from banditplex.rng import stream
from banditplex.scorer import LinkScorer

Progress = Callable[[int, int, list[Row]], Any]
METRICS = ("accuracy", "roc_auc", "average_precision", "f1", "mrr", *(f"hits_at_{cut}" for cut in AT))
TRAIN_EDGES = 5
"""A layer is asked about in a fold where at least so many of its edges are left to learn from."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked of every scorer."""

    hide: str
    trials: int
    folds: int
    seed: int
    negatives: str
    each: int | None
    metrics: tuple[str, ...]
    threshold: float | None
    targets: tuple[Name, ...]


@dataclass(frozen=True)
class Run:
    """One training and one test: a fold of a trial, and the method that is put to it."""

    trial: int
    fold: int
    method: str

    @property
    def key(self) -> str:
        """The name of the run."""
        return f"trial {self.trial}, fold {self.fold}, {self.method}"


def evaluate(
    scorer: LinkScorer | Mapping[str, LinkScorer],
    mx: Multiplex,
    *,
    hide: str,
    trials: int = 10,
    folds: int = 5,
    seed: int = 0,
    metrics: Sequence[str] = METRICS,
    negatives: str = "uniform",
    each: int | None = None,
    threshold: float | None = 0.0,
    targets: Sequence[Name] | None = None,
    engine: str = "processes",
    jobs: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> Iterator[Row]:
    """Train and test scorers on the same splits: `trials` times `folds`-fold cross validation.

    Parameters
    ----------
    scorer
        Anything with `fit` and `score_pairs`, not fitted, or several under names of yours. Each run has a fresh copy; a
        parameter `seed` is set anew for it, and a parameter `hide` that is None to what is hidden. `fit` is given the
        training graph alone. If there is a `check_settings`, it is called as check_settings(mx, targets) before all
        runs, on a copy of its own, to refuse what `fit` would.
    mx
        The full multiplex.
    hide
        "layer": a held-out pair is removed from its own layer and stays visible where else it is an edge. "pair": it is
        removed from every layer. There is no default: the two answer different questions.
    trials, folds, seed
        Each trial deals the edges out anew. The same seed gives the same splits, and rows, on every engine.
    metrics
        Names out of accuracy, roc_auc, average_precision, f1, mrr, hits_at_1, hits_at_10, hits_at_50.
    negatives, each
        "uniform", "degree" or "hard" pairs without an edge, and how many each positive has of its own for ranking;
        see `k_fold`.
    threshold
        What a score must exceed to be called a link, in accuracy and f1: 0 for logits. None: as many pairs are called
        links as there are, which is fair to scores of any scale.
    targets
        Layers to predict links in; None = every layer with enough edges.
    engine, jobs
        "processes" (default), "serial" or "ray", and how many runs at a time; see `banditplex.jobs.engine.run`.
    out, resume
        A file for the rows, JSON lines, which must not exist; with `resume`, a file whose finished runs are not run
        again. `read_results` reads it.
    on_progress
        Called as on_progress(done, total, rows) after each run, with its rows.

    Yields rows: method, trial, fold; scope "layer" (with the name in `layer`), "pooled" (the pairs of all layers in one
    pot) or "mean" (over layers); the metrics; train_edges and test_edges, pairs that were there to learn from and that
    were held out; fit_seconds and score_seconds of the run.

    >>> from banditplex import LinkPredictor, planted
    >>> mx = planted(3, 1, 0.8, num_nodes=30, edges_per_layer=40, communities=3)
    >>> model = LinkPredictor(epochs=1, width=0)
    >>> rows = list(evaluate(model, mx, hide="pair", trials=1, folds=2, engine="serial"))
    >>> [row["layer"] for row in rows if row["fold"] == 0 and row["scope"] == "layer"]
    ['g1-base', 'g1-copy1', 'noise1']
    >>> len(rows)  # 2 folds: 3 layers, pooled, mean
    10
    """
    scorers = _by_name(scorer)
    check_engine(engine, jobs)
    plan = Plan(
        hide=hide, trials=trials, folds=folds, seed=seed, negatives=negatives, each=each, metrics=tuple(metrics),
        threshold=threshold, targets=_choose_targets(mx, targets, folds),
    )  # fmt: skip
    _check(plan, scorers, mx)
    runs = [Run(trial, index, name) for trial in range(trials) for index in range(folds) for name in scorers]
    store = None if out is None else RowStore(out, describe(plan, scorers, mx), resume=resume)
    finished = outcomes(Judge(plan, scorers, mx), runs, engine=engine, jobs=jobs, store=store)
    return _yield_rows(finished, len(runs), on_progress)


def _yield_rows(finished: Generator[Finished], total: int, on_progress: Progress | None) -> Iterator[Row]:
    with closing(finished):
        for done, (_, rows) in enumerate(finished, 1):
            if on_progress is not None:
                on_progress(done, total, rows)
            yield from rows


# A run


class Judge:
    """Puts methods to the test, one run at a time; the split of the last run is kept, as the next often shares it."""

    def __init__(self, plan: Plan, scorers: Mapping[str, LinkScorer], mx: Multiplex) -> None:
        self._plan, self._scorers, self._mx = plan, dict(scorers), mx
        self._last: tuple[tuple[int, int], Split] | None = None

    def __call__(self, run: Run) -> list[Row]:
        """Return the rows of a run: one per layer, one pooled and one mean."""
        parts = self._split(run.trial, run.fold)
        asked = _askable(parts, self._plan.targets)
        seed = int(stream(self._plan.seed, "scorer", run.trial, run.fold).integers(2**31))
        scorer = fresh(self._scorers[run.method], seed, self._plan.hide)
        began = perf_counter()
        scorer.fit(parts.train, targets=asked)
        fitted = perf_counter()
        judged = _judge(scorer, parts, asked, self._plan)
        spent = {"fit_seconds": fitted - began, "score_seconds": perf_counter() - fitted}
        head = {"method": run.method, "trial": run.trial, "fold": run.fold}
        return [head | row | spent for row in judged]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def _split(self, trial: int, index: int) -> Split:
        if self._last is None or self._last[0] != (trial, index):
            plan = self._plan
            seed = int(stream(plan.seed, "trial", trial).integers(2**31))
            (parts,) = k_fold(
                self._mx, hide=plan.hide, folds=plan.folds, seed=seed, negatives=plan.negatives, each=plan.each,
                only=index,
            )  # fmt: skip
            parts.check(self._mx)
            self._last = (trial, index), parts
        return self._last[1]


def fresh(scorer: LinkScorer, seed: int, hide: str) -> Any:
    """Return a copy of a scorer that has learnt nothing, told its seed, and what is hidden if it leaves that open."""
    if not hasattr(scorer, "get_params"):
        return copy.deepcopy(scorer)
    from sklearn.base import clone

    made = clone(scorer)
    asked = made.get_params(deep=False)
    told = ({"seed": seed} if "seed" in asked else {}) | ({"hide": hide} if asked.get("hide", "") is None else {})
    return made.set_params(**told)


def _askable(parts: Split, targets: Sequence[Name]) -> list[Name]:
    """Return the targets that have edges to learn from, and test pairs, in this split."""
    asked = [name for name in targets if _num_pairs(parts.train, name) >= TRAIN_EDGES and len(parts.test(name)[0])]
    if not asked:
        raise InputError(f"Expected a layer with {TRAIN_EDGES} edges to learn from and one to test on, got none.")
    return asked


def _judge(scorer: LinkScorer, parts: Split, asked: Sequence[Name], plan: Plan) -> list[Row]:
    """Return a row of metrics for each layer, pooled, and on average."""
    names = parts.train.node_names
    index, label, score, own = [], [], [], []

    def scored(pairs: NDArray[np.int64], layer: Name) -> NDArray[np.float64]:
        return np.asarray(scorer.score_pairs(names[pairs], layer), np.float64)

    for layer in asked:
        pairs, truth = parts.test(layer)
        index.append(np.full(len(pairs), parts.train.layer_index(layer)))
        label.append(truth)
        score.append(scored(pairs, layer))
        if parts.negatives is not None:
            _, against = parts.ranking(layer)
            own.append(scored(against.reshape(-1, 2), layer).reshape(against.shape[:2]))
    found = evaluate_layers(
        np.concatenate(index), np.concatenate(label), np.concatenate(score), names=parts.train.layer_names,
        negatives=np.concatenate(own) if own else None, threshold=plan.threshold,
    )  # fmt: skip
    train = {name: _num_pairs(parts.train, name) for name in asked}
    test = {name: int(truth.sum()) for name, truth in zip(asked, label, strict=True)}
    total = {"train_edges": sum(train.values()), "test_edges": sum(test.values())}
    rows: list[Row] = [
        {"scope": "layer", "layer": name, **found.layers[name], "train_edges": train[name], "test_edges": test[name]}
        for name in asked
    ]
    rows += [{"scope": "pooled", "layer": None, **found.pooled, **total}]
    rows += [{"scope": "mean", "layer": None, **found.mean, **total}]
    unwanted = set(METRICS) - set(plan.metrics)
    return [{name: value for name, value in row.items() if name not in unwanted} for row in rows]


# What may be asked


def _check(plan: Plan, scorers: Mapping[str, Any], mx: Multiplex) -> None:
    Visibility.of_split(plan.hide, mx)  # refuses what no split hides
    if plan.negatives not in NEGATIVES:
        raise InputError(f"Expected negatives to be one of {', '.join(NEGATIVES)}, got {plan.negatives!r}.")
    if plan.trials < 1:
        raise InputError(f"Expected at least 1 trial, got {plan.trials}.")
    unknown = [name for name in plan.metrics if name not in METRICS]
    if unknown or not plan.metrics:
        raise InputError(f"Expected metrics among {', '.join(METRICS)}, got {unknown[0] if unknown else 'none'}.")
    if not scorers:
        raise InputError("Expected at least one scorer, got none.")
    for name, scorer in scorers.items():
        if isinstance(scorer, type):
            raise InputError(f"Expected a scorer, got the class {scorer.__name__}: write {scorer.__name__}().")
        if not isinstance(scorer, LinkScorer):
            raise InputError(f"Expected a scorer with fit and score_pairs, got {type(scorer).__name__} as {name!r}.")
        if hasattr(scorer, "check_settings"):
            made = fresh(scorer, plan.seed, plan.hide)  # a copy, which takes nothing of it into the runs
            made.check_settings(mx, plan.targets)


def _by_name(scorer: LinkScorer | Mapping[str, LinkScorer]) -> dict[str, LinkScorer]:
    if isinstance(scorer, LinkScorer):
        return {type(scorer).__name__: scorer}
    if not isinstance(scorer, Mapping):
        raise InputError(f"Expected a scorer, or a dictionary name: scorer, got {type(scorer).__name__}.")
    return dict(scorer)


def _choose_targets(mx: Multiplex, targets: Sequence[Name] | None, folds: int) -> tuple[Name, ...]:
    """Return the layers to predict links in; each can spare a pair for every fold, and has enough left."""
    if folds < 2:
        raise InputError(f"Expected at least 2 folds, got {folds}.")
    least = next(n for n in range(folds, 2 * folds + 2 * TRAIN_EDGES) if n - -(-n // folds) >= TRAIN_EDGES)
    if isinstance(targets, str):
        raise InputError(f"Expected a list of layer names as targets, got the string {targets!r}.")
    size = {name: _num_pairs(mx, name) for name in (mx.layer_names if targets is None else targets)}
    small = [name for name in size if size[name] < least]
    if small and (targets is not None or len(small) == len(size)):
        raise InputError(f"Expected at least {least} edges for {folds} folds in {small[0]!r}, got {size[small[0]]}.")
    if small:
        shown = ", ".join(map(repr, small[:5])) + (", ..." if len(small) > 5 else "")
        warnings.warn(f"Layers with fewer than {least} edges are no targets in {folds} folds: {shown}.", stacklevel=3)
    if not size:
        raise InputError("Expected at least one target layer, got none.")
    return tuple(name for name in size if name not in small)


def _num_pairs(mx: Multiplex, layer: Name) -> int:
    """Return the number of pairs of different nodes that are linked in a layer, one way or both."""
    ends = np.sort(mx.edges(layer), axis=0)
    pairs = ends[:, ends[0] != ends[1]]
    return len(np.unique(pairs[0] * mx.num_nodes + pairs[1])) if mx.directed else pairs.shape[1]


# What was asked


def describe(plan: Plan, scorers: Mapping[str, LinkScorer], mx: Multiplex) -> Row:
    """Return all that the rows depend on, as plain values."""
    methods = {name: _describe_scorer(scorer) for name, scorer in scorers.items()}
    return {**_plain(vars(plan)), "methods": methods, "data": describe_data(mx)}


def _describe_scorer(scorer: Any) -> Row:
    """Return class and parameters; not the seed, which is set for each run, and not the device: a run may move."""
    parameters = scorer.get_params(deep=False) if hasattr(scorer, "get_params") else vars(scorer)
    kept = {name: value for name, value in parameters.items() if name not in ("seed", "device")}
    return {"class": type(scorer).__name__, **_plain(kept)}


def _plain(value: Any) -> Any:
    """Return a value as JSON would hold it; functions and classes by name, other things by their kind."""

    def name(thing: Any) -> Any:
        if isinstance(thing, np.ndarray | np.generic):
            return thing.tolist()
        return getattr(thing, "__qualname__", type(thing).__name__)

    return json.loads(json.dumps(value, default=name))
