"""The look of the figures, and how they are kept: PNG to be seen anywhere, SVG to be sharp."""

from collections.abc import Iterator
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
