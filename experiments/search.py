"""What the bandit that searches for promising layers is worth: helpers found against looks.

A look is a pair of the target in one other layer. bandit: rounds that go on with the best quarter of the layers.
evenly: as many looks, the same number in each layer. The targets are those of `panels`; a helper is found if it is
among the layers that regressions compare with its target.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from banditplex.arrays import Ints
from banditplex.evaluation import split
from banditplex.markdown import markdown_table
from banditplex.storage.rows import Row
from banditplex.training import find, search
from banditplex.training.comparison import Comparison
from banditplex.training.config import Config
from banditplex.training.data import prepare as prepare_data
from experiments.panels import GROUP, load, searching
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"data": "groups-60-opposite", "looks": "20000,100000", "nodes": 400, "seeds": 1, "hide": "layer"}
DATA = "groups-250-opposite,groups-1000-opposite,groups-4096-opposite"
LOOKS = "250000,500000,1000000,2000000,4000000,8000000"
WAYS = ("bandit", "evenly")


class Task(NamedTuple):
    """The search in one split."""

    data: str
    hide: str
    seed: int
    looks: tuple[int, ...]
    nodes: int | None
    group: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.hide}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--data", default=DATA, metavar="NAMES", help="as in panels, with commas; default: %(default)s")
    parser.add_argument("--hide", default="layer,pair", help="of the splits, with commas; default: layer,pair")
    parser.add_argument(
        "--looks", default=LOOKS, metavar="NUMBERS", help="of a target, with commas; default: %(default)s"
    )
    parser.add_argument("--nodes", type=int, default=1000, metavar="N", help="of groups; default: %(default)s")
    parser.add_argument("--group", type=int, default=GROUP, metavar="N", help="layers of a group; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.set_defaults(first_seed=400)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds, looks = seeds_of(options), tuple(int(word) for word in options.looks.split(","))
    tasks = [
        Task(data, hide, seed, looks, options.nodes, options.group)
        for data in reversed(options.data.split(","))
        for hide in names_of(options.hide, ("layer", "pair"), "--hide")
        for seed in seeds
    ]
    return Experiment(measure, tasks, report, seeds)


def measure(task: Task) -> Iterator[Row]:
    """Yield, for each number of looks and each way, how many helpers are found; seconds are those of a target."""
    mx, names = load(task.data, task.seed, nodes=task.nodes, group=task.group)
    train = split(mx, hide=task.hide, seed=task.seed).train
    targets = np.array([mx.layer_index(name) for name in names or ()])
    config = replace(Config(hide=task.hide).checked(), evidence="drawn", validation=0.0)
    data, every = prepare_data(train, targets, config), np.arange(mx.num_layers)
    helpers = [{mx.layer_index(name) for name in mx.metadata["relevant"][target]} for target in names or ()]
    for looks in task.looks:
        for way in WAYS:
            row = {"data": task.data, "hide": task.hide, "seed": task.seed, "way": way, "looks": looks}
            found, seconds = 0, 0.0
            with searching(way, len(every) - 1), counting() as spent:
                for place, right in enumerate(helpers):
                    others = np.delete(every, targets[place])
                    compare = replace(find.comparison(data, place, 0, "search"), bridged=True)
                    began = perf_counter()
                    found += len(right & {*search.promising_layers(compare, others, find.COMPARED, looks).tolist()})
                    seconds += perf_counter() - began
            row |= {"spent": sum(spent) / len(helpers), "seconds": seconds / len(helpers)}
            yield row | {"found": found, "helpers": sum(map(len, helpers))}


@contextmanager
def counting() -> Iterator[list[int]]:
    """Count the looks of each round of the search."""
    spent, look = [], search.look

    def counted(compare: Comparison, layers: Ints) -> Tensor:
        spent.append(len(compare.pairs) * len(layers))
        return look(compare, layers)

    search.look = counted
    try:
        yield spent
    finally:
        search.look = look


NOTE = (
    "Looks are pairs of a target, counted once for each layer: those that are spent, in thousands, in the mean of all "
    "targets and seeds. A search spends more than it is given where a layer would get fewer than "
    f"{search.FEWEST_PAIRS} pairs. Found: helpers among the {find.COMPARED} most promising layers. Seconds are those "
    "of a target.\n"
)


def report(rows: list[Row]) -> Page:
    """Return the page."""
    table = pd.DataFrame(rows)
    lines = []
    for (data, hide, _), here in table.groupby(["data", "hide", "looks"], sort=False):
        line = [str(data), str(hide), f"{here['looks'].iloc[0] / 1e3:,.0f}"]
        for way in WAYS:
            some = here[here["way"] == way]
            found = f"{some['found'].sum()} of {some['helpers'].sum()}"
            line += [f"{some['spent'].mean() / 1e3:,.0f}", found, f"{some['seconds'].mean():.1f}"]
        lines.append(line)
    heads = ["data", "hidden", "looks given", *(head for way in WAYS for head in (f"{way}: spent", "found", "seconds"))]
    return Page("What the bandit of the search is worth", [NOTE, markdown_table(heads, lines)], {"values": table})
