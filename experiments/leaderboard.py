"""Where our default stands: its place on every leaderboard of a folder, and how far it is from the best rival.

A leaderboard is a folder that `banditplex compare DATA -o DIR` wrote. Methods that failed with a seed are left out, and
so are the other variants of our learner. Differences are paired over seeds, with the standard errors that
`banditplex compare` wrote. Where edges were not ranked, as on splits that come with the data, other metrics and medians
over layers are shown.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from banditplex.errors import InputError
from banditplex.leaderboard.board import CSV, SEEDS
from banditplex.leaderboard.compare import MEDIANS
from banditplex.leaderboard.lines import HEADS
from banditplex.leaderboard.methods import OURS, VARIANTS
from banditplex.markdown import markdown_table, number
from banditplex.storage.rows import Row
from experiments.runner import Experiment, Page

QUICK: dict[str, Any] = {}
METRICS = ("hard_mrr", "roc_auc")
UNRANKED = ("roc_auc", "average_precision", "f1", "ap_at_50", *(f"median_{name}" for name in MEDIANS))
"""Metrics of leaderboards without rankings."""


class Board(NamedTuple):
    """One leaderboard."""

    key: str
    folder: str


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument(
        "--folder", default="docs/results/rankings", metavar="DIR",
        help="folder of the folders that `banditplex compare -o` wrote; default: docs/results/rankings",
    )  # fmt: skip


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    found = sorted(path.parent for path in Path(options.folder).glob(f"*/{SEEDS}"))
    if not found:
        raise InputError(f"{options.folder}: expected folders with {SEEDS}, written by `banditplex compare`, got none.")
    boards = [Board(path.name, str(path)) for path in found]
    return Experiment(measure, boards, report, [0])


def measure(board: Board) -> Iterator[Row]:
    """Yield one row per metric and rival: means, and the difference of our default to it."""
    tests: Any = pd.read_csv(Path(board.folder) / SEEDS).dropna(axis=1, how="all")
    errors: Any = pd.read_csv(Path(board.folder) / CSV).set_index("method")
    if OURS not in set(tests["method"]):
        raise InputError(f"{board.folder}: expected results of the method {OURS!r}, got none.")
    metrics = METRICS if METRICS[0] in tests else UNRANKED
    for metric in (name for name in metrics if name in tests):
        table: Any = tests.pivot_table(metric, "seed", "method").dropna(axis=1)
        if OURS not in table:
            raise InputError(f"{board.folder}: expected results of the method {OURS!r} with every seed, got some.")
        for method in [name for name in table if name not in VARIANTS]:
            gap, error = table[OURS] - table[method], errors.at[method, f"{metric}_error"]
            yield {
                "board": board.key, "metric": metric, "method": method, "seeds": len(gap), "mean": table[method].mean(),
                "ours": table[OURS].mean(), "difference": gap.mean(), "error": None if pd.isna(error) else error,
            }  # fmt: skip


def report(rows: list[Row]) -> Page:
    """Return a line per leaderboard and metric."""
    table: Any = pd.DataFrame(rows)
    lines = []
    for (board, metric), here in table.groupby(["board", "metric"], sort=False):
        best = here.iloc[int(here["mean"].to_numpy().argmax())]
        place = 1 + int((here["difference"] < 0).sum())
        gap, error = float(best["difference"]), best["error"]
        near = "first" if place == 1 else "unknown" if pd.isna(error) else "yes" if gap >= -2 * error else "no"
        numbers = [number(float(each), 4) for each in (best["ours"], best["mean"], gap)]
        of = f"{place} of {len(here) + 1}"
        shown = "-" if pd.isna(error) else number(float(error), 4)
        lines.append(
            [str(board), HEADS[str(metric)], numbers[0], of, best["method"], *numbers[1:], shown, near]
        )  # fmt: skip
    heads = ["data", "metric", OURS, "place", "best rival", "its mean", "difference", "standard error", "within two"]
    return Page("Where our default stands", [markdown_table(heads, lines)], {"differences": table})
