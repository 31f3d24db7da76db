"""Published systems on the splits from print: whether ours reach the published numbers.

Each method has the settings of its paper where they are known, runs on a GPU where there is one, and is shown beside
what was published. F1 is at the threshold that predicts as many links as there are. Test pairs of gatne-amazon whose
reverse arc is a training edge are kept, as in print, and left out ("no leaks") in a second line.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd

from banditplex.datasets import fetch
from banditplex.evaluation import fixed_split
from banditplex.leaderboard import find_methods
from banditplex.markdown import markdown_table, number
from banditplex.storage.rows import Row
from experiments.fixed import METRICS, by_layer
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "gatne-amazon", "methods": "overlap+union", "seeds": 1}
LEAKS = {"gatne-amazon": ("keep", "drop"), "polypharmacy": ("drop",)}
WHICH = {"keep": "as in print", "drop": "no leaks"}
FACTORS = {"dimension": 200, "epochs": 40, "batch_size": 16_384, "learning_rate": 0.3, "loss": "softmax"}
SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("gatne-amazon", "gatne-t"): {"device": "auto"},
    ("gatne-amazon", "gcn-distmult"): {"width": 64, "batch_size": 10_000, "learning_rate": 0.02, "epochs": 30},
    ("polypharmacy", "simple-torch"): FACTORS,
    ("polypharmacy", "complex-torch"): FACTORS,
    ("polypharmacy", "distmult-torch"): FACTORS,
}
"""Where they are not the defaults."""
PRINT: dict[tuple[str, str], dict[str, float]] = {
    ("gatne-amazon", "gatne-t"): {"roc_auc": 0.9744, "average_precision": 0.9705, "f1": 0.9287},
    ("gatne-amazon", "gcn-distmult"): {"roc_auc": 0.9896, "average_precision": 0.9870, "f1": 0.9560},
    ("polypharmacy", "complex-torch"): {"roc_auc": 0.923, "average_precision": 0.950},
    ("polypharmacy", "simple-torch"): {"median_roc_auc": 0.978, "median_average_precision": 0.971},
}
"""GATNE-T: Cen et al., KDD 2019. GCN + DistMult: the README of HGB (Lv et al., KDD 2021), mean of five runs from .9889
to .9902. ComplEx: the README of pse-kge, on the same split. SimplE: abstract of arXiv 2404.11374, medians."""


class Run(NamedTuple):
    """One fit."""

    data: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.method}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    known = ",".join(LEAKS)
    parser.add_argument("--data", default=known, metavar="NAMES", help=f"data sets, with commas; default: {known}")
    parser.add_argument(
        "--methods", metavar="NAMES", help="methods of `compare`; default: those with a published number"
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="number of seeds; default: 1")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds, known = seeds_of(options), list(find_methods())
    names = names_of(options.data, tuple(LEAKS), "--data")
    methods = None if options.methods is None else names_of(options.methods, known, "--methods")
    runs = [Run(data, method, seed) for data in names for method in _methods(data, methods) for seed in seeds]
    shown = {f"{data}, {method}": settings for (data, method), settings in SETTINGS.items()}
    return Experiment(measure, runs, report, seeds, {"settings": shown})


def _methods(data: str, asked: tuple[str, ...] | None) -> list[str]:
    """Return the methods to run: those with a published number, or those asked for, unless they belong elsewhere."""
    if asked is None:
        return [method for where, method in PRINT if where == data]
    elsewhere = {method for where, method in SETTINGS if where != data} - {m for w, m in SETTINGS if w == data}
    return [method for method in asked if method not in elsewhere]


def measure(task: Run) -> Iterator[Row]:
    """Yield one row per layer, and per way to treat test pairs that leak."""
    settings = SETTINGS.get((task.data, task.method), {})
    parts = {which: fixed_split(fetch(task.data), leaks=which).test for which in LEAKS[task.data]}
    train = next(iter(parts.values())).train
    model: Any = find_methods()[task.method].make(**settings)
    if "hide" in model.get_params(deep=False) and not train.directed:
        model.set_params(hide="layer")
    model.set_params(seed=task.seed)
    began = perf_counter()
    model.fit(train)
    head = task._asdict() | {"seconds": perf_counter() - began, "settings": json.dumps(settings)}
    for which, part in parts.items():
        for layer, values in by_layer(part, model):
            yield head | {"pairs": WHICH[which], "layer": str(layer)} | values


def report(rows: list[Row]) -> Page:
    """Return means and medians over layers, then means over seeds, each beside what was published."""
    table = pd.DataFrame(rows)
    columns = [*METRICS, *(f"median_{name}" for name in METRICS if name != "f1")]
    lines = []
    for (data, method, pairs), here in table.groupby(["data", "method", "pairs"], sort=False):
        found: Any = here.groupby("seed")[list(METRICS)].agg(["mean", "median"]).mean()
        ours = {name: found[name.removeprefix("median_"), _statistic(name)] for name in columns}
        seconds = here.groupby("seed")["seconds"].first().mean()
        lines.append(
            [str(data), str(method), str(pairs), *(number(ours[name], 4) for name in columns), f"{seconds:.0f}"]
        )
        published = PRINT.get((str(data), str(method)))
        if published is not None and pairs == WHICH[LEAKS[str(data)][0]]:
            cells = [number(published[name], 4) if name in published else "" for name in columns]
            lines.append([str(data), str(method), "published", *cells, ""])
    heads = {"roc_auc": "ROC-AUC", "average_precision": "PR-AUC", "f1": "F1", "ap_at_50": "AP@50"}
    shown = [heads.get(name) or f"{heads[name.removeprefix('median_')]}, median" for name in columns]
    chosen = [f"- {data}, {method}: {text}" for (data, method), text in _settings(table).items()]
    return Page(
        "Published systems on the splits from print",
        [markdown_table(["data", "method", "test pairs", *shown, "seconds"], lines), "\nSettings:\n", *chosen],
        {"values": table},
    )


def _statistic(name: str) -> str:
    return "median" if name.startswith("median_") else "mean"


def _settings(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    rows = table.drop_duplicates(["data", "method"])
    texts = [", ".join(f"{name}={value}" for name, value in json.loads(text).items()) for text in rows["settings"]]
    return dict(
        zip(zip(rows["data"], rows["method"], strict=True), [text or "defaults" for text in texts], strict=True)
    )
