"""Calibration: how often the pairs that `recommend` returns are links, beside the probabilities that it states.

80/20 splits with hide="layer"; the prior is the share of held-out edges among the unknown pairs. For each layer with at
least three held-out edges: the mean probability of the 100 most likely pairs, and the share of held-out edges among
them. The expected calibration error is that of the 1,000 most likely pairs of all layers, in ten bins of probability.
Networks of more than 2,000 nodes are ranked on all pairs of 1,000 nodes.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from banditplex.evaluation import Split, split
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Name
from banditplex.plots import FAINT, figure, grid
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.storage.rows import Row
from experiments import comparison
from experiments.comparison import SplitRun
from experiments.runner import Experiment, Page, seeds_of

Ints = NDArray[np.int64]
QUICK = {"seeds": 1, "epochs": 3, "data": "vickers,twins"}
DATA = "vickers,ckm,lazega-corrected,celegans,euair,twins,arxiv"
TOP, MORE, BINS = 100, 1_000, 10
LARGE, SAMPLED = 2_000, 1_000
"""Of networks with more nodes than the first, this many are sampled."""
MIN_TEST = 3
METHOD = "default"
BLUE = "#2563eb"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    comparison.add_options_of_runs(parser)
    parser.set_defaults(data=DATA, seeds=3)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    names, seeds = options.data.split(","), seeds_of(options)
    tasks = [SplitRun(name, METHOD, seed, options.epochs) for name in names for seed in seeds]
    return Experiment(work, tasks, report, seeds)


def work(task: SplitRun) -> Iterator[Row]:
    """Yield what was stated and what is true, for the top of each layer and for each bin of probability."""
    parts = split(comparison.load(task.data, task.seed), hide="layer", seed=task.seed)
    model = LinkPredictor(hide="layer", epochs=task.epochs, seed=task.seed).fit(parts.train)
    head = {"data": task.data, "seed": task.seed}
    yield head | {"part": "brier", "layer": "", "says": comparison.model_brier(parts, model), "is": 0.0, "pairs": 0}
    nodes, some = parts.train.num_nodes, None
    if nodes > LARGE:
        chosen = np.sort(stream(task.seed, "candidates").permutation(nodes)[:SAMPLED])
        some = parts.train.node_names[chosen[np.stack(np.triu_indices(SAMPLED, 1), axis=1)]]
    found = []
    for layer in model.layer_probabilities_.index:
        held_out = _held_out(parts, layer)
        if len(held_out) < MIN_TEST:
            continue
        prior = len(held_out) / (nodes * (nodes - 1) // 2 - parts.train.edges(layer).shape[1])
        table = model.recommend(layer, top=MORE, candidates=some, prior=prior)
        ends = parts.train.node_index(table[["source", "destination"]].to_numpy())
        hit = np.isin(ends @ [nodes, 1], held_out @ [nodes, 1])
        found.append(np.stack([table["probability"].to_numpy(), hit]))
        says, true = found[-1][:, :TOP].mean(axis=1).tolist()
        yield head | {"part": "top", "layer": str(layer), "says": says, "is": true, "pairs": min(TOP, len(hit))}
    says, true = np.concatenate(found, axis=1)
    place = np.minimum((says * BINS).astype(int), BINS - 1)
    for number_ in np.unique(place).tolist():
        here = place == number_
        means = {"says": float(says[here].mean()), "is": float(true[here].mean()), "pairs": int(here.sum())}
        yield head | {"part": "bin", "layer": str(number_)} | means


def _held_out(parts: Split, layer: Name) -> Ints:
    """Return the held-out edges (n, 2) of a layer, smaller index first."""
    pairs, label = parts.test(layer)
    return np.sort(pairs[label == 1], axis=1)


def report(rows: list[Row]) -> Page:
    """Return a table with a line per data set, and reliability diagrams."""
    table = pd.DataFrame(rows)
    lines = summary(table)
    mean = lines[["error", "calibration error", "Brier score"]].mean()
    shown = [[name, *(number(value, 3) for value in row)] for name, *row in lines.reset_index().to_numpy().tolist()]
    shown.append(["mean", "", "", *(number(value, 3) for value in mean)])
    text = (
        f"Of the {TOP} most likely pairs of a layer: the mean probability, the share of held-out edges, and the mean "
        f"absolute difference of the two; means over layers, then over seeds. The calibration error is that of the "
        f"{MORE:,} most likely pairs of each layer. The Brier score is that of test pairs, half of them edges.\n"
    )
    head = ["data", "probability", "share of links", "error", "calibration error", "Brier score"]
    parts = [text, markdown_table(head, shown), "![Reliability diagrams](reliability.png)\n"]
    return Page("Calibration", parts, {"values": table}, lambda folder: draw(table, folder))


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the means over layers and seeds of each data set, in the order of the table."""
    top = table[table["part"] == "top"]
    top = top.assign(error=(top["says"] - top["is"]).abs())
    lines = top.groupby(["data", "seed"], sort=False)[["says", "is", "error"]].mean()
    bins = table[table["part"] == "bin"]
    bins = bins.assign(error=(bins["says"] - bins["is"]).abs() * bins["pairs"])
    sums = bins.groupby(["data", "seed"], sort=False)[["error", "pairs"]].sum()
    lines["calibration error"] = sums["error"] / sums["pairs"]
    lines["Brier score"] = table[table["part"] == "brier"].set_index(["data", "seed"])["says"]
    return lines.groupby("data", sort=False).mean()


def draw(table: pd.DataFrame, folder: Path) -> None:
    """Draw one reliability diagram per data set: the share of links against the probability, in ten bins."""
    names = table["data"].unique().tolist()
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    with figure(folder, "reliability", size=(2.3 * columns, 2.5 * rows), svg=False) as made:
        grids = made.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axes, name in zip(grids.flat, names, strict=False):
            here = table[(table["part"] == "bin") & (table["data"] == name)]
            here = here.assign(says=here["says"] * here["pairs"], true=here["is"] * here["pairs"])
            bins = here.groupby("layer")[["says", "true", "pairs"]].sum()
            bins = bins[bins["pairs"] >= 20].sort_index()
            axes.plot([0, 1], [0, 1], "--", color=FAINT, linewidth=1)
            says, true = bins["says"] / bins["pairs"], bins["true"] / bins["pairs"]
            axes.plot(says, true, "-", color=BLUE, linewidth=1.2)
            axes.scatter(says, true, s=6 + 4 * np.log2(bins["pairs"] / 20 + 1), color=BLUE, zorder=3)
            axes.set(title=name, xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
            grid(axes, "both")
        for axes in grids.flat[len(names) :]:
            axes.set_visible(False)
        made.supxlabel("predicted probability", fontsize=9.5)
        made.supylabel("share of held-out links", fontsize=9.5)
