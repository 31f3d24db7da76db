"""The paper's figures: six data sets, accuracy by epoch, one standard deviation shaded."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import pandas as pd

from banditplex import plots
from banditplex.experiments.paper.analysis import Runs, curve_table
from banditplex.experiments.paper.settings import DATASETS

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


def write_figures(runs: Runs, folder: Path, names: Iterable[str] = FIGURES) -> None:
    """Draw figures as PNG and SVG."""
    curves = curve_table(runs)
    for name in names:
        draw(curves, folder, name)


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
