"""What finding layers is worth: the same model with panels found in different ways.

none: no panel. uniform, exp3+, default: layers found by a network that draws with this policy. all: every layer is
compared. oracle: the same default on a multiplex of the target and the layers that are known to help it. On `groups`,
three targets are learnt, the first layer of each of the first three groups; elsewhere all layers are. ROC-AUC is the
mean over targets. `used` counts the layers of all panels, `right` those that are known to help, `proven` those that
`layer_gains_` says help, and `false` those among them that do not.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from banditplex.datasets import groups
from banditplex.errors import InputError
from banditplex.evaluation import roc_auc, split
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.storage.rows import Row
from experiments import comparison
from experiments.quality import testable
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "groups-15", "seeds": 1, "epochs": 2, "ways": "none,default,oracle"}
DATA = "groups-15,groups-60,groups-200,groups-1000"
WAYS = ("none", "uniform", "exp3+", "default", "all", "oracle")
TARGETS = 3


class Fit(NamedTuple):
    """One fit."""

    data: str
    hide: str
    way: str
    seed: int
    epochs: int | None

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.hide}, {self.way}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument(
        "--data", default=DATA, metavar="NAMES",
        help=f"data sets, with commas; groups-N or groups-N-disjoint has N layers; default: {DATA}",
    )  # fmt: skip
    parser.add_argument("--hide", default="layer,pair", help="of the splits, with commas; default: layer,pair")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="default: that of LinkPredictor")
    parser.add_argument("--ways", metavar="NAMES", help=f"with commas, of {', '.join(WAYS)}; default: all but all")
    parser.set_defaults(first_seed=100)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds, ways = seeds_of(options), names_of(options.ways or ",".join(w for w in WAYS if w != "all"), WAYS, "--ways")
    hides = names_of(options.hide, ("layer", "pair"), "--hide")
    tasks = [
        Fit(data, hide, way, seed, options.epochs)
        for data in reversed(options.data.split(","))  # the largest first: they take longest
        for hide in hides for way in ways for seed in seeds
    ]  # fmt: skip
    return Experiment(measure, tasks, report, seeds)


def load(name: str, seed: int, *, directed: bool = False) -> tuple[Multiplex, list[Name] | None]:
    """Return a data set, and its targets; None: all layers that can be."""
    if not name.startswith("groups-"):
        return comparison.load(name, seed, directed=directed), None
    _, count, *overlap = name.split("-")
    if not count.isdigit():
        raise InputError(f"Expected a number of layers, such as groups-60, got {name!r}.")
    size = int(count)
    nodes = max(400, size)  # with 400 nodes, a thousand layers would leave no pair without an edge
    kind: Any = overlap[0] if overlap else "independent"
    mx = groups(size, num_nodes=nodes, edges_per_layer=2 * nodes, overlap=kind, seed=seed)
    return mx, [f"g{number}-0" for number in range(TARGETS)]


def measure(task: Fit) -> Iterator[Row]:
    """Yield the row of one way on one split."""
    mx, given = load(task.data, task.seed)
    parts = split(mx, hide=task.hide, seed=task.seed)
    targets = given or testable(parts)
    helpers: Mapping[Name, Any] = mx.metadata.get("relevant", {})
    settings: dict[str, Any] = {"hide": task.hide, "seed": task.seed}
    settings |= {} if task.epochs is None else {"epochs": task.epochs}
    if task.way != "oracle":
        settings |= {} if task.way == "default" else {"policy": task.way}
    began = perf_counter()
    if task.way == "oracle":
        if not helpers:
            return
        alone = [parts.train.subset(layers=[target, *helpers[target]]) for target in targets]
        models = [LinkPredictor(**settings).fit(few, [target]) for few, target in zip(alone, targets, strict=True)]
    else:
        models = [LinkPredictor(**settings).fit(parts.train, targets)]
    seconds = perf_counter() - began
    auc = []
    for place, target in enumerate(targets):
        pairs, label = parts.test(target)
        auc.append(roc_auc(label, models[place % len(models)].score_pairs(mx.node_names[pairs], target)))
    row = {"data": task.data, "hide": task.hide, "way": task.way, "seed": task.seed, "roc_auc": float(np.mean(auc))}
    row |= {"seconds": seconds, "used": np.nan, "right": np.nan, "helpers": np.nan, "proven": np.nan, "false": np.nan}
    if task.way != "oracle":
        panel, gains = models[0].panel_, models[0].layer_gains_
        row["used"] = float((panel["weight"] > 0).sum())
        if helpers and task.way == "default":
            known = {(target, layer) for target in targets for layer in helpers[target]}
            pooled = panel[panel["weight"] > 0]
            proven = {*gains.loc[gains["helps"], ["target", "layer"]].itertuples(index=False, name=None)}
            row |= {"helpers": float(len(known)), "proven": float(len(proven & known))}
            row |= {"false": float(len(proven - known))}
            row["right"] = float(len(known & {*pooled[["target", "layer"]].itertuples(index=False, name=None)}))
    yield row


NOTE = (
    "ROC-AUC, mean over targets and seeds, with its standard error over seeds; seconds of a fit, several at a time. "
    "Layers: those of all panels and, of the layers known to help, how many were pooled and how many `layer_gains_` "
    "proved; false: proven layers that do not help.\n"
)


def report(rows: list[Row]) -> Page:
    """Return the page."""
    table = pd.DataFrame(rows)
    lines = []
    for (data, hide), here in table.groupby(["data", "hide"], sort=False):
        for way in (way for way in WAYS if (here["way"] == way).any()):
            some = here[here["way"] == way]
            error = some["roc_auc"].std() / np.sqrt(len(some)) if len(some) > 1 else np.nan
            layers = ""
            if some["helpers"].notna().any():
                right, proven, false, known = (
                    int(some[name].sum()) for name in ("right", "proven", "false", "helpers")
                )
                layers = f"{right} of {known} pooled, {proven} proven, {false} false"
            elif way != "oracle":
                layers = f"{some['used'].mean():.0f} pooled"
            auc, spread = number(float(some["roc_auc"].mean()), 3), "" if np.isnan(error) else number(float(error), 3)
            lines.append([str(data), str(hide), way, auc, spread, f"{some['seconds'].mean():.0f}", layers])
    heads = ["data", "hidden", "panels by", "ROC-AUC", "error", "seconds", "layers"]
    return Page("What finding layers is worth", [NOTE, markdown_table(heads, lines)], {"values": table})
