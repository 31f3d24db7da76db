"""What the figures of several experiments draw."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAINT = "#6b7280"


def legend_below(made: "Figure", axes: "Axes", title: str | None = None) -> None:
    """Draw the legend of one panel below all of them, in one line."""
    handles, labels = axes.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=len(labels), title=title)
