"""What finding layers is worth: the same model with panels found in different ways.

none: no panel. random: as many layers as are known to help, at random, which networks draw, too. evenly: the default,
but the search looks at all layers alike. unbridged: the default, but layers are compared without bridges. uniform,
exp3+, all: the default, but networks draw with this policy. exhaustive: regressions compare every layer.
oracle: the default on a multiplex of the target and the layers that are known to help it. On `groups`, three targets
are learnt, the first layer of each of the first three groups; elsewhere all layers are. --targets asks for others.

ROC-AUC and, where all layers are targets, hard MRR are means over targets; `gains_seconds` are those of `layer_gains_`,
after the `seconds` of a fit. `compared` counts the layers that regressions compare with a target, `used` the layers of
all panels, `right` those that are known to help, `proven` those that `layer_gains_` says help, and `false` those among
them that do not.
"""

import math
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from banditplex.datasets import groups, similar_layer
from banditplex.errors import InputError
from banditplex.evaluation import split
from banditplex.evaluation.protocol import score_split
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.storage.rows import Row
from banditplex.training import find, search
from experiments import comparison
from experiments.quality import testable
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "groups-15", "seeds": 1, "epochs": 2, "ways": "none,default,oracle"}
DATA = "groups-15,groups-60,groups-200,groups-1000"
WAYS = ("none", "random", "evenly", "unbridged", "default", "exhaustive", "uniform", "exp3+", "all", "oracle")
SPECIAL = ("evenly", "unbridged", "exhaustive", "all")  # not by default: the same up to 1,000 layers, or slow
POLICIES = ("none", "uniform", "exp3+", "all")
GROUP, TARGETS = 5, 3
COPIED = 0.95  # share of edges that a near copy keeps
MEASURED = ("roc_auc", "mrr")
MIN_EDGES = 50
"""Edges of a layer that may be one of several targets."""


class Fit(NamedTuple):
    """One fit."""

    data: str
    hide: str
    way: str
    seed: int
    epochs: int | None
    nodes: int | None = None
    targets: int | None = None
    group: int = GROUP

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.hide}, {self.way}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument(
        "--data", default=DATA, metavar="NAMES",
        help="with commas; groups-N, groups-N-opposite, groups-N-disjoint and groups-N-copied have N layers; "
        f"groups-N-near-C has as many, and C near copies of a helper of each target; default: {DATA}",
    )  # fmt: skip
    parser.add_argument("--hide", default="layer,pair", help="of the splits, with commas; default: layer,pair")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="default: that of LinkPredictor")
    parser.add_argument("--nodes", type=int, metavar="N", help="of groups; default: 400, or one per layer if more")
    parser.add_argument("--group", type=int, default=GROUP, metavar="N", help="layers of a group; default: %(default)s")
    parser.add_argument(
        "--targets", type=int, metavar="N",
        help=f"N layers of all sizes, or of all groups; default: all, of groups {TARGETS} first layers",
    )  # fmt: skip
    parser.add_argument(
        "--ways", metavar="NAMES", help=f"with commas, of {', '.join(WAYS)}; default: all but {', '.join(SPECIAL)}"
    )
    parser.set_defaults(first_seed=100)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    usual = ",".join(way for way in WAYS if way not in SPECIAL)
    seeds, ways = seeds_of(options), names_of(options.ways or usual, WAYS, "--ways")
    hides = names_of(options.hide, ("layer", "pair"), "--hide")
    tasks = [
        Fit(data, hide, way, seed, options.epochs, options.nodes, options.targets, options.group)
        for data in reversed(options.data.split(","))  # the largest first: they take longest
        for hide in hides for way in ways for seed in seeds
    ]  # fmt: skip
    return Experiment(measure, tasks, report, seeds)


def load(
    name: str,
    seed: int,
    *,
    directed: bool = False,
    nodes: int | None = None,
    targets: int | None = None,
    group: int = GROUP,
) -> tuple[Multiplex, list[Name] | None]:
    """Return a data set, and its targets; None: all layers that can be. `nodes` and `group` are those of groups."""
    if not name.startswith("groups-"):
        mx = comparison.load(name, seed, directed=directed)
        return mx, None if targets is None else of_all_sizes(mx, targets)
    found = re.fullmatch(r"groups-(\d+)(?:-(disjoint|copied|opposite))?(?:-near-(\d+))?", name)
    if found is None:
        raise InputError(f"Expected a number of layers, such as groups-60 or groups-15-near-6, got {name!r}.")
    size, copies = int(found[1]), found[3]
    kin: Any = "opposite" if found[2] == "opposite" else "alike"
    overlap: Any = "independent" if kin == "opposite" else found[2] or "independent"
    nodes = nodes or max(400, 10 * math.ceil(size / 10))  # with 400, a thousand layers would leave no pair without edge
    sizes: dict[str, Any] = {"num_nodes": nodes, "edges_per_layer": 2 * nodes, "noise_layers": size % group}
    mx = groups(size, group, **sizes, kin=kin, overlap=overlap, seed=seed)
    if copies:
        mx = with_near_copies(mx, [f"g{number}-1" for number in range(TARGETS)], int(copies), seed)
    if targets is None:
        return mx, [f"g{number}-0" for number in range(TARGETS)]
    most = size - size % group  # layers of groups come first
    if not 1 <= targets <= most:
        raise InputError(f"Expected --targets of 1 to {most}, the layers of groups, got {targets}.")
    return mx, [mx.layer_names[place * most // targets] for place in range(targets)]


def with_near_copies(mx: Multiplex, layers: Sequence[str], count: int, seed: int) -> Multiplex:
    """Return a multiplex with so many near copies of some layers: each keeps `COPIED` of the edges."""
    rng, edges = stream(seed, "near copies"), {name: mx.edges(name) for name in mx.layer_names}
    for layer in layers:
        for copy in range(count):
            edges[f"{layer}-near-{copy}"] = similar_layer(edges[layer], mx.num_nodes, COPIED, rng)
    source, destination = np.concatenate(list(edges.values()), axis=1)
    place = np.repeat(np.arange(len(edges)), [each.shape[1] for each in edges.values()])
    return Multiplex.from_indices(
        source, destination, place, node_names=mx.node_names, layer_names=list(edges), metadata=mx.metadata
    )


def of_all_sizes(mx: Multiplex, count: int) -> list[Name]:
    """Return so many layers of `MIN_EDGES` or more edges, at equal distances in the order of their sizes."""
    size = mx.layer_sizes
    order = [layer for layer in np.argsort(size, kind="stable").tolist() if size[layer] >= MIN_EDGES]
    if not 1 <= count <= len(order):
        raise InputError(f"Expected --targets of 1 to {len(order)}, the layers of {MIN_EDGES} edges, got {count}.")
    return [mx.layer_names[order[(2 * place + 1) * len(order) // (2 * count)]] for place in range(count)]


def num_compared(way: str, others: int) -> int:
    """Return how many other layers regressions compare with a target, to find its panel."""
    return 0 if way in ("none", "random") else others if way == "exhaustive" else min(others, find.COMPARED)


@contextmanager
def searching(way: str, others: int) -> Iterator[None]:
    """Let panels be found by even looks, without bridges or by a comparison of all layers, if this is the way."""
    before = search.FIRST, search.KEPT, find.COMPARED, find.bridges_hold
    if way == "evenly":
        search.FIRST, search.KEPT = 1.0, math.inf  # all looks in the first round, which nothing survives
    find.COMPARED = others if way == "exhaustive" else before[2]
    find.bridges_hold = (lambda *_: False) if way == "unbridged" else before[3]
    try:
        yield
    finally:
        search.FIRST, search.KEPT, find.COMPARED, find.bridges_hold = before


def measure(task: Fit) -> Iterator[Row]:
    """Yield the row of one way on one split."""
    mx, given = load(task.data, task.seed, nodes=task.nodes, targets=task.targets, group=task.group)
    measured = MEASURED if given is None else MEASURED[:1]
    parts = split(mx, hide=task.hide, seed=task.seed, negatives="hard" if "mrr" in measured else "uniform")
    targets = given or testable(parts)
    helpers: Mapping[Name, Any] = mx.metadata.get("relevant", {})
    settings: dict[str, Any] = {"hide": task.hide, "seed": task.seed}
    settings |= {} if task.epochs is None else {"epochs": task.epochs}
    if task.way == "random":
        rng, size = stream(task.seed, "random panels"), max(1, *(len(helpers.get(target, ())) for target in targets))
        arms = [rng.permutation(mx.num_layers - 1)[:size].tolist() for _ in targets]
        settings |= {"policy": "fixed", "policy_options": {"arms": arms}}
    if task.way in POLICIES:
        settings["policy"] = task.way
    began = perf_counter()
    if task.way == "oracle":
        if not helpers:
            return
        alone = [parts.train.subset(layers=[target, *helpers[target]]) for target in targets]
        models = [LinkPredictor(**settings).fit(few, [target]) for few, target in zip(alone, targets, strict=True)]
    else:
        with searching(task.way, mx.num_layers - 1):
            models = [LinkPredictor(**settings).fit(parts.train, targets)]
    seconds = perf_counter() - began
    found = [
        score_split(models[place % len(models)], parts, [target], metrics=measured)[0]
        for place, target in enumerate(targets)
    ]
    row = {"data": task.data, "hide": task.hide, "way": task.way, "seed": task.seed}
    row |= {name: float(np.mean([each.get(name, np.nan) for each in found])) for name in MEASURED}
    row |= {"seconds": seconds, "targets": len(targets), "compared": np.nan, "used": np.nan}
    row |= dict.fromkeys(("right", "helpers", "proven", "false", "gains_seconds"), np.nan)
    if task.way != "oracle":
        pooled = models[0].panel_.query("weight > 0")
        row |= {"compared": num_compared(task.way, mx.num_layers - 1), "used": float(len(pooled))}
        if helpers:
            known = {(target, layer) for target in targets for layer in helpers[target]}
            row |= {"helpers": float(len(known)), "right": float(len(known & _links(pooled)))}
            if task.way == "default":
                proven = _links(models[0].layer_gains_.query("helps"))
                row |= {"proven": float(len(proven & known)), "false": float(len(proven - known))}
                row |= {"gains_seconds": models[0].gains_seconds_}
    yield row


def _links(table: pd.DataFrame) -> set[Any]:
    return {*table[["target", "layer"]].itertuples(index=False, name=None)}


NOTE = (
    "ROC-AUC and hard MRR, means over targets and seeds, with standard errors over seeds; seconds of a fit and, where "
    "gains are known, of `layer_gains_` after it, several at a time. "
    "Compared: layers that regressions compare with a target. Layers: those of all panels and, of the layers known to "
    "help, how many were pooled and how many `layer_gains_` proved; false: proven layers that do not help.\n"
)


def report(rows: list[Row]) -> Page:
    """Return the page."""
    table = pd.DataFrame(rows)
    lines = []
    for (data, hide), here in table.groupby(["data", "hide"], sort=False):
        for way in (way for way in WAYS if (here["way"] == way).any()):
            some = here[here["way"] == way]
            compared = "" if way == "oracle" else f"{some['compared'].iloc[0]:.0f}"
            seconds, gains = f"{some['seconds'].mean():.0f}", some["gains_seconds"].mean()
            seconds += "" if np.isnan(gains) else f" + {gains:.0f}"
            values = [cell for name in MEASURED for cell in _mean(some[name])]
            lines.append([str(data), str(hide), way, *values, seconds, compared, _layers(some)])
    heads = ["data", "hidden", "panels by", "ROC-AUC", "error", "hard MRR", "error", "seconds", "compared", "layers"]
    return Page("What finding layers is worth", [NOTE, markdown_table(heads, lines)], {"values": table})


def _mean(values: pd.Series) -> tuple[str, str]:
    """Return the mean of values and, of several, its standard error; nothing of unknown ones."""
    mean, error = values.mean(), float(values.std() / np.sqrt(len(values)))
    return "" if np.isnan(mean) else number(float(mean), 3), "" if np.isnan(error) else number(error, 3)


def _layers(some: pd.DataFrame) -> str:
    """Say how many layers are in panels, and how many of them help or are proven, where this is known."""
    if some["used"].isna().all():
        return ""
    if some["helpers"].isna().all():
        return f"{some['used'].mean():.0f} pooled"
    right, known, proven, false = (int(some[name].sum()) for name in ("right", "helpers", "proven", "false"))
    proof = "" if some["proven"].isna().all() else f", {proven} proven, {false} false"
    return f"{right} of {known} pooled{proof}"
