"""The style of all figures, saved without dates as PNG and SVG, and what several of them draw."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.storage.files import replace_file, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRID = "#374151", "#e5e7eb"
STYLE: Any = {
    "font.size": 9.5, "axes.titlesize": 10.5, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.titlepad": 8, "axes.titlecolor": "#111827", "axes.labelcolor": INK, "axes.edgecolor": "#9ca3af",
    "axes.spines.top": False, "axes.spines.right": False, "xtick.color": "#4b5563", "ytick.color": "#4b5563",
    "legend.frameon": False, "legend.fontsize": 9, "svg.hashsalt": "banditplex", "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
}  # fmt: skip


@contextmanager
def figure(folder: Path, name: str, *, size: tuple[float, float]) -> "Iterator[Figure]":
    """Give a figure of a size in inches to draw on; it is then written as `name`.png and `name`.svg."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with mpl.rc_context(STYLE):
        made = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
        FigureCanvasAgg(made)
        yield made
        with replacing(folder / f"{name}.png") as file:
            made.savefig(file, format="png", dpi=140, metadata={"Software": None})
        text = StringIO()
        made.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        short = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text.getvalue())
        replace_file(folder / f"{name}.svg", short.encode())


def grid(axes: "Axes", axis: Any = "y") -> None:
    """Draw faint lines behind what is plotted."""
    axes.grid(axis=axis, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def band(axes: "Axes", x: Any, y: Any, error: Any, colour: str, style: str = "-", *, alpha: float, **line: Any) -> None:
    """Draw a line with a shaded band of one error above and below."""
    x, y, error = (np.asarray(values, dtype=float) for values in (x, y, np.nan_to_num(error)))
    axes.fill_between(x, y - error, y + error, color=colour, alpha=alpha, linewidth=0)
    axes.plot(x, y, style, color=colour, **line)


def label_ends(axes: "Axes", x: float, ends: Mapping[str, float], colours: Mapping[str, str], gap: float) -> None:
    """Write the names of lines beside their ends at `x`, at least a `gap` apart: a share of the panel's height."""
    low, high = axes.get_ylim()
    for name, place in spread(ends, gap * (high - low)).items():
        axes.annotate(
            name, (x, place), (4, 0), textcoords="offset points", color=colours[name], va="center", fontsize=9,
            annotation_clip=False,
        )  # fmt: skip


def spread(places: Mapping[str, float], gap: float) -> dict[str, float]:
    """Return labels' places, moved apart where they are nearer than `gap`, their order and mean kept."""
    from sklearn.isotonic import isotonic_regression

    names = sorted(places, key=places.__getitem__)
    steps = [gap * rank for rank in range(len(names))]
    moved = isotonic_regression([places[name] - step for name, step in zip(names, steps, strict=True)])
    return {name: float(place + step) for name, place, step in zip(names, moved, steps, strict=True)}
