"""Recall of candidates: how many of the most likely pairs are among those that `recommend` ranks in large layers.

In the three largest layers of each data set, all pairs that are no edges are scored. Each way to find candidates then
keeps a given share of as many pairs, and the 100 and 1,000 pairs of the highest scores are looked for among them. Of
networks of more than 2,000 nodes, the 2,000 with the most edges are kept, so that all pairs can be scored.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

import numpy as np
import pandas as pd

from banditplex.answers.ranking import RANKED_AT_ONCE, positions
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Multiplex
from banditplex.pairs.candidates import WAYS, find_candidates
from banditplex.pairs.known import PairSpace, in_order
from banditplex.prediction import FittedModel
from banditplex.predictor import LinkPredictor
from banditplex.storage.rows import Row
from experiments import comparison
from experiments.comparison import SplitRun
from experiments.runner import Experiment, Page, seeds_of

QUICK = {"epochs": 2, "data": "twins", "seeds": 1}
DATA = "celegans,euair,arxiv"
SHARES, TOPS = (0.003, 0.01, 0.03), (100, 1_000)
LAYERS, NODES = 3, 2_000


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    comparison.add_options_of_runs(parser)
    parser.set_defaults(data=DATA, seeds=1, epochs=10)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds = seeds_of(options)
    tasks = [SplitRun(name, "default", seed, options.epochs) for name in options.data.split(",") for seed in seeds]
    return Experiment(work, tasks, report, seeds)


def work(task: SplitRun) -> Iterator[Row]:
    """Yield the share of pairs ranked, and recalls, for each layer and size."""
    mx = densest(comparison.load(task.data, task.seed), NODES)
    targets = [mx.layer_names[index] for index in np.argsort(-mx.layer_sizes, kind="stable")[:LAYERS]]
    model = LinkPredictor(epochs=task.epochs, seed=task.seed).fit(mx, targets)
    for target in targets:
        yield from measure(model._fitted, target, {"data": task.data, "seed": task.seed, "layer": str(target)})


def measure(fitted: FittedModel, layer: str, head: Row) -> Iterator[Row]:
    """Yield recalls in one layer: of all ways together, and of each alone."""
    mx, index = fitted.mx, fitted.mx.layer_index(layer)
    chunks = [chunk[~mx.has_edges(chunk, layer)] for chunk in PairSpace(mx).chunks(index, RANKED_AT_ONCE)]
    scores = np.concatenate([fitted.logits(chunk, layer) for chunk in chunks])
    pairs = np.concatenate(chunks)
    ranked = (pairs @ [mx.num_nodes, 1])[np.argsort(-scores, kind="stable")]
    where = positions(fitted, layer)
    for share in SHARES:
        found = find_candidates(mx, index, size=max(1, round(share * len(pairs))), positions=where)
        keys = {way: in_order(some[:, 0], some[:, 1], mx) @ [mx.num_nodes, 1] for way, some in found.items()}
        keys["all"] = np.unique(np.concatenate(list(keys.values())))
        for way, some in keys.items():
            for top in TOPS:
                recall = float(np.isin(ranked[:top], some).mean())
                yield head | {"kept": share, "way": way, "ranked": len(some) / len(pairs), "top": top, "recall": recall}


def densest(mx: Multiplex, num_nodes: int) -> Multiplex:
    """Return the multiplex of the nodes with the most edges."""
    degree = np.bincount(mx.edge_index.ravel(), minlength=mx.num_nodes)
    chosen = np.sort(np.argsort(-degree, kind="stable")[:num_nodes])
    return mx if mx.num_nodes <= num_nodes else mx.subset(nodes=mx.node_names[chosen])


def report(rows: list[Row]) -> Page:
    """Return a table with a line per data set and size."""
    table = pd.DataFrame(rows)
    # layers of some data sets must not be compared with each other: means alone are written
    means = table.groupby(["data", "kept", "way", "top"], sort=False)[["ranked", "recall"]].mean()
    lines = []
    for data, kept in table[["data", "kept"]].drop_duplicates().itertuples(index=False):
        at = {way: [means.loc[(data, kept, way, top), "recall"] for top in TOPS] for way in ["all", *WAYS]}
        share = means.loc[(data, kept, "all", TOPS[0]), "ranked"]
        alone = [number(at[way][1], 2) for way in WAYS]
        lines.append([data, f"{kept:.1%}", f"{share:.1%}", *(number(each, 3) for each in at["all"]), *alone])
    text = (
        "Of the most likely pairs of a layer, the share that is among the candidates. *Kept* is the share of all pairs "
        "that each score keeps, *ranked* the share that all candidates are together. The last columns are the recall "
        f"of each way alone, of the {TOPS[1]:,} most likely pairs. Means over the {LAYERS} largest layers.\n"
    )
    head = ["data", "kept", "ranked", *(f"top {top:,}" for top in TOPS), *(way for way in WAYS)]
    return Page("Recall of candidates", [text, markdown_table(head, lines)], {"values": means.reset_index()})
