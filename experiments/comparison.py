"""Comparisons of methods on the same splits, paired over seeds: data, scores, tasks and the report."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from banditplex.datasets import load_dataset, planted
from banditplex.datasets.groups import mixed
from banditplex.evaluation import Split, brier, roc_auc
from banditplex.evaluation.statistics import corrected_t
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.scorer import LinkScorer
from banditplex.storage.rows import Row
from experiments.policy_scores import Score
from experiments.runner import Experiment, Page, seeds_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Metric = Callable[[NDArray[np.int64], Floats], float]
Measured = Iterator[tuple[str, float]]
"""Names and values."""
Values = dict[str, list[float]]
"""Name -> one value per seed."""


def load(name: str, seed: int, *, directed: bool = False) -> Multiplex:
    """Return a data set by name; "planted-N" has N layers; it and "mixed" are generated anew for each seed."""
    if name.startswith("planted-"):
        layers = int(name.removeprefix("planted-"))
        return planted(layers, layers // 4, 0.8, num_nodes=300, edges_per_layer=900, seed=seed)
    if name == "mixed":
        return mixed(seed=seed)
    mx = load_dataset(name)
    return mx if directed else mx.to_undirected()


def ratio_of(name: str) -> float:
    """Return test edges per training edge in a split of a data set; 0 if it is generated anew for each seed.

    `corrected_t` asks for it. A fifth of the edges is held out:

    >>> ratio_of("celegans"), ratio_of("mixed")
    (0.25, 0.0)
    """
    return 0.0 if name == "mixed" or name.startswith("planted-") else 0.25


def layer_means(split: Split, score: Score, *metrics: Metric, targets: Iterable[Name] | None = None) -> list[float]:
    """Return the mean over target layers of each metric on the test pairs."""
    values = []
    for target in split.train.layer_names if targets is None else targets:
        pairs, label = split.test(target)
        scores = score(pairs, target)
        values.append([metric(label, scores) for metric in metrics])
    return [float(mean) for mean in np.mean(values, axis=0)]


def model_means(
    split: Split, model: LinkScorer, *metrics: Metric, targets: Iterable[Name] | None = None
) -> list[float]:
    """Return the mean over target layers of each metric of a model."""
    nodes = split.train.node_names
    return layer_means(split, lambda pairs, layer: model.score_pairs(nodes[pairs], layer), *metrics, targets=targets)


def model_auc(split: Split, model: LinkScorer) -> float:
    """Return the mean ROC-AUC of a model over target layers."""
    return model_means(split, model, roc_auc)[0]


def model_brier(split: Split, model: LinkPredictor) -> float:
    """Return the mean Brier score of calibrated probabilities over target layers; half of the test pairs are edges."""
    nodes = split.train.node_names
    return layer_means(split, lambda pairs, layer: model.predict_proba(nodes[pairs], layer, prior=0.5), brier)[0]


def relevant_probabilities(model: LinkPredictor, mx: Multiplex, targets: Iterable[Name] | None = None) -> list[float]:
    """Return the probability of all relevant layers together, for each target of which such layers are known."""
    table: Any = model.layer_probabilities_
    known = mx.metadata.get("relevant", {})
    asked = mx.layer_names if targets is None else targets
    return [float(table.loc[target, known[target]].sum()) for target in asked if known.get(target)]


DIFFERENCES = (
    "Differences are paired over seeds. Where seeds are splits of the same data, their standard error is that of "
    "Nadeau and Bengio, which allows for training sets that overlap. They are clear if p < .05 (Student's t with this "
    "error)."
)
"""What reports say of differences."""


class PairedDifference(NamedTuple):
    """The mean of paired differences over seeds, its standard error, and whether it is clear: p < .05."""

    mean: float
    error: float
    clear: bool

    @classmethod
    def of(cls, one: ArrayLike, other: ArrayLike, *, ratio: float = 0.0) -> "PairedDifference":
        """Compare values (seeds,) of two methods; the error is NaN for a single seed.

        With the `ratio` of test edges to training edges, the error allows for training sets that overlap
        (`corrected_t`). Differences 2 and 0 have the deviation sqrt(2), and sqrt((1/2 + 1/2) 2) = 1.41:

        >>> PairedDifference.of([3.0, 1.0], [1.0, 1.0])
        PairedDifference(mean=1.0, error=1.0, clear=False)
        >>> round(PairedDifference.of([3.0, 1.0], [1.0, 1.0], ratio=0.5).error, 2)
        1.41
        """
        found = corrected_t(np.subtract(one, other), ratio=ratio)
        return cls(found.mean, found.error, found.p < 0.05)

    def text(self, digits: int = 3) -> str:
        """Return the difference with its standard error, and whether it is clear.

        >>> PairedDifference(0.25, 0.01, True).text(), PairedDifference(-0.001, 0.01, False).text(4)
        ('+.250 ± .010 (clear)', '-.0010 ± .0100')
        """
        sign = "" if self.mean < 0 else "+"
        return f"{sign}{number(self.mean, digits)} ± {number(self.error, digits)}" + " (clear)" * self.clear


class SplitRun(NamedTuple):
    """One method, or a group of simple ones, on one split."""

    data: str
    method: str
    seed: int
    epochs: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.method}, seed {self.seed}"


def add_options_of_runs(parser: ArgumentParser) -> None:
    """Add the options of all comparisons."""
    parser.add_argument("--data", default="twins", metavar="NAMES", help="data sets, with commas; default: twins")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.add_argument("--epochs", type=int, default=30, metavar="N", help="default: 30")


def compare(
    options: Namespace,
    title: str,
    methods: Callable[[str], Sequence[str]],
    measure: Callable[[SplitRun], Measured],
    remarks: Callable[[Values, float], Iterable[list[str]]],
    *,
    introduction: str = "",
    table: Callable[[Values], str] | None = None,
) -> Experiment:
    """Return an experiment that compares methods on the same splits; the last method is run first.

    methods: data set -> methods, in the order of the report; remarks: values of a data set, ratio -> a last table;
    introduction: what the report says first; table: values of a data set -> tables in place of one line per value.
    """
    chosen, seeds = {name: methods(name) for name in options.data.split(",")}, seeds_of(options)
    tasks = [
        SplitRun(name, method, seed, options.epochs)
        for name, some in chosen.items()
        for method in reversed(some)
        for seed in seeds
    ]

    def report(rows: list[Row]) -> Page:
        parts = [
            f"{introduction}Means over layers, then over seeds, with the standard deviation over seeds. {DIFFERENCES}\n"
        ]
        for name, some in chosen.items():
            values: Values = {}
            here = [row for row in rows if row["data"] == name]
            for row in sorted(here, key=lambda row: some.index(row["method"])):
                values.setdefault(row["measure"], []).append(row["value"])
            parts += [f"## {name}\n", (table or _table)(values)]
            parts.append(markdown_table(["difference", "mean ± standard error"], remarks(values, ratio_of(name))))
        return Page(title, parts, {"values": pd.DataFrame(rows)})

    return Experiment(partial(_work, measure), tasks, report, seeds)


def _table(values: Values) -> str:
    lines = [[each, *(number(float(of(some)), 4) for of in (np.mean, np.std))] for each, some in values.items()]
    return markdown_table(["method", "mean", "deviation"], lines)


def difference(values: Values, one: str, other: str, ratio: float) -> list[str]:
    """Return the line of a paired difference."""
    return [f"{one} - {other}", PairedDifference.of(values[one], values[other], ratio=ratio).text(4)]


def _work(measure: Callable[[SplitRun], Measured], task: SplitRun) -> Iterator[Row]:
    for name, value in measure(task):
        yield {"data": task.data, "method": task.method, "seed": task.seed, "measure": name, "value": value}
