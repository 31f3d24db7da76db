"""A figure for each open problem."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from banditplex import plots
from experiments.open_problems import settings
from experiments.open_problems.analysis import difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "default": "#c22f4e", "uniform": "#d99028", "all": "#3f9a78", "none": "#8b929c",
    "predictive": "#c22f4e", "euclidean": "#2b6cb0", "cosine": "#8b5cf6",
}  # fmt: skip
SHADES = ("#c22f4e", "#e07b54", "#d9a928", "#5aa17f", "#2b6cb0")
K_COLUMNS = {
    "auc": "test ROC-AUC",
    "auc_degree": "against degree-matched pairs",
    "seconds_per_epoch": "processor seconds per epoch",
    "edges_per_step": "edges encoded per step",
}
WORK = {
    "steps": ("steps per draw", {"draws": "draws", "edges": "edges encoded"}),
    "cost": ("strength of prices", {"edges": "edges encoded"}),
}
"""Part: title of the legend, and what is on the x axes."""


def title(data: str) -> str:
    """Return the name of a data set as figures show it."""
    return settings.DATA[data].title


def _names(table: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(table["data"]))


# Open problem 1


def draw_k(folder: Path, table: pd.DataFrame) -> None:
    """Draw test AUC, time and edges against k; `table` are the lines of part k of the summary."""
    names = _names(table)
    with plots.figure(folder, "k", size=(13.6, 0.6 + 2.8 * len(names))) as figure:
        panels: Any = figure.subplots(len(names), len(K_COLUMNS), squeeze=False)
        for line, data in zip(panels, names, strict=True):
            here = table[table["data"] == data]
            for panel, (measure, text) in zip(line, K_COLUMNS.items(), strict=True):
                _plot_k(panel, here, measure)
                panel.set_title(f"{title(data)}: {text}" if measure == "auc" else text)
                if not measure.startswith("auc"):
                    panel.set_ylim(bottom=0)
        for panel in panels[-1]:
            panel.set_xlabel("k, layers per draw")
        plots.legend_below(figure, panels[0, 0])


def _plot_k(axes: "Axes", table: pd.DataFrame, measure: str) -> None:
    for label in settings.K_POLICIES:
        line = table[table["label"] == label].sort_values("value")
        numbers = line["value"], line[measure], line[f"{measure}_error"]
        plots.band(axes, *numbers, COLOURS[label], "o-", alpha=0.18, linewidth=2, markersize=4.5, label=label)
    for label, style in (("all", "--"), ("none", ":")):
        reference = table[table["label"] == label]
        if len(reference):
            value = float(reference[measure].iloc[0])
            axes.axhline(value, color=COLOURS[label], linestyle=style, linewidth=1.6, label=settings.REFERENCES[label])
    ks = sorted(table.loc[table["value"] > 0, "value"].unique())
    axes.set_xscale("log", base=2)
    axes.set_xticks(ks, [f"{k:g}" for k in ks])
    plots.grid(axes)


# Open problem 2


def draw_work(folder: Path, part: str, curves: pd.DataFrame) -> None:
    """Draw test AUC against edges encoded and, for steps, against draws; a line per value that is compared."""
    legend, columns = WORK[part]
    names, values = _names(curves), sorted(curves["value"].unique())
    size = (max(5.2, 3.6 * len(names)), 0.9 + 2.9 * len(columns))
    with plots.figure(folder, part, size=size) as figure:
        panels: Any = figure.subplots(len(columns), len(names), squeeze=False)
        for line, (measure, text) in zip(panels, columns.items(), strict=True):
            for panel, data in zip(line, names, strict=True):
                for value, colour in zip(values, SHADES, strict=False):
                    curve = curves[(curves["data"] == data) & (curves["value"] == value) & (curves[measure] > 0)]
                    x, y, error = (curve.sort_values("epoch")[name] for name in (measure, "auc", "auc_error"))
                    plots.band(panel, x, y, error, colour, alpha=0.12, linewidth=1.8, label=f"{value:g}")
                    panel.plot(x[-1:], y[-1:], "o", color=colour, markersize=5)
                if measure == "draws":
                    panel.set_xscale("log")
                else:
                    panel.xaxis.set_major_formatter(_short)
                panel.set(title=title(data), xlabel=f"{text} so far")
                plots.grid(panel)
            line[0].set_ylabel("test ROC-AUC")
        plots.legend_below(figure, panels[0, 0], legend)


def _short(value: float, _: Any = None) -> str:
    """Return a number of edges in few letters.

    >>> _short(1_500_000.0), _short(20_000.0), _short(0.0)
    ('1.5M', '20k', '0')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


# Open problem 3


def draw_losses(folder: Path, summary: pd.DataFrame, finals: pd.DataFrame) -> None:
    """Draw what each layer loss gains over uniform draws, and how likely it makes the relevant layers."""
    table = summary[summary["part"] == "losses"]
    names = _names(table)
    known = [data for data in names if not table.loc[table["data"] == data, "probability"].isna().any()]
    with plots.figure(folder, "losses", size=(10.0, 1.7 + 0.42 * max(len(names), 3))) as figure:
        gain, found = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _plot_gains(gain, names, finals)
        _plot_found(found, known, table)
        plots.legend_below(figure, gain, "layer loss")


def _plot_gains(axes: "Axes", names: list[str], finals: pd.DataFrame) -> None:
    axes.axvline(0, color=COLOURS["uniform"], linewidth=1.6, linestyle=":", label="uniform draws")
    for place, label in enumerate(settings.LOSSES):
        gains = [difference(finals, "losses", data, (label, 1), ("uniform", 1)) for data in names]
        y = np.arange(len(names)) + 0.22 * (place - 1)
        mean, error, _ = np.array(gains).T
        axes.errorbar(
            mean, y, xerr=np.nan_to_num(error), fmt="o", color=COLOURS[label], markersize=5.5, elinewidth=1.6,
            label=label,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), [title(data) for data in names])
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="test ROC-AUC above that of uniform draws, with standard error")
    axes.set_title("What a layer loss is worth, k = 1")
    axes.tick_params(axis="y", length=0)
    plots.grid(axes, "x")


def _plot_found(axes: "Axes", names: list[str], table: pd.DataFrame) -> None:
    labels = (*settings.LOSSES, "uniform")
    for place, label in enumerate(labels):
        lines = table[table["label"] == label].set_index("data").loc[names]
        x = np.arange(len(names)) + 0.2 * (place - 1.5)
        axes.bar(x, lines["probability"], 0.18, color=COLOURS[label], yerr=np.nan_to_num(lines["probability_error"]))
    axes.set_xticks(range(len(names)), [title(data) for data in names])
    axes.set(ylim=(0, 1), xlim=(-0.6, max(len(names), 1) - 0.4), ylabel="probability")
    axes.set_title("Probability of relevant layers")
    axes.tick_params(axis="x", length=0)
    plots.grid(axes)
