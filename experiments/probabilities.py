"""Probabilities: how often the pairs that `recommend` returns are links, beside the probabilities that it states.

A share of the edges of each layer is removed at random, and links are recommended in the rest, with default settings.
Data sets are generated anew for each seed (communities, groups, hubs, positions), or real ones. Priors are the true
share of removed edges among the unknown pairs, and the default one, which supposes that every tenth link is unknown.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from banditplex.datasets.groups import groups
from banditplex.evaluation import split
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.storage.rows import Row
from experiments import comparison
from experiments.runner import Experiment, Page, seeds_of

Floats = NDArray[np.float64]
QUICK = {"seeds": 1, "epochs": 2, "data": "hubs", "missing": "20"}
DATA = "communities,groups,hubs,positions,ckm,lazega-corrected"
GENERATED = ("communities", "hubs", "positions")
NODES, LAYERS, EDGES = 100, 3, 220
"""Of a generated multiplex; edges of a layer, on average. The last layer has nothing to do with the others."""
TOPS = (10, 100)
MODEST = (5, 20)
"""Percent of links that are missing, at least and at most, for which the default prior is meant."""


class Removal(NamedTuple):
    """One data set, without a share of its edges."""

    data: str
    missing: float  # percent
    seed: int
    epochs: int | None

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.missing:g} %, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--data", default=DATA, metavar="NAMES", help=f"data sets, with commas; default: {DATA}")
    parser.add_argument("--missing", default="5,20,50", metavar="PERCENT", help="shares of edges; default: 5,20,50")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="default: that of LinkPredictor")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    names, seeds = options.data.split(","), seeds_of(options)
    shares = [float(each) for each in options.missing.split(",")]
    tasks = [Removal(name, share, seed, options.epochs) for name in names for share in shares for seed in seeds]
    return Experiment(work, tasks, report, seeds)


def load(name: str, seed: int) -> Multiplex:
    """Return a data set; hubs, for example, have edges that are as likely as the product of two random numbers."""
    if name == "groups":
        return groups(12, 4, num_nodes=NODES, edges_per_layer=EDGES, num_communities=8, seed=seed)
    if name not in GENERATED:
        return comparison.load(name, seed)
    rng = stream(seed, "probabilities", name)
    draw: dict[str, Any] = {
        "communities": lambda: rng.integers(0, 6, NODES),
        "hubs": lambda: rng.pareto(1.5, NODES) + 0.3,
        "positions": lambda: rng.normal(size=(NODES, 2)),
    }
    node = draw[name]()
    likely: Any = {
        "communities": lambda x: np.where(x[:, None] == x, 1.0, 0.05),
        "hubs": lambda x: np.outer(x, x),
        "positions": lambda x: 1 / (1 + np.exp(8 * (np.linalg.norm(x[:, None] - x, axis=2) - 0.45))),
    }[name]
    source, destination = np.triu_indices(NODES, 1)
    parts = []
    for layer in range(LAYERS):
        weight = likely(node if layer < LAYERS - 1 else rng.permutation(node))[source, destination]
        parts.append(np.flatnonzero(rng.random(len(weight)) < as_chances(weight, EDGES)))
    at, names = np.concatenate(parts), np.repeat(np.arange(LAYERS), [len(each) for each in parts])
    return Multiplex.from_edges(source[at], destination[at], names, num_nodes=NODES)


def as_chances(weight: Floats, total: float) -> Floats:
    """Return probabilities (n,) that are proportional to weights (n,), or 1, and have about a sum.

    >>> as_chances(np.array([8.0, 2.0, 2.0]), 2.0).round(3)
    array([1. , 0.5, 0.5])
    """
    scale = total / weight.sum()
    for _ in range(50):
        scale *= total / np.minimum(1, scale * weight).sum()
    found: Floats = np.minimum(1, scale * weight)
    return found


def work(task: Removal) -> Iterator[Row]:
    """Yield for each layer what was stated and what is true of the most likely pairs, with both priors."""
    parts = split(load(task.data, task.seed), hide="layer", share=task.missing / 100, seed=task.seed)
    settings: dict[str, Any] = {} if task.epochs is None else {"epochs": task.epochs}
    model, nodes = LinkPredictor(seed=task.seed, **settings).fit(parts.train), parts.train.num_nodes
    for layer in model.layer_probabilities_.index:
        pairs, label = parts.test(layer)
        removed = np.sort(pairs[label == 1], axis=1)
        if not len(removed):
            continue
        prior = len(removed) / (nodes * (nodes - 1) // 2 - parts.train.edges(layer).shape[1])
        table, usual = (model.recommend(layer, top=max(TOPS), prior=each) for each in (prior, None))
        ends = parts.train.node_index(table[["source", "destination"]].to_numpy())
        hit = np.isin(np.sort(ends, axis=1) @ [nodes, 1], removed @ [nodes, 1])
        row: Row = {"data": task.data, "missing": task.missing, "seed": task.seed, "layer": str(layer)}
        for top in TOPS:
            row |= {f"says_{top}": float(table["probability"][:top].mean()), f"is_{top}": float(hit[:top].mean())}
            row |= {f"default_{top}": float(usual["probability"][:top].mean())}
        yield row


def report(rows: list[Row]) -> Page:
    """Return a table with a line per data set and share, and the mean errors."""
    table = with_errors(pd.DataFrame(rows))
    columns = [f"{name}_{top}" for top in TOPS for name in ("is", "says", "error", "default", "default_error")]
    lines = table.groupby(["data", "missing"])[columns].mean().reset_index()
    modest = table[table["missing"].between(*MODEST)]
    means = [*(table[name] if "default" not in name else modest[name] for name in columns)]
    shown = [[name, f"{share:g} %", *(number(each) for each in row)] for name, share, *row in lines.to_numpy().tolist()]
    shown.append(["mean", "", *(number(float(each.mean())) for each in means)])
    titles = ("is", "says", "error", "default says", "error")
    head = ["data", "missing", *(f"top {top}: {each}" if each == "is" else each for top in TOPS for each in titles)]
    text = (
        "*Is*: the share of removed edges among the most likely pairs of a layer. *Says*: their mean probability with "
        "the true prior; *default says*: with the default one. *Error*: the mean over layers of the absolute "
        f"difference. The means of the last line are over layers; those of the default are over {MODEST[0]} to "
        f"{MODEST[1]} % missing.\n"
    )
    return Page("Probabilities", [text, markdown_table(head, shown)], {"values": table})


def with_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the absolute differences between what is stated and what is true."""
    found = table.copy()
    for top in TOPS:
        for name, of in (("error", "says"), ("default_error", "default")):
            found[f"{name}_{top}"] = (found[f"{of}_{top}"] - found[f"is_{top}"]).abs()
    return found
