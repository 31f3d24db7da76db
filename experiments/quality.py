"""ROC-AUC of LinkPredictor with its defaults, beside simple baselines, on the same splits.

80/20, undirected, one negative per held-out edge; means over layers with at least three test edges. The best rival of
a data set is chosen on other seeds (--rival-seeds), or from the values.csv of an earlier run (--rivals), so that the
choice does not favour it. Methods that are not run are taken from that run as well, on the same seeds. Differences are
paired over seeds, with the corrected standard error of `banditplex compare`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from banditplex.baselines import BASELINES
from banditplex.errors import InputError
from banditplex.evaluation import Split, roc_auc, split
from banditplex.markdown import markdown_table, number
from banditplex.multiplex import Name
from banditplex.predictor import LinkPredictor
from banditplex.scorer import LinkScorer
from banditplex.storage.rows import Row
from experiments import comparison
from experiments.comparison import PairedDifference
from experiments.runner import Experiment, Page, names_of, seeds_of

QUICK = {"seeds": 1, "epochs": 3, "rival_seeds": "0"}
OURS = "banditplex"
SIMPLE = (
    "common-neighbours", "jaccard", "adamic-adar", "resource-allocation", "preferential-attachment",
    "resource-allocation-union", "overlap", "overlap+union", "svd", "svd-union", "regression", "pooled-regression",
    "pooled-trees",
)  # fmt: skip
METHODS = (OURS, *SIMPLE)
MIN_TEST_EDGES = 3


class Fit(NamedTuple):
    """One method on one split."""

    data: str
    hide: str
    method: str
    seed: int
    epochs: int | None
    members: int | None = None

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.data}, {self.hide}, {self.method}, seed {self.seed}"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--data", default="twins", metavar="NAMES", help="data sets, with commas; default: twins")
    parser.add_argument("--hide", default="layer", choices=("layer", "pair"), help="of the split; default: layer")
    parser.add_argument("--seeds", type=int, default=2, metavar="N", help="number of seeds; default: 2")
    parser.add_argument("--epochs", type=int, metavar="N", help="of LinkPredictor; default: its own")
    parser.add_argument("--members", type=int, metavar="N", help="networks of LinkPredictor; default: its own")
    parser.add_argument("--methods", metavar="NAMES", help=f"with commas, of {', '.join(METHODS)}; default: all")
    parser.add_argument(
        "--rival-seeds", default="0-1", metavar="A-B", help="seeds to choose the best rival on; default: 0-1"
    )
    parser.add_argument(
        "--rivals", metavar="FILE", help="choose from this values.csv instead; it also has what is not run"
    )
    parser.set_defaults(first_seed=100)


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds, data = seeds_of(options), options.data.split(",")
    methods = names_of(options.methods, METHODS, "--methods")
    earlier = None if options.rivals is None else read_rivals(Path(options.rivals))
    rival_seeds = read_range(options.rival_seeds) if earlier is None else range(0)
    if set(seeds) & set(rival_seeds):
        raise InputError(f"Expected --rival-seeds other than {seeds[0]} to {seeds[-1]}, got {options.rival_seeds}.")
    tasks = [
        Fit(name, options.hide, method, seed, *((options.epochs, options.members) if method == OURS else (None, None)))
        for name in data
        for method in methods
        for seed in (*seeds, *(rival_seeds if method != OURS else ()))
    ]

    def make_report(rows: list[Row]) -> Page:
        table = pd.DataFrame(rows)
        every = table if earlier is None else pd.concat([table, not_run(earlier, table)])
        choice = table if earlier is None else earlier
        parts = [part for name in data for part in report(name, options.hide, every, choice, seeds)]
        parts += beside_best(data, options.hide, every, choice, seeds)
        return Page(f"Quality, hide={options.hide}", [NOTE, *parts], {"values": table})

    return Experiment(measure, tasks, make_report, seeds)


def not_run(earlier: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of an earlier run of all methods that the table does not have."""
    return earlier[~earlier["method"].isin(table["method"])]


def read_range(text: str) -> range:
    """Read seeds such as "3" or "0-9".

    >>> list(read_range("2-4"))
    [2, 3, 4]
    """
    first, _, last = text.partition("-")
    if not first.isdigit() or not (last or first).isdigit() or int(last or first) < int(first):
        raise InputError(f"Expected seeds such as 0-9, got {text!r}.")
    return range(int(first), int(last or first) + 1)


def read_rivals(path: Path) -> pd.DataFrame:
    """Read the values.csv of an earlier run."""
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    table = pd.read_csv(path)
    lacking = {"data", "hide", "method", "seed", "roc_auc"} - set(table)
    if lacking:
        raise InputError(f"{path}: expected a column {min(lacking)!r}, got columns {', '.join(map(repr, table))}.")
    return table


# One fit


def measure(task: Fit) -> Iterator[Row]:
    """Yield the row of a method on a split: ROC-AUC, the number of layers in the mean, and seconds per fit."""
    parts = split(comparison.load(task.data, task.seed), hide=task.hide, seed=task.seed)
    parts.check()
    targets = testable(parts)
    model = make(task)
    began = perf_counter()
    model.fit(parts.train, targets)
    seconds = perf_counter() - began
    auc = comparison.model_means(parts, model, roc_auc, targets=targets)[0]
    about = {"data": task.data, "hide": task.hide, "method": task.method, "seed": task.seed}
    yield {**about, "roc_auc": auc, "layers": len(targets), "seconds": seconds}


def make(task: Fit) -> LinkScorer:
    """Return the unfitted method of a task."""
    if task.method != OURS:
        return BASELINES[task.method](hide=task.hide, seed=task.seed)
    given: dict[str, Any] = {"epochs": task.epochs, "members": task.members}
    chosen = {name: value for name, value in given.items() if value is not None}
    return LinkPredictor(hide=task.hide, seed=task.seed, **chosen)


def testable(parts: Split) -> list[Name]:
    """Return the layers with enough edges for training and for the mean."""
    size = dict(zip(parts.train.layer_names, parts.train.layer_sizes.tolist(), strict=True))
    return [name for name in size if size[name] and parts.test(name)[1].sum() >= MIN_TEST_EDGES]


# The report

NOTE = (
    "ROC-AUC: means over layers with at least three test edges, then over seeds, with the standard deviation over "
    f"seeds. {comparison.DIFFERENCES}\n"
)


def report(data: str, hide: str, table: pd.DataFrame, choice: pd.DataFrame, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the parts of the page about a data set; the best rival is chosen from `choice`."""
    here, auc = cell(data, hide, table, seeds)
    lines = []
    for method in (name for name in METHODS if name in auc):
        seconds = here.loc[here["method"] == method, "seconds"].mean()
        difference = "" if method == OURS or OURS not in auc else beside(data, auc, method).text(4)
        deviation = float(np.nanstd(auc[method]))
        lines.append([method, number(float(auc[method].mean()), 4), number(deviation, 4), difference, f"{seconds:.1f}"])
    yield f"## {data}\n"
    yield markdown_table(["method", "mean", "deviation", f"{OURS} - method", "seconds per fit"], lines)
    best = best_rival(data, hide, choice, seeds, rivals_in(auc))
    if best is not None and OURS in auc:
        yield f"Best rival on seeds {best[1]}: {best[0]}. Difference: {beside(data, auc, best[0]).text(4)}.\n"


def cell(data: str, hide: str, table: pd.DataFrame, seeds: Sequence[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of a data set, and the ROC-AUC of each seed and method."""
    here = table[(table["data"] == data) & (table["hide"] == hide) & table["seed"].isin(seeds)]
    auc = here.pivot(index="seed", columns="method", values="roc_auc").sort_index()
    return here, auc[[method for method in METHODS if method in auc]]


def rivals_in(auc: pd.DataFrame) -> list[str]:
    """Return the methods of a table of ROC-AUC other than ours."""
    return [method for method in SIMPLE if method in auc]


def beside(data: str, auc: pd.DataFrame, rival: str) -> PairedDifference:
    """Compare ours with a rival on a data set, on the seeds that both have."""
    both = auc[[OURS, rival]].dropna()
    return PairedDifference.of(both[OURS], both[rival], ratio=comparison.ratio_of(data))


def beside_best(
    data: Sequence[str], hide: str, table: pd.DataFrame, choice: pd.DataFrame, seeds: Sequence[int]
) -> list[str]:
    """Return a table of all data sets beside their best rivals, and the mean difference."""
    lines, means = [], []
    for name in data:
        auc = cell(name, hide, table, seeds)[1]
        best = best_rival(name, hide, choice, seeds, rivals_in(auc))
        if best is None or OURS not in auc:
            continue
        found, both = beside(name, auc, best[0]), auc[[OURS, best[0]]].dropna()
        ours, rival = (number(float(both[method].mean()), 4) for method in (OURS, best[0]))
        lines.append([name, str(len(both)), ours, f"{rival}, {best[0]}", found.text(4)])
        means.append(found.mean)
    if not lines:
        return []
    mean = round(float(np.mean(means)), 4)
    heads, text = ["data", "seeds", OURS, "rival", "difference"], "+" * (mean >= 0) + number(mean, 4)
    return ["## Beside the best rivals\n", markdown_table(heads, lines), f"Mean difference: {text}.\n"]


def best_rival(
    data: str, hide: str, choice: pd.DataFrame, seeds: Sequence[int], methods: Sequence[str]
) -> tuple[str, str] | None:
    """Return the rival with the best mean on other seeds, and these; on the same seeds, if there are no others."""
    here = choice[(choice["data"] == data) & (choice["hide"] == hide) & choice["method"].isin(methods)]
    others = here[~here["seed"].isin(seeds)]
    others = here if others.empty else others
    if others.empty:
        return None
    used = sorted(set(others["seed"].tolist()))
    name = str(others.groupby("method")["roc_auc"].mean().idxmax())
    return name, f"{used[0]} to {used[-1]}" if len(used) > 1 else str(used[0])
