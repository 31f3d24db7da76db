"""A figure for each open problem."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from banditplex import plots
from experiments.figures import legend_below
from experiments.open_problems import settings
from experiments.open_problems.analysis import MEASURES, difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "default": "#c22f4e", "uniform": "#d99028", "all": "#3f9a78", "none": "#8b929c",
    "predictive": "#c22f4e", "euclidean": "#2b6cb0", "cosine": "#8b5cf6",
}  # fmt: skip
SHADES = ("#c22f4e", "#e07b54", "#d9a928", "#5aa17f", "#2b6cb0")
K_MEASURES = ("auc", "auc_degree", "seconds_per_epoch", "edges_per_step")
WORK = {"steps": ("steps per draw", ("draws", "edges")), "cost": ("strength of prices", ("edges",))}
"""Part: title of the legend, and what is on the x axes."""


def title(data: Any) -> str:
    """Return the name of a data set as figures show it."""
    return settings.DATA[data].title


# Open problem 1


def draw_k(folder: Path, table: pd.DataFrame) -> None:
    """Draw test AUC, time and edges against k; `table` are the lines of part k of the summary."""
    by_data = table.groupby("data", sort=False)
    with plots.figure(folder, "k", size=(13.6, 0.6 + 2.8 * len(by_data))) as figure:
        panels: Any = figure.subplots(len(by_data), len(K_MEASURES), squeeze=False)
        for line, (data, here) in zip(panels, by_data, strict=True):
            for panel, measure in zip(line, K_MEASURES, strict=True):
                _plot_k(panel, here, measure)
                panel.set_title(f"{title(data)}: {MEASURES[measure][0]}" if measure == "auc" else MEASURES[measure][0])
                if not measure.startswith("auc"):
                    panel.set_ylim(bottom=0)
        for panel in panels[-1]:
            panel.set_xlabel("k, layers per draw")
        legend_below(figure, panels[0, 0])


def _plot_k(axes: "Axes", table: pd.DataFrame, measure: str) -> None:
    for label in ("default", "uniform"):
        line = table[table["label"] == label]
        numbers = line["value"], line[measure], line[f"{measure}_error"]
        plots.band(axes, *numbers, COLOURS[label], "o-", alpha=0.18, linewidth=2, markersize=4.5, label=label)
    for label, style in (("all", "--"), ("none", ":")):
        for value in table.loc[table["label"] == label, measure]:
            axes.axhline(value, color=COLOURS[label], linestyle=style, linewidth=1.6, label=settings.REFERENCES[label])
    ks = sorted(table.loc[table["value"] > 0, "value"].unique())
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [f"{k:g}" for k in ks])
    plots.grid(axes)


# Open problem 2


def draw_work(folder: Path, part: str, curves: pd.DataFrame) -> None:
    """Draw test AUC against edges encoded and, for steps, against draws; a line per value that is compared."""
    from matplotlib.ticker import EngFormatter

    legend, measures = WORK[part]
    by_data = curves.groupby("data", sort=False)
    size = (max(5.2, 3.6 * len(by_data)), 0.9 + 2.9 * len(measures))
    with plots.figure(folder, part, size=size) as figure:
        panels: Any = figure.subplots(len(measures), len(by_data), squeeze=False)
        for line, measure in zip(panels, measures, strict=True):
            for panel, (data, here) in zip(line, by_data, strict=True):
                for colour, (value, curve) in zip(SHADES, here[here[measure] > 0].groupby("value"), strict=False):
                    x, y, error = (curve[name] for name in (measure, "auc", "auc_error"))
                    plots.band(panel, x, y, error, colour, alpha=0.12, linewidth=1.8, label=f"{value:g}")
                    panel.plot(x[-1:], y[-1:], "o", color=colour, markersize=5)
                if measure == "draws":
                    panel.set_xscale("log")
                else:
                    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
                panel.set(title=title(data), xlabel=f"{MEASURES[measure][0]} so far")
                plots.grid(panel)
            line[0].set_ylabel("test ROC-AUC")
        legend_below(figure, panels[0, 0], legend)


# Open problem 3


def draw_losses(folder: Path, table: pd.DataFrame, finals: pd.DataFrame) -> None:
    """Draw what each layer loss gains over uniform draws, and how likely it makes the relevant layers."""
    count = table["data"].nunique()
    with plots.figure(folder, "losses", size=(10.0, 1.7 + 0.42 * max(count, 3))) as figure:
        gain, found = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _plot_gains(gain, finals)
        _plot_found(found, table.dropna(subset="probability"))
        legend_below(figure, gain, "layer loss")


def _plot_gains(axes: "Axes", finals: pd.DataFrame) -> None:
    axes.axvline(0, color=COLOURS["uniform"], linewidth=1.6, linestyle=":", label="uniform draws")
    by_data = dict(list(finals.groupby("data", sort=False)))
    for place, label in enumerate(settings.LOSSES):
        gains = [difference(here, (label, 1), ("uniform", 1)) for here in by_data.values()]
        y = np.arange(len(gains)) + 0.22 * (place - 1)
        mean, error, _ = np.array(gains).T
        axes.errorbar(
            mean, y, xerr=np.nan_to_num(error), fmt="o", color=COLOURS[label], markersize=5.5, elinewidth=1.6,
            label=label,
        )  # fmt: skip
    axes.set_yticks(range(len(by_data)), map(title, by_data))
    axes.set(ylim=(len(by_data) - 0.5, -0.5), xlabel="test ROC-AUC above that of uniform draws, with standard error")
    axes.set_title("What a layer loss is worth, k = 1")
    axes.tick_params(axis="y", length=0)
    plots.grid(axes, "x")


def _plot_found(axes: "Axes", known: pd.DataFrame) -> None:
    for place, (label, lines) in enumerate(known.groupby("label", sort=False)):
        x = np.arange(len(lines)) + 0.2 * (place - 1.5)
        error = np.nan_to_num(lines["probability_error"])
        axes.bar(x, lines["probability"], 0.18, color=COLOURS[str(label)], yerr=error)
    names = known["data"].unique()
    axes.set_xticks(range(len(names)), map(title, names))
    axes.set(ylim=(0, 1), xlim=(-0.6, max(len(names), 1) - 0.4), ylabel="probability")
    axes.set_title("Probability of relevant layers")
    axes.tick_params(axis="x", length=0)
    plots.grid(axes)
