"""Data sets with a split from print: ROC-AUC, PR-AUC, F1 and AP@50 of LinkPredictor on their test pairs.

Means over layers, and medians. F1 is at the threshold that predicts as many links as there are. Arcs of gatne-amazon
are directed, and its test pairs that leak are kept, as in print; those of polypharmacy are dropped.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd

from banditplex.datasets import fetch
from banditplex.evaluation import Split, average_precision, average_precision_at, f1, fixed_split, roc_auc
from banditplex.markdown import markdown_table, number
from banditplex.predictor import LinkPredictor
from banditplex.scorer import LinkScorer
from banditplex.storage.rows import Row
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "gatne-amazon", "epochs": 1, "seeds": 1}
LEAKS = {"polypharmacy": "drop", "gatne-amazon": "keep"}
METRICS = ("roc_auc", "average_precision", "f1", "ap_at_50")


class Run(NamedTuple):
    """One fit."""

    data: str
    seed: int
    epochs: int | None

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    known = ",".join(LEAKS)
    parser.add_argument("--data", default=known, metavar="NAMES", help=f"data sets, with commas; default: {known}")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="number of seeds; default: 1")
    parser.add_argument("--epochs", type=int, metavar="N", help="default: those of LinkPredictor")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    names, seeds = names_of(options.data, tuple(LEAKS), "--data"), seeds_of(options)
    return Experiment(measure, [Run(name, seed, options.epochs) for name in names for seed in seeds], report, seeds)


def measure(task: Run) -> Iterator[Row]:
    """Yield one row per layer."""
    parts = fixed_split(fetch(task.data), leaks=LEAKS[task.data]).test
    epochs: dict[str, Any] = {} if task.epochs is None else {"epochs": task.epochs}
    began = perf_counter()
    model = LinkPredictor(hide=None if parts.train.directed else "layer", seed=task.seed, **epochs).fit(parts.train)
    head = {"data": task.data, "seed": task.seed, "seconds": perf_counter() - began}
    for layer, values in by_layer(parts, model):
        yield head | {"layer": str(layer)} | values


def by_layer(parts: Split, model: LinkScorer) -> Iterator[tuple[Any, dict[str, float]]]:
    """Yield the metrics of each layer that has test edges and negatives."""
    for layer in parts.train.layer_names:
        pairs, label = parts.test(layer)
        if 0 < label.sum() < len(label):
            score = model.score_pairs(parts.train.node_names[pairs], layer)
            values = roc_auc(label, score), average_precision(label, score), f1(label, score, threshold=None)
            yield layer, dict(zip(METRICS, (*values, average_precision_at(label, score, at=50)), strict=True))


def report(rows: list[Row]) -> Page:
    """Return means and medians over layers."""
    table = pd.DataFrame(rows)
    lines = []
    for (data, seed), here in table.groupby(["data", "seed"], sort=False):
        numbers = [number(float(here[name].agg(how)), 4) for name in METRICS for how in ("mean", "median")]
        lines.append([str(data), str(seed), str(len(here)), *numbers, f"{here['seconds'].iloc[0]:.0f}"])
    shown = ("ROC-AUC", "PR-AUC", "F1", "AP@50")
    head = ["data", "seed", "layers", *(f"{name}, {how}" for name in shown for how in ("mean", "median")), "seconds"]
    return Page("Splits from print", [markdown_table(head, lines)], {"values": table})
