"""Whether `layer_gains_` tells layers that help from layers that do not.

Permuted layers: the nodes of every layer are renamed by a random permutation of the layer's own. Layers keep their
structure, but no layer is related to another, so a fit is wrong if it says of any layer that it helps any target. At
most 5 % of the fits may be wrong. All layers are targets; on groups-N, which has N layers, three of them.

Planted copies: two pairs of layers that share a part of their 500 edges, and two layers of noise. Each of the four is a
target that its copy helps. At least 95 % of the copies should be found.

Gains do not depend on panels and networks, so that a fit without panels, of one network and one epoch, is enough.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from banditplex.datasets import planted
from banditplex.errors import InputError
from banditplex.markdown import markdown_table
from banditplex.multiplex import Multiplex
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.storage.rows import Row
from experiments import panels
from experiments.runner import Experiment, Page

QUICK = {"fits": 2, "copies": 1, "epochs": 1, "data": "mixed,twins"}
DATA = "mixed,ckm,vickers,lazega-corrected,celegans,twins"
SIMILARITIES = (0.5, 0.65, 0.8)
PLANTED = {"num_layers": 6, "groups": 2, "num_nodes": 200, "edges_per_layer": 500}


class Fit(NamedTuple):
    """One fit: on a data set whose layers are permuted or, with a similarity, on planted copies."""

    data: str
    similarity: float | None
    seed: int
    epochs: int
    directed: bool

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {'permuted' if self.similarity is None else self.similarity}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--data", default=DATA, metavar="NAMES", help=f"data sets, with commas; default: {DATA}")
    parser.add_argument("--fits", type=int, default=200, metavar="N", help="of permuted layers, in all; default: 200")
    parser.add_argument("--copies", type=int, default=20, metavar="N", help="fits for each similarity; default: 20")
    parser.add_argument("--epochs", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--directed", action="store_true", help="keep the directions of edges")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment; the fits of permuted layers take turns with the data sets."""
    for name in ("fits", "copies"):
        if getattr(options, name) < 1:
            raise InputError(f"Expected --{name} of at least 1, got {getattr(options, name)}.")
    names, first = options.data.split(","), options.first_seed
    how = options.epochs, options.directed
    tasks = [
        Fit(names[number % len(names)], None, first + number // len(names), *how) for number in range(options.fits)
    ]
    tasks += [
        Fit("planted", similarity, first + number, *how)
        for similarity in SIMILARITIES
        for number in range(options.copies)
    ]
    seeds = range(first, 1 + max(task.seed for task in tasks))
    return Experiment(work, tasks, report, seeds)


def work(task: Fit) -> Iterator[Row]:
    """Yield what a fit says: how many copies there are and were found, and how many other layers it calls helpful."""
    if task.similarity is None:
        mx, targets = panels.load(task.data, task.seed, directed=task.directed)
        mx, relevant = permuted(mx, task.seed), {}
    else:
        mx = planted(similarity=task.similarity, seed=task.seed, **PLANTED)
        targets, relevant = None, mx.metadata["relevant"]
    short = LinkPredictor(epochs=task.epochs, members=1, policy="none", seed=task.seed)
    gains = short.fit(mx, targets).layer_gains_
    copy = np.array([row.layer in relevant.get(row.target, ()) for row in gains.itertuples()], np.bool_)
    helps = gains["helps"].to_numpy(np.bool_)
    yield {
        "data": task.data, "similarity": task.similarity, "seed": task.seed, "layers": mx.num_layers,
        "compared": len(gains), "copies": int(copy.sum()), "found": int((helps & copy).sum()),
        "wrong": int((helps & ~copy).sum()),
    }  # fmt: skip


def permuted(mx: Multiplex, seed: int) -> Multiplex:
    """Return a multiplex in which the nodes of each layer are permuted, each layer by a permutation of its own."""
    rng = stream(seed, "permuted layers")
    new_name = np.array([rng.permutation(mx.num_nodes) for _ in range(mx.num_layers)])
    ends = new_name[mx.edge_layer, mx.edge_index]
    return Multiplex.from_indices(
        ends[0], ends[1], mx.edge_layer, node_names=mx.node_names, layer_names=mx.layer_names, directed=mx.directed
    )


def report(rows: list[Row]) -> Page:
    """Return a table of permuted layers, and one of planted copies."""
    table = pd.DataFrame(rows)
    null, planted_ = table[table["similarity"].isna()], table[table["similarity"].notna()]
    lines = []
    for name, here in [*null.groupby("data", sort=False), ("all", null)]:
        layers = str(here["layers"].iloc[0]) if name != "all" else ""
        wrong = int((here["wrong"] > 0).sum())
        lines.append([name, layers, str(here["compared"].sum()), str(len(here)), str(wrong), share(wrong, len(here))])
    parts = [
        "## Permuted layers\n",
        "A fit is wrong if it says of any layer that it helps: at most 5 % should be. In brackets: the exact 95 % "
        "interval of the share.\n",
        markdown_table(["data", "layers", "comparisons", "fits", "wrong fits", "share"], lines),
    ]
    lines = []
    for similarity, here in planted_.groupby("similarity"):
        copies, found = (int(here[name].sum()) for name in ("copies", "found"))
        numbers = [str(len(here)), str(copies), str(found), share(found, copies), str((here["wrong"] > 0).sum())]
        lines.append([f"{similarity:g}", *numbers])
    parts += [
        "## Planted copies\n",
        f"Layers of {PLANTED['edges_per_layer']} edges. At least 95 % of the copies should be found. A fit is wrong if "
        "it says of a layer that is not a copy that it helps.\n",
        markdown_table(["similarity", "fits", "copies", "found", "share found", "wrong fits"], lines),
    ]
    return Page("Which layers help", parts, {"values": table})


def share(count: int, of: int) -> str:
    """Return a share with its exact 95 % interval, in per cent.

    >>> share(0, 10), share(1, 2)
    ('0.0 % [0.0, 30.8]', '50.0 % [1.3, 98.7]')
    """
    limits = binomtest(count, of).proportion_ci()
    return f"{100 * count / of:.1f} % [{100 * limits.low:.1f}, {100 * limits.high:.1f}]"
