"""`evaluate`: repeated cross-validation of several methods on the same splits."""

import copy
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from banditplex.arrays import Floats, Ints
from banditplex.errors import InputError
from banditplex.evaluation.metrics import AT, FILTERED, evaluate_layers, filtered_ranking, finite
from banditplex.evaluation.rows import check_rows, describe_data, metric_schema, row_schemas
from banditplex.evaluation.split import FixedSplit, Split, check_options, k_fold, temporal_split
from banditplex.jobs.engine import check_engine, run_tasks
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import HIDE
from banditplex.registry import check_choice
from banditplex.rng import stream
from banditplex.schema import whole
from banditplex.scorer import LinkScorer
from banditplex.storage.rows import Row, RowStore

Progress = Callable[[int, int, list[Row]], Any]
METRICS = ("accuracy", "roc_auc", "average_precision", "ap_at_50", "f1", "mrr", *(f"hits_at_{cut}" for cut in AT))
MIN_TRAIN_EDGES = 5  # a layer is tested in a fold if at least so many of its edges are left for training


@dataclass(frozen=True, kw_only=True)
class EvaluationProtocol:
    """The settings of an evaluation, the same for every method. They are stored in result files."""

    hide: str
    trials: int
    folds: int
    seed: int
    negatives: str
    each: int | None
    metrics: tuple[str, ...]
    threshold: float | None
    targets: tuple[Name, ...]
    after: Any = None
    fixed: tuple[int, int] | None = None  # sizes of a split that came with the data, valid and test


@dataclass(frozen=True)
class Run:
    """A task: fit and test one method on one fold of a trial."""

    trial: int
    fold: int
    method: str

    @property
    def key(self) -> str:
        """The key of the task."""
        return f"trial {self.trial}, fold {self.fold}, {self.method}"


def evaluate(
    scorer: LinkScorer | Mapping[str, LinkScorer],
    mx: Multiplex | FixedSplit,
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
    after: Any = None,
    engine: str = "processes",
    jobs: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> Iterator[Row]:
    """Fit and test methods on the same splits: `trials` repetitions of `folds`-fold cross-validation.

    Parameters
    ----------
    scorer
        An unfitted object with `fit` and `score_pairs`, or a dictionary of several by name. Each run fits a copy, on
        the training graph only. `evaluate` sets the parameters `seed`, and `hide` if it is None, of methods that have
        them. If a method has `check_settings`, it is called as check_settings(mx, targets) before the first run, on
        another copy, and may raise an error.
    mx
        The full multiplex; or a split that comes with the data (`fixed_split`), instead of folds. Trials then differ
        in the seeds of methods. If it is one of triples, rows also have filtered_mrr, filtered_hits_at_1,
        filtered_hits_at_3 and filtered_hits_at_10: see `filtered_ranking`. In the row of means, these are means over
        edges, as in print.
    hide
        "layer": a held-out pair is removed from its own layer and stays visible in other layers. "pair": it is removed
        from every layer. There is no default: the two answer different questions. With a split that comes with the
        data, it is what methods hide of a pair, and may be "edge".
    trials, folds, seed
        Each trial assigns edges to folds at random. The same seed gives the same splits and rows, with every engine.
    metrics
        Any of accuracy, roc_auc, average_precision, ap_at_50, f1, mrr, hits_at_1, hits_at_10, hits_at_50.
    negatives, each
        "uniform", "degree" or "hard" test negatives, and the number of negatives that each positive is ranked against.
        See `split`.
    threshold
        Scores above it are predicted edges, in accuracy and f1: 0 for logits. None: as many pairs are predicted edges
        as there are edges, which suits scores of any scale.
    targets
        Layers to predict links in; None: every layer with enough edges.
    after
        A time or date: train on the edges up to it, and test on later ones (`temporal_split`) instead of folds. Trials
        then differ in the seeds of methods and negatives.
    engine, jobs
        "processes" (default), "serial" or "ray", and the number of parallel runs; see `jobs.engine.run_tasks`.
    out, resume
        A file for the rows (JSON Lines), which must not exist. With `resume`, an existing file is continued: finished
        runs are not repeated. Read it with `read_results`.
    on_progress
        Called as on_progress(done, total, rows) after each run, with its rows.

    Yields rows with method, trial and fold; scope "layer" (its name is in `layer`), "pooled" (the pairs of all layers
    together) or "mean" (over layers); the metrics; train_edges and test_edges, the numbers of pairs for training and
    held out; fit_seconds and score_seconds of the run.

    >>> from banditplex import LinkPredictor, planted
    >>> mx = planted(3, 1, 0.8, num_nodes=30, edges_per_layer=40, communities=3)
    >>> model = LinkPredictor(epochs=1, width=0)
    >>> rows = list(evaluate(model, mx, hide="pair", trials=1, folds=2, engine="serial"))
    >>> [row["layer"] for row in rows if row["fold"] == 0 and row["scope"] == "layer"]
    ['g1-base', 'g1-copy1', 'noise1']
    >>> len(rows)  # 2 folds: 3 layers, pooled, mean
    10
    """
    scorers: Any = {type(scorer).__name__: scorer} if isinstance(scorer, LinkScorer) else scorer
    if not isinstance(scorers, Mapping):
        raise InputError(f"Expected a scorer, or a dictionary of scorers by name, got {type(scorer).__name__}.")
    check_engine(engine, jobs)
    fixed, mx = (mx, mx.test.train) if isinstance(mx, FixedSplit) else (None, mx)
    folds = folds if after is None and fixed is None else 1
    metrics = (*metrics, *(FILTERED if fixed is not None and fixed.of_triples else ()))
    if fixed is None:
        more = {"folds": folds} if after is None else {}
        check_options(mx, hide, negatives=negatives, each=each, **more)
        chosen = _choose_targets(mx, targets, max(folds, 2))
    else:
        check_choice("hide", hide, HIDE)
        if after is not None:
            raise InputError(f"Expected no `after` with a split that comes with the data, got {after!r}.")
        chosen = tuple(testable(fixed.test, mx.layer_names if targets is None else targets))
    protocol = EvaluationProtocol(
        hide=hide, trials=trials, folds=folds, seed=seed, negatives=negatives, each=each,
        metrics=metrics, threshold=threshold, targets=chosen, after=after,
        fixed=None if fixed is None else (len(fixed.valid.label), len(fixed.test.label)),
    )  # fmt: skip
    _check_protocol(protocol, scorers, mx)
    if fixed is None and trials > 0:
        _make_split(protocol, mx, 0, None)  # warns of layers with few negatives, here and not in every run
    runs = [Run(trial, index, name) for trial in range(trials) for index in range(folds) for name in scorers]
    store = None
    if out is not None:
        store = RowStore(out, _describe_protocol(protocol, scorers, mx), resume=resume, check=_rows_check(protocol))
    finished = run_tasks(Evaluator(protocol, scorers, fixed or mx), runs, engine=engine, jobs=jobs, store=store)

    def yield_rows() -> Iterator[Row]:
        with nullcontext() if store is None else closing(store), closing(finished):
            for done, (_, rows) in enumerate(finished, 1):
                if on_progress is not None:
                    on_progress(done, len(runs), rows)
                yield from rows

    return yield_rows()


def _rows_check(protocol: EvaluationProtocol) -> Callable[[str, list[Row]], None]:
    """Return the check of rows that are read from a result file: they are those of the task with that key."""
    head = {"method": str, "trial": whole(0, protocol.trials - 1), "fold": whole(0, protocol.folds - 1)}
    schemas = row_schemas(head, metric_schema(protocol.metrics), protocol.targets)

    def check(key: str, rows: list[Row]) -> None:
        check_rows(rows, schemas)
        for row in rows:
            found = Run(row["trial"], row["fold"], row["method"]).key
            if found != key:
                raise InputError(f"Expected rows of {key!r}, got rows of {found!r}.")

    return check


class Evaluator:
    """The function of a `Run`. It caches the last split, which the next run often shares."""

    def __init__(
        self, protocol: EvaluationProtocol, scorers: Mapping[str, LinkScorer], data: Multiplex | FixedSplit
    ) -> None:
        self._protocol, self._scorers, self._data = protocol, dict(scorers), data
        self._cache: tuple[tuple[int, int], Split] | None = None

    def __call__(self, run: Run) -> list[Row]:
        """Return the rows of a run: one per layer, one pooled and one mean."""
        fixed = self._data if isinstance(self._data, FixedSplit) else None
        fold = self._split(run.trial, run.fold) if fixed is None else fixed.test
        targets = testable(fold, self._protocol.targets)
        seed = int(stream(self._protocol.seed, "scorer", run.trial, run.fold).integers(2**31))
        scorer = copy_scorer(self._scorers[run.method], seed, self._protocol.hide)
        began = perf_counter()
        scorer.fit(fold.train, targets=targets)
        fitted = perf_counter()
        rows = score_split(scorer, fold, targets, metrics=self._protocol.metrics, threshold=self._protocol.threshold)
        if fixed is not None and fixed.of_triples:
            rows = with_filtered(rows, scorer, fixed, targets)
        seconds = {"fit_seconds": fitted - began, "score_seconds": perf_counter() - fitted}
        head = {"method": run.method, "trial": run.trial, "fold": run.fold}
        return [head | row | seconds for row in rows]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_cache": None}

    def _split(self, trial: int, index: int) -> Split:
        assert isinstance(self._data, Multiplex)
        if self._cache is None or self._cache[0] != (trial, index):
            with warnings.catch_warnings(action="ignore"):  # `evaluate` has told it
                fold = next(_make_split(self._protocol, self._data, trial, index))
            fold.check(self._data if self._protocol.after is None else None)
            self._cache = (trial, index), fold
        return self._cache[1]


def _make_split(protocol: EvaluationProtocol, mx: Multiplex, trial: int, index: int | None) -> Iterator[Split]:
    """Return the splits of a trial, or only that of one fold."""
    seed = int(stream(protocol.seed, "trial", trial).integers(2**31))
    options = {name: getattr(protocol, name) for name in ("hide", "negatives", "each")}
    if protocol.after is None:
        return k_fold(mx, folds=protocol.folds, only=index, seed=seed, **options)
    return iter([temporal_split(mx, after=protocol.after, seed=seed, **options)])


def copy_scorer(scorer: LinkScorer, seed: int, hide: str) -> Any:
    """Return an unfitted copy of a scorer. Set its parameters `seed`, and `hide` if that is None, where they exist."""
    if not hasattr(scorer, "get_params"):
        return copy.deepcopy(scorer)
    from sklearn.base import clone

    copied = clone(scorer)
    current = copied.get_params(deep=False)
    values = {"seed": seed} if "seed" in current else {}
    return copied.set_params(**values, **({"hide": hide} if current.get("hide", "") is None else {}))


def testable(fold: Split, targets: Sequence[Name]) -> list[Name]:
    """Return the targets that have test edges and, unless these are triples, enough training edges in this fold."""
    least = 0 if fold.hide == HIDE[0] else MIN_TRAIN_EDGES
    testable = [name for name in targets if _num_pairs(fold.train, name) >= least and fold.test(name)[1].any()]
    if not testable:
        raise InputError(f"Expected a layer with {MIN_TRAIN_EDGES} training edges and a test edge, got none.")
    return testable


def with_filtered(
    rows: list[Row], scorer: LinkScorer, fixed: FixedSplit, targets: Sequence[Name], part: str = "test"
) -> list[Row]:
    """Return rows of `score_split` with the metrics of `filtered_ranking`, which in the row of means are over edges."""
    found = filtered_ranking(scorer, fixed, part=part, targets=targets)
    ranked = [found.layers[row["layer"]] if row["scope"] == "layer" else found.pooled for row in rows]
    named = [{f"filtered_{name}": value for name, value in own.items()} for own in ranked]
    return [row | own for row, own in zip(rows, named, strict=True)]


def score_split(
    scorer: LinkScorer, fold: Split, targets: Sequence[Name], *, metrics: Sequence[str], threshold: float | None = 0.0
) -> list[Row]:
    """Return rows of metrics of a fitted scorer: one per target layer with both labels, one pooled and one mean."""
    names, targets = fold.train.node_names, [name for name in targets if len(np.unique(fold.test(name)[1])) == 2]
    if not targets:
        raise InputError("Expected a layer with test edges and pairs without an edge, got none.")
    layers, labels, scores, own = [], [], [], []

    def score(pairs: Ints, layer: Name) -> Floats:
        return finite(scorer.score_pairs(names[pairs], layer), f" in layer {layer!r}")

    for layer in targets:
        pairs, label = fold.test(layer)
        layers.append(np.full(len(pairs), fold.train.layer_index(layer)))
        labels.append(label)
        scores.append(score(pairs, layer))
        if fold.negatives is not None:
            _, negatives = fold.ranking(layer)
            found = np.full((len(negatives), fold.negatives.shape[1]), np.nan)  # NaN: the layer has fewer
            found[:, : negatives.shape[1]] = score(negatives.reshape(-1, 2), layer).reshape(negatives.shape[:2])
            own.append(found)
    measured = evaluate_layers(
        np.concatenate(layers), np.concatenate(labels), np.concatenate(scores), names=fold.train.layer_names,
        negatives=np.concatenate(own) if own else None, threshold=threshold,
    )  # fmt: skip
    train = {name: _num_pairs(fold.train, name) for name in targets}
    test = {name: int(label.sum()) for name, label in zip(targets, labels, strict=True)}
    total = {"train_edges": sum(train.values()), "test_edges": sum(test.values())}
    rows: list[Row] = [
        {"scope": "layer", "layer": name, **measured.layers[name], "train_edges": train[name], "test_edges": test[name]}
        for name in targets
    ]
    rows += [{"scope": "pooled", "layer": None, **measured.pooled, **total}]
    rows += [{"scope": "mean", "layer": None, **measured.mean, **total}]
    unwanted = set(METRICS) - set(metrics)
    return [{name: value for name, value in row.items() if name not in unwanted} for row in rows]


def _check_protocol(protocol: EvaluationProtocol, scorers: Mapping[str, Any], mx: Multiplex) -> None:
    if protocol.trials < 1:
        raise InputError(f"Expected trials to be at least 1, got {protocol.trials}.")
    known = METRICS + (FILTERED if protocol.fixed else ())
    unknown = [name for name in protocol.metrics if name not in known]
    if unknown or not protocol.metrics:
        raise InputError(f"Expected metrics among {', '.join(METRICS)}, got {unknown[0] if unknown else 'none'}.")
    if not scorers:
        raise InputError("Expected at least one scorer, got none.")
    for name, scorer in scorers.items():
        if isinstance(scorer, type):
            raise InputError(f"Expected a scorer, {scorer.__name__}(), got the class {scorer.__name__}.")
        if not isinstance(scorer, LinkScorer):
            raise InputError(f"Expected a scorer with fit and score_pairs, got {type(scorer).__name__} as {name!r}.")
        if hasattr(scorer, "check_settings"):  # a copy: what it learns about the full multiplex must not reach the runs
            copy_scorer(scorer, protocol.seed, protocol.hide).check_settings(mx, protocol.targets)


def _choose_targets(mx: Multiplex, targets: Sequence[Name] | None, folds: int) -> tuple[Name, ...]:
    """Return the layers to predict links in: they have a test edge and enough training edges in every fold."""
    sizes = range(folds, 2 * folds + 2 * MIN_TRAIN_EDGES)
    least = next(n for n in sizes if n - -(-n // folds) >= MIN_TRAIN_EDGES)
    if isinstance(targets, str):
        raise InputError(f"Expected a list of layer names as targets, got the string {targets!r}.")
    size = {name: _num_pairs(mx, name) for name in (mx.layer_names if targets is None else targets)}
    small = [name for name in size if size[name] < least]
    if small and (targets is not None or len(small) == len(size)):
        raise InputError(f"Expected at least {least} edges for {folds} folds in {small[0]!r}, got {size[small[0]]}.")
    if small:
        shown = ", ".join(map(repr, small[:5])) + (", ..." if len(small) > 5 else "")
        warnings.warn(f"Layers with fewer than {least} edges are not tested with {folds} folds: {shown}.", stacklevel=3)
    if not size:
        raise InputError("Expected at least one target layer, got none.")
    return tuple(name for name in size if name not in small)


def _num_pairs(mx: Multiplex, layer: Name) -> int:
    """Return the number of linked pairs of a layer: without self loops, and both directions counted once."""
    ends = np.sort(mx.edges(layer), axis=0)
    pairs = ends[:, ends[0] != ends[1]]
    return len(np.unique(pairs[0] * mx.num_nodes + pairs[1])) if mx.directed else pairs.shape[1]


def _describe_protocol(protocol: EvaluationProtocol, scorers: Mapping[str, Any], mx: Multiplex) -> Row:
    """Return the first line of a result file: everything that the rows depend on, as plain values.

    Of a scorer, these are class and parameters, except `seed`, which each run sets, and `device`, which may differ when
    resuming. Arrays are lists, functions and classes have their names, and other objects those of their classes.
    """
    methods = {}
    for name, scorer in scorers.items():
        given = scorer.get_params(deep=False) if hasattr(scorer, "get_params") else vars(scorer)
        relevant = {each: value for each, value in given.items() if each not in ("seed", "device")}
        methods[name] = {"class": type(scorer).__name__, **relevant}

    def convert(item: Any) -> Any:
        if isinstance(item, np.ndarray | np.generic):
            return item.tolist()
        return getattr(item, "__qualname__", type(item).__name__)

    return json.loads(json.dumps(vars(protocol) | {"methods": methods}, default=convert)) | {"data": describe_data(mx)}
