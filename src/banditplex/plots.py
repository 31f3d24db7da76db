"""The style of all figures, saved as PNG and SVG, and labels beside lines that do not overlap."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GRID = "#374151", "#6b7280", "#e5e7eb"
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
        made.savefig(folder / f"{name}.png", dpi=140, metadata={"Software": None})
        made.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


def grid(axes: "Axes", axis: Any = "y") -> None:
    """Draw faint lines behind what is plotted."""
    axes.grid(axis=axis, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def band(axes: "Axes", x: Any, y: Any, error: Any, colour: str, style: str = "-", *, alpha: float, **line: Any) -> None:
    """Draw a line with a shaded band of one error above and below."""
    import numpy as np

    x, y, error = (np.asarray(values, dtype=float) for values in (x, y, np.nan_to_num(error)))
    axes.fill_between(x, y - error, y + error, color=colour, alpha=alpha, linewidth=0)
    axes.plot(x, y, style, color=colour, **line)


def legend_below(made: "Figure", axes: "Axes", title: str | None = None) -> None:
    """Draw the legend of one panel below all of them, in one line."""
    handles, labels = axes.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=len(labels), title=title)


def spread(places: Mapping[str, float], gap: float) -> dict[str, float]:
    """Return labels' places, moved apart where they are nearer than `gap`, their order and mean kept.

    >>> spread({"a": 1.0, "b": 1.0, "c": 5.0}, 2.0)
    {'a': 0.0, 'b': 2.0, 'c': 5.0}
    """
    groups = [[[name], place] for name, place in sorted(places.items(), key=lambda item: item[1])]
    merged: list[list[Any]] = []
    for names, centre in groups:
        merged.append([names, centre])
        while len(merged) > 1 and _top(merged[-2], gap) + gap > _bottom(merged[-1], gap):
            (below, low), (above, high) = merged[-2:]
            both = [*below, *above]
            merged[-2:] = [[both, (low * len(below) + high * len(above)) / len(both)]]
    return {
        name: centre + (rank - (len(names) - 1) / 2) * gap
        for names, centre in merged
        for rank, name in enumerate(names)
    }


def _top(group: list[Any], gap: float) -> float:
    return float(group[1] + (len(group[0]) - 1) / 2 * gap)


def _bottom(group: list[Any], gap: float) -> float:
    return float(group[1] - (len(group[0]) - 1) / 2 * gap)
