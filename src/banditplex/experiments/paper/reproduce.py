"""The runs of the experiment: one method on one fold, judged after each epoch; then all, with tables and figures."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditplex.arrays import Bools, Floats, Ints
from banditplex.bandits.arms import to_layer
from banditplex.bandits.rounding import invert
from banditplex.datasets import load_dataset
from banditplex.errors import InputError
from banditplex.evaluation import Split, k_fold
from banditplex.evaluation.rows import describe_data
from banditplex.experiments.paper.analysis import Finding, Runs
from banditplex.experiments.paper.report import write
from banditplex.experiments.paper.settings import DATASETS, FOLDS, FULL, HIDDEN_IN, METHODS, SEED, TRAINING, Size
from banditplex.jobs.engine import collect
from banditplex.multiplex import Multiplex
from banditplex.nn import relevance
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream

DIGITS = 6


class PaperRun(NamedTuple):
    """One training: a method on a fold of a trial. Splits and seeds are the same for all methods."""

    dataset: str
    method: str
    trial: int
    fold: int
    epochs: int
    seed: int

    @property
    def key(self) -> str:
        """A name that stays the same from run to run."""
        return f"{self.dataset}, {self.method}, trial {self.trial}, fold {self.fold}"


def measure(task: PaperRun) -> list[dict[str, Any]]:
    """Return the one row of a run: curves over epochs, and what the layers were worth in the end."""
    part = folds_of(task.dataset, task.trial, task.seed)[task.fold]
    judge = Judge(part, stream(task.seed, "judge", task.trial, task.fold))
    model = make_model(task).fit(part.train, on_epoch=judge)
    return [
        {"dataset": task.dataset, "method": task.method, "trial": task.trial, "fold": task.fold}
        | {name: np.round(curve, DIGITS).tolist() for name, curve in judge.curves.items()}
        | {name: round(value, DIGITS) for name, value in judge.worth(model).items()}
    ]


def make_model(task: PaperRun) -> LinkPredictor:
    """Return the model of a task, not yet fitted."""
    method = METHODS[task.method]
    return LinkPredictor(
        policy=method.policy, policy_options=dict(method.options), relevance=LAYER_LOSSES[method.loss],
        epochs=task.epochs, patience=task.epochs, seed=_number(task.seed, "model", task.trial, task.fold), **TRAINING,
    )  # fmt: skip


@cache
def multiplex_of(dataset: str) -> Multiplex:
    """Return a data set as it is used here: undirected."""
    return load_dataset(dataset).to_undirected()


@lru_cache(maxsize=16)
def folds_of(dataset: str, trial: int, seed: int) -> list[Split]:
    """Return the folds of a trial."""
    return list(k_fold(multiplex_of(dataset), hide=HIDDEN_IN, folds=FOLDS, seed=_number(seed, "folds", trial)))


def _number(seed: int, *name: str | int) -> int:
    return int(stream(seed, *name).integers(2**31))


LAYER_LOSSES: dict[str | None, Any] = {
    None: "predictive",  # uniform draws do not look at it, and it costs the least
    "predictive": "predictive",
    "euclidean": partial(relevance.euclidean),
    "cosine": partial(relevance.cosine),
}
"""The paper's policies learn from the layer they drew and from nothing else, and so do ours with its two layer losses:
once wrapped, the trainer computes them for drawn layers alone, like any function of ours. With `predictive`, the
library also hints a drawn layer at the target that drew it."""


class Judge:
    """The `on_epoch` of a run: test accuracy with layers drawn as in training; means over target layers.

    Curves: `train`, accuracy on the batches of the epoch, each before its gradient step; `test`, where every test pair
    draws a layer anew from its target's policy; `favourite`, where it takes the most probable one, ties at random; and
    `partnered`, which is `test` in those targets that have a relevant layer, where that is known.
    """

    def __init__(self, part: Split, rng: np.random.Generator) -> None:
        self.part, self.rng = part, rng
        self.names = part.train.node_names[part.pairs]
        self.curves: dict[str, list[float]] = {"train": [], "test": [], "favourite": []}
        known: dict[Any, Any] = part.train.metadata.get("relevant", {})
        self.partnered = [part.train.layer_index(name) for name, layers in known.items() if layers]
        if self.partnered:
            self.curves["partnered"] = []

    def __call__(self, model: LinkPredictor, row: dict[str, Any]) -> None:
        """Judge the model after an epoch."""
        likely = model.layer_probabilities_.to_numpy()
        layer = self.part.layer
        assert len(likely) == self.part.train.num_layers, "every layer is a target"
        looked_at = np.stack([invert(likely[layer], self.rng), favourites(likely, self.rng)[layer]], 1)
        drawn, favourite = self.accuracy(self.right(model, looked_at)).T
        self.curves["train"].append(row["train_accuracy"])
        self.curves["test"].append(float(drawn.mean()))
        self.curves["favourite"].append(float(favourite.mean()))
        if self.partnered:
            self.curves["partnered"].append(float(drawn[self.partnered].mean()))

    def worth(self, model: LinkPredictor) -> dict[str, float]:
        """Return what the choice of layers is worth to the trained network in its test pairs; means over targets.

        `headroom`: accuracy with the best layer of each target, chosen on one half of its test pairs and judged on
        the other, less that with an evenly drawn layer. `gain`: the same for a layer drawn from the policy.
        `mass`: the probability of the most probable layer.
        """
        likely = model.layer_probabilities_.to_numpy()
        others = to_layer(np.arange(len(likely))[:, None], np.arange(len(likely) - 1))
        right = self.right(model, others[self.part.layer])
        accuracy = self.accuracy(right)
        chosen = np.take_along_axis(likely, others, 1)
        return {
            "headroom": self.headroom(right),
            "gain": float(((chosen - chosen.mean(1, keepdims=True)) * accuracy).sum(1).mean()),
            "mass": float(likely.max(1).mean()),
        }

    def headroom(self, right: Bools) -> float:
        """Return how much better the best layer is than an evenly drawn one, chosen and judged on different halves."""
        side = np.empty(len(right), np.int64)
        side[np.lexsort((self.rng.random(len(right)), self.part.layer))] = np.arange(len(right)) % 2
        gains = []
        for here in (side == 0, side == 1):
            chosen_on, judged_on = self.accuracy(right[here], here), self.accuracy(right[~here], ~here)
            best = np.take_along_axis(judged_on, chosen_on.argmax(1)[:, None], 1)[:, 0]
            gains.append(best - judged_on.mean(1))
        return float(np.mean(gains))

    def right(self, model: LinkPredictor, looked_at: Ints) -> Bools:
        """Say of test pairs (n,) that look at each of some layers (n, m) whether they are told apart, (n, m)."""
        positive = self.part.label == 1
        return (model.score_by_layer(self.names, self.part.layer, looked_at) > 0) == positive[:, None]

    def accuracy(self, right: Bools, here: Bools | slice = slice(None)) -> Floats:
        """Return the share that is right (num_layers, m), per target; of some of the test pairs only, if asked."""
        layer, num_layers = self.part.layer[here], self.part.train.num_layers
        count = np.bincount(layer, minlength=num_layers)
        return np.stack([np.bincount(layer, column, num_layers) / count for column in right.T], 1)


def favourites(likely: Floats, rng: np.random.Generator) -> Ints:
    """Return the most probable column of each row (n,), ties at random."""
    return np.lexsort((rng.random(likely.shape), -likely))[:, 0]


def reproduce(
    folder: str | Path, *, datasets: Sequence[str] = tuple(DATASETS), size: Size = FULL, engine: str = "processes",
    jobs: int | None = None, resume: bool = False, command: str = "banditplex reproduce",
) -> list[Finding]:  # fmt: skip
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
