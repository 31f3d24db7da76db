"""Writes what was found: claims beside measurements, curves, figures, and an index; no number is written by hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from banditplex import plots
from banditplex.experiments.paper.analysis import (
    CHANCE,
    MIN_TRIALS,
    Difference,
    Finding,
    Runs,
    as_records,
    curve_table,
    findings,
    overall,
    published,
    why,
)
from banditplex.experiments.paper.settings import DATASETS, FOLDS, JUDGED, METHODS, SEED, SYNTHETIC, TRAINING, Size
from banditplex.markdown import markdown_table
from banditplex.storage.files import replace_file
from banditplex.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "uniform": "#2b6cb0", "exp3+": "#d99028", "exp3+ cosine": "#d99028", "exp3+ printed": "#6b7280",
    "ours": "#c22f4e", "ours cosine": "#c22f4e", "ours predictive": "#3f9a78",
}  # fmt: skip
FIGURES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "test-euclidean": ("Test accuracy, Euclidean layer loss", "test", ("uniform", "exp3+", "ours")),
    "train-euclidean": ("Train accuracy, Euclidean layer loss", "train", ("uniform", "exp3+", "ours")),
    "test-cosine": ("Test accuracy, cosine layer loss", "test", ("uniform", "exp3+ cosine", "ours cosine")),
    "variants": (
        "Test accuracy, the printed sign and the predictive layer loss",
        "test",
        ("uniform", "exp3+ printed", "ours", "ours predictive"),
    ),
}
"""File name: title, curve, and methods, named as in the tables; the first three are the paper's figures 1 to 3."""
PANEL, LETTERS = 3.8, 12  # the width of a panel in inches, and letters of a title that fit into an inch


def draw(curves: pd.DataFrame, folder: Path, name: str) -> "Figure":
    """Draw a figure with a panel per data set, in the paper's order, and return it."""
    title, curve, methods = FIGURES[name]
    datasets = list(dict.fromkeys(curves["dataset"]))
    columns = min(3, len(datasets))
    rows = -(-len(datasets) // columns)
    title = fill(title, int(LETTERS * PANEL * columns))
    size = PANEL * columns, 0.25 + 0.2 * len(title.splitlines()) + 2.4 * rows
    with plots.figure(folder, name, size=size) as figure:
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel in panels[len(datasets) :]:
            panel.remove()
        for place, (panel, dataset) in enumerate(zip(panels, datasets, strict=False)):
            plot(panel, curves[curves["dataset"] == dataset], curve, methods)
            panel.set_title(DATASETS[dataset])
            if place % columns == 0:
                panel.set_ylabel(f"{curve} accuracy")
            if place >= len(datasets) - columns:
                panel.set_xlabel("epoch")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color="#111827")
    return figure


def plot(panel: "Axes", curves: pd.DataFrame, curve: str, methods: Iterable[str]) -> None:
    """Draw mean curves of a data set with one standard deviation over all runs, each labelled at its end."""
    ends: dict[str, float] = {}
    last = int(curves["epoch"].max())
    for method in methods:
        lines = curves[curves["method"] == method]
        if len(lines):
            numbers = lines["epoch"], lines[curve], lines[f"{curve}_deviation"]
            plots.band(panel, *numbers, COLOURS[method], alpha=0.13, linewidth=1.6, solid_capstyle="round")
            ends[method] = float(lines[curve].iloc[-last // 10 :].mean())
    panel.set_xlim(1, last)
    plots.grid(panel)
    panel.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
    panel.locator_params(axis="x", nbins=5, integer=True)
    panel.yaxis.set_major_formatter("{x:.2f}")
    plots.label_ends(panel, last, ends, COLOURS, gap=0.085)


CLAIMS, CURVES, INDEX = "claims", "curves.csv", "index.md"
_text_table = partial(markdown_table, numbers=False)


def write(runs: Runs, folder: Path, *, command: str, size: Size) -> list[Finding]:
    """Write all files but the rows into a folder that exists; return what was found."""
    found, curves = findings(runs), curve_table(runs)
    records: Any = pd.DataFrame(as_records(found))
    texts = {
        CURVES: curves.to_csv(index=False, float_format="%.4f", lineterminator="\n"),
        f"{CLAIMS}.csv": records.to_csv(index=False, float_format="%.4g", lineterminator="\n"),
        f"{CLAIMS}.md": claims_page(runs, found),
        INDEX: index_page(runs, found, command=command, size=size),
    }
    for name, text in texts.items():
        replace_file(folder / name, text.encode())
    for name in FIGURES:
        draw(curves, folder, name)
    return found


def claims_page(runs: Runs, found: Sequence[Finding]) -> str:
    """Return the page of the claims: an overview, every data set, and why."""
    parts = [
        "# The paper says, we measured\n",
        "Differences to uniform draws in points of accuracy, means over trials and folds. Shares of epochs count those "
        "whose mean difference is above 0; p is Wilcoxon's, over the means of the trials.\n",
        _text_table(["the paper says", *(f"{method}: holds?" for method in JUDGED)], overview(found, words=True)),
        "## Claim by claim\n",
        *_claim_sections(runs, found),
        "## Data set by data set\n",
        "Test accuracy less that of uniform draws, in points: mean over epochs, largest of any epoch, share of epochs "
        "in which it is above 0, and above two standard errors.\n",
        _text_table(["data set", "method", "mean", "largest", "above 0", "above 2 s.e.", "p"], _differences(runs)),
        "## Why\n",
        "What layers were worth in the end, in test pairs: *best layer*, how many points the best layer of each target "
        "gives beyond a random one, in a network that was trained with uniform draws (chosen on one half of the test "
        "pairs, judged on the other); *its draws*, what the method's own draws give beyond random ones, in its own "
        "network; *mass*, the mean probability of its favourite layer.\n",
        _text_table(["data set", "best layer", "method", "its draws", "mass", "in words"], _reasons(runs)),
    ]
    return "\n".join(parts)


def overview(found: Sequence[Finding], *, words: bool = False) -> list[list[str]]:
    """Return a line per claim: its name or, if asked, its words, and whether it holds for each method."""
    lines = []
    for claim in published():
        some = {method: [each for each in found if each.claim == claim and each.method == method] for method in JUDGED}
        if all(some.values()):
            text = f'"{claim.words}" (figure {claim.figure})' if words else claim.name
            lines.append([text, *(overall(each) for each in some.values())])
    return lines


def _claim_sections(runs: Runs, found: Sequence[Finding]) -> Iterator[str]:
    for claim in published():
        some = [finding for finding in found if finding.claim == claim]
        if not some:
            continue
        cells = {(each.dataset, each.method): (each.measured, each.holds) for each in some}
        datasets = dict.fromkeys(each.dataset for each in some)
        lines = [[DATASETS[each], *(cell for method in JUDGED for cell in cells[each, method])] for each in datasets]
        heads = ["data set", *(head for method in JUDGED for head in (method, "holds?"))]
        yield f'**{claim.name[0].upper()}{claim.name[1:]}.** "{claim.words}"\n'
        yield _text_table(heads, lines)
        yield from _excuses(runs, some)


def _excuses(runs: Runs, some: Sequence[Finding]) -> Iterator[str]:
    """Say where a claim does not hold, and what was found to be the reason."""
    lines = []
    for finding in [each for each in some if each.holds != "yes" and each.claim.kind != "some better"]:
        method = JUDGED[finding.method][finding.claim.loss]
        reason = why(runs, finding.dataset, method)
        if finding.dataset in SYNTHETIC and finding.claim.curve == "test":
            found = runs.compare(finding.dataset, method, name="partnered")
            reason += f"; in the layers that have a relevant one {found.mean:+z.1f}, up to {found.largest:+z.1f}"
        lines.append(f"- {finding.method} on {DATASETS[finding.dataset]} ({finding.holds}): {reason}.")
    if lines:
        yield "\n".join(["Where it does not hold as printed:", "", *lines, ""])


def _differences(runs: Runs) -> Iterator[list[str]]:
    for dataset, method in runs.compared():
        yield [DATASETS[dataset], method, *_numbers(runs.compare(dataset, method))]
        if dataset in SYNTHETIC:
            partnered = runs.compare(dataset, method, name="partnered")
            yield [DATASETS[dataset], f"{method}, layers with a relevant one", *_numbers(partnered)]


def _numbers(difference: Difference) -> list[str]:
    clearly, p = difference.clearly_better, difference.p
    return [
        f"{difference.mean:+z.1f}", f"{difference.largest:+z.1f}", f"{difference.better:.0%}",
        "" if clearly is None else f"{clearly:.0%}", "" if p is None else f"{p:.3f}",
    ]  # fmt: skip


def _reasons(runs: Runs) -> Iterator[list[str]]:
    for dataset, method in runs.compared():
        room, gain = runs.number(dataset, "uniform", "headroom"), runs.number(dataset, method, "gain")
        numbers = f"{100 * room:+z.1f}", method, f"{100 * gain:+z.1f}", f"{runs.number(dataset, method, 'mass'):.2f}"
        yield [DATASETS[dataset], *numbers, why(runs, dataset, method)]


def index_page(runs: Runs, found: Sequence[Finding], *, command: str, size: Size) -> str:
    """Return the first page: what was run, whether the claims hold, the figures."""
    count = sum(curves["test"].shape[0] * curves["test"].shape[1] for curves in runs.curves.values())
    sets = ", ".join(DATASETS[dataset] for dataset in runs.datasets)
    methods = []
    for name in runs.methods:
        options = ", ".join(f"{option}={value}" for option, value in METHODS[name].options.items())
        methods.append([name, METHODS[name].policy, METHODS[name].loss or "none", options])
    few = " So few trials decide nothing: this is a look at what the whole run does." * (size.trials < MIN_TRIALS)
    parts = [
        "# The paper's experiments, run again\n",
        f"Made by this command, version {__version__}, seed {SEED}; no number on these pages is written by hand.\n",
        f"```text\n{command}\n```\n",
        f"{count:,} runs of {size.epochs} epochs ({count * size.epochs:,} epochs in all): {sets}; {len(runs.methods)} "
        f"methods; {size.trials} trials x {size.folds} of {FOLDS} folds.{few}\n",
        _text_table(["the paper's claim", *JUDGED], overview(found)),
        "`exp3+` is the paper's method with the sign of line 4 repaired, `ours` the default policy (hinted). The "
        f"[numbers behind this table, and why]({CLAIMS}.md), as [CSV]({CLAIMS}.csv), the [curves]({CURVES}).\n",
        "Test accuracy less that of uniform draws, mean over epochs, in points; a star where Wilcoxon's p, over the "
        f"means of the trials, is below {CHANCE}:\n",
        _text_table(["method", *(DATASETS[dataset] for dataset in runs.datasets)], _matrix(runs)),
        *(f"## {title}\n\n![{title}]({name}.svg)\n" for name, (title, _, _) in FIGURES.items()),
        "## What was run\n",
        _text_table(["method", "policy", "layer loss", "options"], methods),
        "Settings, the same for all: " + ", ".join(f"{name}={value!r}" for name, value in TRAINING.items()) + "; the "
        "others are the defaults of `LinkPredictor`. Accuracies are means over target layers; shaded is one standard "
        "deviation over runs. Every test pair looks at one layer, drawn anew from its target's policy, as training "
        "does.\n",
    ]
    return "\n".join(parts)


def _matrix(runs: Runs) -> Iterator[list[str]]:
    for method in runs.methods:
        if method != "uniform":
            differences = [runs.compare(dataset, method) for dataset in runs.datasets]
            stars = ["*" if each.p is not None and each.p < CHANCE else "" for each in differences]
            yield [method, *(f"{each.mean:+z.1f}{star}" for each, star in zip(differences, stars, strict=True))]
