"""One training, judged on test pairs that it could not see, with the work that it did."""

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from banditplex.evaluation import Split, accuracy, roc_auc, split
from banditplex.experiments.open_problems import settings
from banditplex.experiments.open_problems.data import load
from banditplex.experiments.open_problems.tasks import Task
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.training.loop import Trainer

CURVES = ("steps", "cost")
"""Parts in which a model is judged after each epoch."""


class Counting(LinkPredictor):
    """A LinkPredictor that counts its work: steps, edges that the encoder went over, pair features computed."""

    def make_trainer(self, *arguments: Any, **options: Any) -> Trainer:
        """Return a trainer whose network is watched."""
        trainer = super().make_trainer(*arguments, **options)
        self.work = {"steps": 0, "edges": 0, "pairs": 0}
        trainer.model.register_forward_hook(self._count)
        return trainer

    def _count(self, module: Any, arguments: tuple[Any, ...], logits: Any) -> None:
        self.work["steps"] += 1
        self.work["edges"] += 0 if logits.block is None else logits.block.edge_index.shape[1] // 2
        self.work["pairs"] += logits.own.numel() + logits.other.numel()


class Watch:
    """Judges a model after each epoch, with the clock stopped; the clock counts seconds of processor time."""

    def __init__(self, part: Split, targets: list[Name], *, curves: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._seconds: list[float] = []
        self._since = process_time()
        self._part, self._targets, self._curves = part, targets, curves

    def __call__(self, model: Counting, row: dict[str, Any]) -> None:
        """Be the `on_epoch` of a fit."""
        self._seconds.append(process_time() - self._since)
        if self._curves:
            self.rows.append({"epoch": row["epoch"]} | self.judge(model))
        self._since = process_time()

    def judge(self, model: Counting) -> dict[str, Any]:
        """Return means over targets of test ROC-AUC and accuracy, the work done so far, and the median time."""
        auc, right = test(model, self._part, self._targets)
        seconds = float(np.median(self._seconds))
        return {"auc": auc, "accuracy": right, "seconds_per_epoch": seconds, **model.work, "draws": draws(model)}


def test(model: LinkPredictor, part: Split, targets: list[Name]) -> tuple[float, float]:
    """Return test ROC-AUC and accuracy, means over targets."""
    judged = []
    for target in targets:
        pairs, label = part.test(target)
        score = model.score_pairs(part.train.node_names[pairs], target)
        judged.append((roc_auc(label, score), accuracy(label, score)))
    auc, right = np.mean(judged, axis=0)
    return float(auc), float(right)


def work(task: Task) -> Iterator[dict[str, Any]]:
    """Train and judge a model; yield a row per epoch where curves are wanted, and one at the end (`final`)."""
    mx, chosen = load(task.data, task.seed)
    part = split(mx, hide=settings.HIDE, seed=task.seed)
    part.check()
    targets = list(chosen or mx.layer_names)
    model = make_model(task, part.train, targets)
    watch = Watch(part, targets, curves=task.part in CURVES)
    model.fit(part.train, targets, watch)
    head = {name: getattr(task, name) for name in ("part", "data", "label", "value", "seed")}
    for row in watch.rows:
        yield head | {"final": False} | row
    matched = split(mx, hide=settings.HIDE, seed=task.seed, negatives="degree")
    more = {
        "auc_degree": test(model, matched, targets)[0],
        "probability": relevant_probability(model, mx, targets),
    }
    yield head | {"final": True, "epoch": task.epochs} | watch.judge(model) | more


def make_model(task: Task, mx: Multiplex, targets: list[Name]) -> Counting:
    """Return the model of a task."""
    options: dict[str, Any] = {}
    if task.part == "k":
        options = {"policy": task.label, "k": max(1, int(task.value))}
    elif task.part == "steps":
        options = {"policy": task.label, "steps_per_draw": int(task.value)}
    elif task.part == "cost":
        options = {
            "policy": task.label,
            "policy_options": {"prices": prices(mx, targets), "strength": task.value},
        }
    elif task.label == "uniform":
        options = {"policy": "uniform"}
    else:
        options = {"relevance": task.label}
    batch_size = settings.DATA[task.data].batch_size
    return Counting(
        epochs=task.epochs, patience=task.epochs, batch_size=batch_size, seed=task.seed, **options, **settings.TRAINING
    )


def prices(mx: Multiplex, targets: list[Name]) -> list[list[float]]:
    """Return what each arm of each target costs to encode: the edges of that layer, at least 1."""
    size = np.maximum(mx.layer_sizes, 1).astype(np.float64)
    return [np.delete(size, mx.layer_index(target)).tolist() for target in targets]


def draws(model: LinkPredictor) -> int:
    """Return how many draws of layers have been made and used up, all targets together."""
    drawn = sum(sum(row.values()) for row in model.history_["drawn"])
    return int(drawn // max(1, model.k))


def relevant_probability(model: LinkPredictor, mx: Multiplex, targets: list[Name]) -> float | None:
    """Return the mean probability of relevant layers, over targets that have one; None if nobody knows."""
    known = mx.metadata.get("relevant", {})
    table: Any = model.layer_probabilities_
    found = [float(table.loc[target, known[target]].sum()) for target in targets if known.get(target)]
    return float(np.mean(found)) if found else None
