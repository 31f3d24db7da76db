"""The report on the open problems: every number comes from the rows."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.markdown import markdown_table, plus_minus
from experiments.comparison import PairedDifference
from experiments.open_problems import figures, settings
from experiments.open_problems.analysis import curves, difference, finals, ratio, summary
from experiments.open_problems.figures import title
from experiments.runner import Page

Rows = list[dict[str, Any]]
Columns = dict[str, Callable[[Any], str]]
INTRODUCTION = (
    f'A fifth of the edges of every layer is held out (hide="{settings.HIDE}"), with one negative per edge; '
    "*degree-matched* is the ROC-AUC against negatives with the degrees of edges. All numbers are means over target "
    "layers, then over seeds, with the standard error over seeds. Differences are paired over seeds, and *clear* if 0 "
    "lies outside their 95 % confidence interval (Student's t; seeds are random splits of the same data). All other "
    "settings are the defaults of `LinkPredictor`; data sets, targets and epochs are listed in "
    "`experiments/open_problems/settings.py`. Times are seconds of one processor, the median over epochs.\n"
)


def make_page(rows: Rows) -> Page:
    """Return the page with all tables and figures."""
    lines, last, over = summary(rows), finals(rows), curves(rows)
    present = [part for part in SECTIONS if part in set(lines["part"])]

    def draw(folder: Path) -> None:
        for part in present:
            if part == "losses":
                figures.draw_losses(folder, lines, last)
            elif part == "k":
                figures.draw_k(folder, lines[lines["part"] == part])
            else:
                figures.draw_work(folder, part, over[over["part"] == part])

    sections = [text for part in present for text in SECTIONS[part](lines[lines["part"] == part], last)]
    tables = {"summary": lines, "curves": over}
    return Page("The paper's open problems, measured", [INTRODUCTION, *sections], tables, draw)


# Open problem 1


def k_section(lines: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield the text about several layers per draw."""
    yield "## 1. Several layers per draw\n"
    for data in dict.fromkeys(lines["data"]):
        yield f"- {k_sentence(lines[lines['data'] == data], last)}"
    yield "\n![ROC-AUC and cost by k](k.png)\n"
    yield _table(
        lines,
        {
            "policy": lambda row: settings.REFERENCES.get(row.label, row.label),
            "k": lambda row: f"{row.value:g}" if row.value else "-",
            **_JUDGED,
            "seconds per epoch": lambda row: plus_minus(row.seconds_per_epoch, row.seconds_per_epoch_error, 2),
            "edges per step": lambda row: f"{row.edges_per_step:,.0f}",
            "pair features per step": lambda row: f"{row.pairs_per_step:,.0f}",
        },
    )


def k_sentence(lines: pd.DataFrame, last: pd.DataFrame) -> str:
    """Say what more layers per draw bring and cost on one data set."""
    data = lines["data"].iloc[0]
    ks = sorted(lines.loc[lines["label"] == "default", "value"])
    few, many = ("default", ks[0]), ("default", ks[-1])
    gain, matched = (difference(last, "k", data, many, few, name) for name in ("auc", "auc_degree"))
    over = [difference(last, "k", data, ("default", k), ("uniform", k)) for k in ks]
    time, edges, pairs = (ratio(last, "k", data, many, few, name) for name in ("seconds_per_epoch", "edges", "pairs"))
    text = (
        f"**{title(data)}**: {ks[-1]:g} layers per draw instead of {ks[0]:g} change the ROC-AUC of `default` by "
        f"{_signed(gain)}, for {time:.1f} times the time, {edges:.1f} times the edges and {pairs:.1f} times the pair "
        f"features; against degree-matched pairs by {_signed(matched)}. `default` less `uniform` at k = "
        f"{', '.join(f'{k:g}' for k in ks)}: {', '.join(_signed(each) for each in over)}."
    )
    if "all" in set(lines["label"]):
        best = max(ks, key=lambda k: difference(last, "k", data, ("default", k), ("all", 0)).mean)
        against = difference(last, "k", data, ("default", best), ("all", 0))
        saved = ratio(last, "k", data, ("default", best), ("all", 0), "seconds_per_epoch")
        return f"{text} Against all layers at once, k = {best:g} has {_signed(against)} in {saved:.0%} of the time."
    return f"{text} All layers at once could not be afforded here."


# Open problem 2


def steps_section(lines: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield the text about gradient steps per draw."""
    yield "## 2. Gradient steps per draw\n"
    yield (
        "A draw is kept for so many steps of its target; then the policy receives the mean layer loss of these steps, "
        "weighted with the probability that the draw had.\n"
    )
    for data in dict.fromkeys(lines["data"]):
        yield f"- **{title(data)}**, against 1 step per draw: {_changes(lines, last, data, ' steps', 'draws')}."
    yield "\n![ROC-AUC against draws and edges encoded](steps.png)\n"
    yield _table(
        lines,
        {
            "steps per draw": lambda row: f"{row.value:g}",
            **_JUDGED,
            "draws": lambda row: f"{row.draws:,.0f}",
            "edges encoded": lambda row: f"{row.edges:,.0f}",
            "probability of relevant layers": lambda row: plus_minus(row.probability, row.probability_error),
        },
    )


def cost_section(lines: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield the text about layers that differ in price."""
    yield "## 2b. Layers that differ in price\n"
    yield (
        "`cost-aware` around `default`: layer losses are multiplied by (edges of the layer / edges of the largest) to "
        "the power of a strength.\n"
    )
    for data in dict.fromkeys(lines["data"]):
        yield f"- **{title(data)}**, strengths against 0: {_changes(lines, last, data, ':', 'edges')}."
    yield "\n![ROC-AUC against edges encoded](cost.png)\n"
    yield _table(
        lines,
        {
            "strength": lambda row: f"{row.value:g}",
            **_JUDGED,
            "edges encoded": lambda row: f"{row.edges:,.0f}",
            "edges per step": lambda row: f"{row.edges_per_step:,.0f}",
        },
    )


def _changes(lines: pd.DataFrame, last: pd.DataFrame, data: str, unit: str, work: str) -> str:
    """List what each value changes against the smallest one on a data set, and the share of the work that it needs."""
    part, label = lines["part"].iloc[0], lines["label"].iloc[0]
    first, *others = [(label, value) for value in sorted(lines.loc[lines["data"] == data, "value"])]
    return "; ".join(
        f"{other[1]:g}{unit} {_signed(difference(last, part, data, other, first))} with "
        f"{ratio(last, part, data, other, first, work):.0%} of the {work}"
        for other in others
    )


# Open problem 3


def losses_section(lines: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield the text about layer losses."""
    names = list(dict.fromkeys(lines["data"]))
    yield "## 3. Layer losses\n"
    for label in settings.LOSSES:
        gains = [difference(last, "losses", data, (label, 1), ("uniform", 1)) for data in names]
        up, down = (sum(gain.clear and sign * gain.mean > 0 for gain in gains) for sign in (1, -1))
        mean = sum(gain.mean for gain in gains) / len(gains)
        yield (
            f"- **{label}** is clearly better than uniform draws on {up} of {len(names)} data sets and clearly worse "
            f"on {down}; {mean:+.3f} on average."
        )
    ahead = [difference(last, "losses", data, ("predictive", 1), (label, 1)) for data in names for label in DISTANCES]
    better, worse = (sum(gain.clear and sign * gain.mean > 0 for gain in ahead) for sign in (1, -1))
    yield (
        f"- `predictive` against the two distances, in {len(ahead)} comparisons: clearly better in {better}, clearly "
        f"worse in {worse}.\n"
    )
    yield "![Gain over uniform draws](losses.png)\n"
    yield _table(
        lines,
        {
            "layer loss": lambda row: row.label if row.label != "uniform" else "(uniform draws)",
            **_JUDGED,
            "probability of relevant layers": lambda row: plus_minus(row.probability, row.probability_error),
            "seconds per epoch": lambda row: plus_minus(row.seconds_per_epoch, row.seconds_per_epoch_error, 2),
        },
    )


DISTANCES = ("euclidean", "cosine")
SECTIONS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Iterator[str]]] = {
    "k": k_section, "steps": steps_section, "cost": cost_section, "losses": losses_section
}  # fmt: skip
_JUDGED: Columns = {
    "ROC-AUC": lambda row: plus_minus(row.auc, row.auc_error),
    "degree-matched": lambda row: plus_minus(row.auc_degree, row.auc_degree_error),
    "accuracy": lambda row: plus_minus(row.accuracy, row.accuracy_error),
}


def _table(lines: pd.DataFrame, columns: Columns) -> str:
    rows: Sequence[Any] = list(lines.itertuples(index=False))
    cells = ([title(row.data), *(show(row) for show in columns.values())] for row in rows)
    return markdown_table(["data set", *columns], cells)


def _signed(change: PairedDifference) -> str:
    """Return a difference with its standard error, and whether it is clear.

    >>> _signed(PairedDifference(0.25, 0.01, 5))
    '+.250 ± .010 (clear)'
    """
    return change.text() + " (clear)" * change.clear
