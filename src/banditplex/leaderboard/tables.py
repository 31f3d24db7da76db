"""Tables of the leaderboard, as text: what the terminal, Markdown and the page show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from banditplex.evaluation.ranking import FILTERED
from banditplex.leaderboard.lines import HEADLINE, Difference, Line
from banditplex.markdown import number, plus_minus

HEADS = {
    "filtered_mrr": "filtered MRR", "filtered_hits_at_1": "filtered Hits@1", "filtered_hits_at_3": "filtered Hits@3",
    "filtered_hits_at_10": "filtered Hits@10", "hard_mrr": "hard MRR", "hard_hits_at_10": "hard Hits@10",
    "roc_auc": "ROC-AUC", "average_precision": "AP", "accuracy": "accuracy", "f1": "F1", "ap_at_50": "AP@50",
    "median_roc_auc": "median ROC-AUC", "median_average_precision": "median AP", "median_ap_at_50": "median AP@50",
    "random_mrr": "MRR", "random_hits_at_10": "Hits@10", "seconds": "seconds", "memory": "MB",
    "parameters": "parameters", "settings": "chosen settings", "note": "note",
}  # fmt: skip
"""Columns of the main table, rankings first. MRR and Hits are against all nodes (filtered), hard or random pairs."""
TELLING, COST = ("roc_auc", "average_precision", "accuracy", "f1"), ("seconds", "memory", "parameters")
RANKING = (*FILTERED, "hard_mrr", "hard_hits_at_10", "random_mrr", "random_hits_at_10")
INSTEAD = ("ap_at_50", "median_roc_auc", "median_average_precision", "median_ap_at_50")
UNRANKED = ("f1", *INSTEAD)
"""Shown where there are no rankings: splits that come with the data have no negatives to rank against."""


@dataclass(frozen=True)
class Cell:
    """A text, and whether it is the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class TableRow:
    """Cells, and whether the method is ours, or has no result."""

    cells: tuple[Cell, ...]
    ours: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Table:
    """Heads and rows."""

    heads: tuple[str, ...]
    rows: tuple[TableRow, ...]


def main_table(lines: Sequence[Line], columns: Sequence[str] = tuple(HEADS)) -> Table:
    """Return a row per method; columns that are empty for all methods are left out, such as settings if not tuned."""
    shown = shown_columns(lines, columns)
    best = {name: _best(lines, name) for name in shown}
    rows = [
        TableRow(
            (Cell(line.method), *(Cell(_cell(line, name), line.method in best[name]) for name in shown)),
            line.ours,
            not line.seeds,
        )
        for line in lines
    ]
    return Table(("method", *(HEADS[name] for name in shown)), tuple(rows))


def shown_columns(lines: Sequence[Line], columns: Sequence[str] = tuple(HEADS)) -> list[str]:
    """Return the columns that say something about any of the methods."""
    hidden = UNRANKED if any(name in line.mean for line in lines for name in RANKING) else ()
    wanted = [name for name in columns if name not in hidden]
    return [name for name in wanted if any(_cell(line, name) not in ("", "-") for line in lines)]


def difference_table(lines: Sequence[Line]) -> Table | None:
    """Return the differences to the reference with corrected errors and p-values; None if there are none."""
    shown = [name for name in HEADLINE if any(name in line.difference for line in lines)]
    if not shown:
        return None
    rows = []
    for line in lines:
        cells = [Cell(line.method)]
        for name in shown:
            found = line.difference.get(name)
            cells += [Cell(difference(found)), Cell(p_value(found.p))] if found else [Cell(""), Cell("")]
        rows.append(TableRow(tuple(cells), line.ours, not line.seeds))
    return Table(("method", *(head for name in shown for head in (f"{HEADS[name]} difference", "p"))), tuple(rows))


def difference(found: Difference) -> str:
    """Return a difference with its sign and corrected error; one seed has no error."""
    return "+" * (found.mean >= 0) + plus_minus(found.mean, found.error)


def p_value(p: float) -> str:
    """Return a p-value in two digits."""
    return "< .001" if p < 0.001 else number(p)


def _cell(line: Line, name: str) -> str:
    if name == "note":
        return line.note
    if name == "settings":
        return "" if line.chosen == "defaults" else line.chosen
    if not line.seeds:
        return "-"
    if name == "seconds":
        return f"{line.seconds:.1f}"
    if name == "memory":
        return f"{line.memory / 1e6:,.0f}"
    if name == "parameters":
        return "-" if line.parameters is None else f"{line.parameters:,}"
    return plus_minus(line.mean[name], line.deviation[name]) if name in line.mean else "-"


def _best(lines: Sequence[Line], name: str) -> set[str]:
    """Return the methods with the highest mean of a metric, to the digits shown."""
    means: dict[str, Any] = {line.method: number(line.mean[name]) for line in lines if name in line.mean}
    values = {method: float(text) for method, text in means.items() if text != "-"}
    return {method for method, value in values.items() if value == max(values.values())}
