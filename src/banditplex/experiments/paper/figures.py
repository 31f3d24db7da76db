"""The paper's figures: six data sets, accuracy by epoch, one standard deviation shaded."""

import re
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex import plots
from banditplex.experiments.paper.analysis import Runs
from banditplex.experiments.paper.settings import DATASETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "uniform": "#2b6cb0",
    "exp3+": "#d99028",
    "exp3+ cosine": "#d99028",
    "exp3+ printed": "#6b7280",
    "ours": "#c22f4e",
    "ours cosine": "#c22f4e",
    "ours predictive": "#3f9a78",
}
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
PANEL, LETTERS = 3.5, 12
"""The width of a panel in inches, and letters of a title that fit into an inch."""
STYLE: Any = plots.STYLE | {
    "font.size": 9, "axes.titlesize": 10, "axes.titlepad": 6, "axes.titlecolor": "auto", "xtick.major.size": 3,
    "ytick.major.size": 0,
}  # fmt: skip


def write_figures(runs: Runs, folder: Path, names: Iterable[str] = FIGURES) -> None:
    """Draw figures as PNG and SVG."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        for name in names:
            figure = draw(runs, name)
            figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            (folder / f"{name}.svg").write_text(as_svg(figure), encoding="utf-8", newline="\n")


def as_svg(figure: "Figure") -> str:
    """Return a figure as SVG without date and version, coordinates to a hundredth of a point."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text.getvalue())


def draw(runs: Runs, name: str) -> "Figure":
    """Return a figure: a panel per data set, in the paper's order."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    title, curve, methods = FIGURES[name]
    columns = min(3, len(runs.datasets))
    rows = -(-len(runs.datasets) // columns)
    title = fill(title, int(LETTERS * PANEL * columns))
    size = PANEL * columns, 0.25 + 0.2 * len(title.splitlines()) + 2.3 * rows
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.06))
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels[len(runs.datasets) :]:
        panel.remove()
    for place, (panel, dataset) in enumerate(zip(panels, runs.datasets, strict=False)):
        plot(panel, runs, dataset, curve, methods)
        panel.set_title(DATASETS[dataset])
        if place % columns == 0:
            panel.set_ylabel(f"{curve} accuracy")
        if place >= len(runs.datasets) - columns:
            panel.set_xlabel("epoch")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color="#111827")
    return figure


def plot(panel: "Axes", runs: Runs, dataset: str, curve: str, methods: Iterable[str]) -> None:
    """Draw mean curves with one standard deviation over all runs, each labelled at its end."""
    ends: dict[str, float] = {}
    for method in methods:
        if not runs.has(dataset, method):
            continue
        every = runs.curve(dataset, method, curve)
        every = every.reshape(-1, every.shape[-1])
        mean, deviation = every.mean(axis=0), every.std(axis=0)
        epoch, colour = np.arange(1, len(mean) + 1), COLOURS[method]
        plots.band(panel, epoch, mean, deviation, colour, alpha=0.13, linewidth=1.6, solid_capstyle="round")
        ends[method] = float(mean[-len(mean) // 10 :].mean())
    panel.set_xlim(1, len(mean))
    panel.grid(axis="y", color=plots.GRID, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
    panel.locator_params(axis="x", nbins=5, integer=True)
    panel.yaxis.set_major_formatter("{x:.2f}")
    low, high = panel.get_ylim()
    for method, place in plots.spread(ends, 0.085 * (high - low)).items():
        panel.annotate(
            method, (len(mean), place), (4, 0), textcoords="offset points", color=COLOURS[method], va="center",
            fontsize=8, annotation_clip=False,
        )  # fmt: skip
