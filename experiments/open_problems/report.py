"""The report on the open problems: every number comes from the rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.markdown import markdown_table, plus_minus
from experiments.comparison import PairedDifference
from experiments.open_problems import figures, settings
from experiments.open_problems.analysis import MEASURES, curves, difference, finals, ratio, summary
from experiments.open_problems.figures import title
from experiments.runner import Page

INTRODUCTION = (
    f'A fifth of the edges of every layer is held out (hide="{settings.HIDDEN_IN}"), with one negative per edge; '
    "*degree-matched* is the ROC-AUC against negatives with the degrees of edges. All numbers are means over target "
    "layers, then over seeds, with the standard error over seeds. Differences are paired over seeds, and *clear* if 0 "
    "lies outside their 95 % confidence interval (Student's t; seeds are random splits of the same data). The "
    "model sees target and drawn layers alone (`PAPER_MODEL` in `training/config.py`). Data sets, targets, epochs are "
    "listed in `experiments/open_problems/settings.py`. Times are seconds of one processor, the median over epochs.\n"
)


def make_page(rows: list[dict[str, Any]]) -> Page:
    """Return the page with all tables and figures."""
    tables = {"summary": summary(rows), "curves": curves(rows)}
    lines, over, last = (dict(list(table.groupby("part"))) for table in (*tables.values(), finals(rows)))
    parts = [part for part in SECTIONS if part in lines]

    def draw(folder: Path) -> None:
        for part in parts:
            if part == "losses":
                figures.draw_losses(folder, lines[part], last[part])
            elif part == "k":
                figures.draw_k(folder, lines[part])
            else:
                figures.draw_work(folder, part, over[part])

    sections = [text for part in parts for text in write_section(part, lines[part], last[part])]
    return Page("The paper's open problems, measured", [INTRODUCTION, *sections], tables, draw)


def write_section(part: str, lines: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield heading, findings, figure and table of a part from its rows of `summary` and of `finals`."""
    section = SECTIONS[part]
    yield f"## {section.title}\n"
    if section.text:
        yield f"{section.text}\n"
    yield from (f"- {sentence}" for sentence in section.sentences(last))
    yield f"\n![{section.caption}]({part}.png)\n"
    measures = ("auc", "auc_degree", "accuracy", *section.measures)
    heads = ["data set", *section.columns.values(), *(MEASURES[name][0] for name in measures)]
    names = ("data", *section.columns, *measures)
    yield markdown_table(heads, ([_cell(line, name) for name in names] for line in lines.to_dict("records")))


def _cell(line: dict[Any, Any], name: str) -> str:
    if name == "data":
        return title(line[name])
    if name == "label":
        return str(settings.REFERENCES.get(line[name], line[name]))
    if name == "value":
        return "-" if line["label"] in settings.REFERENCES else f"{line[name]:g}"
    digits = MEASURES[name][1]
    return f"{line[name]:,.0f}" if digits is None else plus_minus(line[name], line[f"{name}_error"], digits)


def k_sentences(last: pd.DataFrame) -> Iterator[str]:
    """Say what more layers per draw bring and cost on each data set."""
    for data, here in last.groupby("data", sort=False):
        ks = sorted(here.loc[here["label"] == "default", "value"].unique())
        few, many = ("default", ks[0]), ("default", ks[-1])
        gain, matched = (difference(here, many, few, name) for name in ("auc", "auc_degree"))
        time, edges, pairs = (ratio(here, many, few, name) for name in ("seconds_per_epoch", "edges", "pairs"))
        over = [difference(here, ("default", k), ("uniform", k)) for k in ks]
        text = (
            f"**{title(data)}**: {ks[-1]:g} layers per draw instead of {ks[0]:g} change the ROC-AUC of `default` by "
            f"{gain.text()}, for {time:.1f} times the time, {edges:.1f} times the edges and {pairs:.1f} times the "
            f"pair features; against degree-matched pairs by {matched.text()}. `default` less `uniform` at k = "
            f"{', '.join(f'{k:g}' for k in ks)}: {', '.join(each.text() for each in over)}."
        )
        if "all" in set(here["label"]):
            against = {k: difference(here, ("default", k), ("all", 0)) for k in ks}
            best = max(ks, key=lambda k: against[k].mean)
            saved = ratio(here, ("default", best), ("all", 0), "seconds_per_epoch")
            text += f" Against all layers at once, k = {best:g} has {against[best].text()} in {saved:.0%} of the time."
        else:
            text += " All layers at once could not be afforded here."
        yield text


def _changes(last: pd.DataFrame, head: str, work: str) -> Iterator[str]:
    """Say what each value changes against the smallest one, and what share of the work it needs."""
    for data, here in last.groupby("data", sort=False):
        first, *others = here[["label", "value"]].drop_duplicates().itertuples(index=False, name=None)
        changes = (
            f"{other[1]:g}: {difference(here, other, first).text()} with {ratio(here, other, first, work):.0%} "
            f"of the {work}"
            for other in others
        )
        yield f"**{title(data)}**, {head} against {first[1]:g}; {'; '.join(changes)}."


def losses_sentences(last: pd.DataFrame) -> Iterator[str]:
    """Say on how many data sets layer losses are better than uniform draws and than each other."""

    def gains(one: str, other: str) -> list[PairedDifference]:
        return [difference(here, (one, 1), (other, 1)) for _, here in last.groupby("data")]

    def count(some: list[PairedDifference], sign: int) -> int:
        return sum(gain.clear and sign * gain.mean > 0 for gain in some)

    for label in settings.LOSSES:
        found = gains(label, "uniform")
        mean = sum(gain.mean for gain in found) / len(found)
        yield (
            f"**{label}** is clearly better than uniform draws on {count(found, 1)} of {len(found)} data sets and "
            f"clearly worse on {count(found, -1)}; {mean:+.3f} on average."
        )
    ahead = [*gains("predictive", "euclidean"), *gains("predictive", "cosine")]
    yield (
        f"`predictive` against the two distances, in {len(ahead)} comparisons: clearly better in {count(ahead, 1)}, "
        f"clearly worse in {count(ahead, -1)}."
    )


@dataclass(frozen=True)
class PartReport:
    """How a part is reported: what is said of each data set, and the columns of its table."""

    title: str
    caption: str  # of the figure
    sentences: Callable[[pd.DataFrame], Iterator[str]]
    columns: dict[str, str]  # label, value or both, and what they are called
    measures: tuple[str, ...]  # besides ROC-AUC and accuracy
    text: str = ""


SECTIONS = {
    "k": PartReport(
        "1. Several layers per draw", "ROC-AUC and cost by k", k_sentences, {"label": "policy", "value": "k"},
        ("seconds_per_epoch", "edges_per_step", "pairs_per_step"),
    ),
    "steps": PartReport(
        "2. Gradient steps per draw", "ROC-AUC against draws and edges encoded",
        partial(_changes, head="steps per draw", work="draws"),
        {"value": "steps per draw"}, ("draws", "edges", "probability"),
        "A draw is kept for so many steps of its target; then the policy receives the mean layer loss of these steps, "
        "weighted with the probability that the draw had.",
    ),
    "cost": PartReport(
        "2b. Layers that differ in price", "ROC-AUC against edges encoded",
        partial(_changes, head="strength", work="edges"), {"value": "strength"}, ("edges", "edges_per_step"),
        "`cost-aware` around `default`: layer losses are multiplied by (edges of the layer / edges of the largest) to "
        "the power of a strength.",
    ),
    "losses": PartReport(
        "3. Layer losses", "Gain over uniform draws", losses_sentences, {"label": "layer loss"},
        ("probability", "seconds_per_epoch"),
    ),
}  # fmt: skip
