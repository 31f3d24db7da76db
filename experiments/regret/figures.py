"""Figures: regret, bounds, and inclusion probabilities over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from banditplex import plots
from banditplex.bandits import Policy, make_policy
from experiments.figures import FAINT, legend_below
from experiments.regret.analysis import by_policy
from experiments.regret.measure import follow_example, game_of, rounds
from experiments.regret.settings import FIGURE_POLICIES, POLICIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
COLOURS = {
    "printed sign": "#9ca3af", "exp3+": "#d99028", "raw range": "#8b5cf6", "exp3": "#0e9aa7", "exp3-ix": "#7c8c3a",
    "tsallis-inf": "#2b6cb0", "hinted": "#c22f4e",
}  # fmt: skip
PRINTED, PROVED, FOUND = "#111827", "#2b6cb0", "#c22f4e"


def draw_sizes(folder: Path, means: pd.DataFrame) -> None:
    """Draw the mean relative regret of each policy at each size."""
    table = by_policy(means, "size")
    places = range(len(table))
    with plots.figure(folder, "sizes", size=(10.4, 4.4)) as figure:
        axes = figure.subplots()
        for policy, line in table.items():
            thick, colour = 2.6 if policy == "hinted" else 1.5, COLOURS.get(str(policy), plots.INK)
            axes.plot(places, line, "o-", color=colour, linewidth=thick, markersize=4, label=policy)
        axes.axhline(1, color=FAINT, linestyle=":", linewidth=1.2)
        axes.annotate("uniform", (0, 1), (-30, 4), textcoords="offset points", color=FAINT)
        axes.set_xticks(places, [size.replace(", ", "\n") for size in table.index])
        axes.set(ylabel="relative regret", ylim=(0, None), title="Relative regret, mean over environments")
        axes.margins(x=0.08)
        plots.grid(axes)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def draw_environments(folder: Path, cells: pd.DataFrame) -> None:
    """Draw the relative regret in each environment as a coloured table, one for each size."""
    tables = {size: by_policy(some, "environment") for size, some in cells.groupby("size", sort=False)}
    height = max(map(len, tables.values()))
    with plots.figure(folder, "environments", size=(0.9 + 4.6 * len(tables), 1.5 + 0.27 * height)) as figure:
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for panel, (size, table) in zip(panels, tables.items(), strict=True):
            heat_map(panel, table, ["#2f8f6b", "#d8efe4", "#ffffff", "#f3c7cf", "#c22f4e"], (0.0, 1.0, 1.6))
            panel.axhline(len(table) - 1.5, color="white", linewidth=3)
            panel.set_title(size)
        figure.suptitle("Relative regret: 1 is uniform, 0 the best arm from the start", x=0.01, ha="left", fontsize=11)


def draw_theorem(folder: Path, checks: pd.DataFrame, *, seed: int) -> None:
    """Draw regret and bounds over rounds in the counter-examples, and against each other in all games."""
    examples = checks[checks["table"] == "example"]
    with plots.figure(folder, "theorem", size=(4.0 * (len(examples) + 1), 4.0)) as figure:
        *panels, last = figure.subplots(1, len(examples) + 1)
        for panel, game, runs in zip(panels, examples["game"], examples["runs"], strict=True):
            sides = [tuple(np.mean(side) for side in row) for row in follow_example(game, runs=runs, seed=seed)]
            _plot_bounds(panel, np.array(sides))
            panel.set(title=game, xlabel="round")
        panels[0].set_ylabel(f"mean of {examples['runs'].iloc[0]} runs")
        _plot_games(last, checks)
        legend_below(figure, panels[0])


def _plot_bounds(axes: "Axes", sides: Array) -> None:
    time = np.unique(np.geomspace(1, len(sides), 300).round().astype(np.int64))
    lines = (
        ("regret", FOUND, "-"), ("printed bound", PRINTED, "--"), ("estimated regret", "#8fb4dd", "-"),
        ("bound of the estimates", PROVED, "--"),
    )  # fmt: skip
    for values, (label, colour, style) in zip(sides.T, lines, strict=True):
        axes.plot(time, np.maximum(values[time - 1], 1e-9), style, color=colour, linewidth=2, label=label)
    axes.set(xscale="log", yscale="log", xlim=(1, len(sides)), ylim=(np.maximum(sides[0, 0], 1e-2), None))
    plots.grid(axes)


def _plot_games(axes: "Axes", checks: pd.DataFrame) -> None:
    for label, colour, mark, bound, regret in (
        ("printed", PRINTED, "x", "printed_bound", "regret"),
        ("of the estimates", PROVED, "o", "estimated_bound", "estimated_regret"),
    ):
        axes.scatter(checks[bound], checks[regret], color=colour, marker=mark, s=26, alpha=0.85, label=label)
    low, high = (pick(axes.get_xlim() + axes.get_ylim()) for pick in (min, max))
    low = max(low, 1e-2)
    axes.plot([low, high], [low, high], color=FAINT, linewidth=1)
    axes.fill_between([low, high], [low, high], high, color=FOUND, alpha=0.08, linewidth=0)
    axes.annotate("the bound fails", (0.06, 0.93), xycoords="axes fraction", color=FOUND, va="top")
    axes.set(xscale="log", yscale="log", xlabel="bound", ylabel="regret", title="All games")
    axes.legend(loc="lower right", title="bound")


def probabilities(policy: Policy, environment: str, *, horizon: int, seed: int) -> Array:
    """Return inclusion probabilities (horizon, arms), means over runs, arms ordered by their total loss."""
    runs, arms = policy.num_instances, policy.num_arms
    game = game_of(environment, runs=runs, arms=arms, horizon=horizon, seed=seed)
    order = np.argsort(sum(game.expected()), axis=1)
    ordered = (np.take_along_axis(row.inclusion, order, axis=1) for row in rounds(policy, game, seed=seed))
    return np.array([inclusion.mean(axis=0) for inclusion in ordered])


def draw_probabilities(folder: Path, games: Sequence[tuple[str, int, int]], *, runs: int, seed: int) -> None:
    """Draw probabilities over time: games (environment, arms, horizon) down, policies across, best arm in colour."""
    with plots.figure(folder, "probabilities", size=(10.4, 0.5 + 2.2 * len(games))) as figure:
        panels: Any = figure.subplots(len(games), len(FIGURE_POLICIES), sharey=True, squeeze=False)
        for line, (environment, arms, horizon) in zip(panels, games, strict=True):
            for panel, label in zip(line, FIGURE_POLICIES, strict=True):
                registered, options = POLICIES[label]
                policy = make_policy(registered, num_arms=arms, num_instances=runs, **options)
                _plot_beliefs(panel, probabilities(policy, environment, horizon=horizon, seed=seed))
            line[0].set_ylabel(f"{environment}, {arms} arms\nprobability")
        for panel, label in zip(panels[0], FIGURE_POLICIES, strict=True):
            panel.set_title(label)
        for panel in panels[-1]:
            panel.set_xlabel("round")
        panels[0, 0].legend(fontsize="small")


def _plot_beliefs(panel: "Axes", over_time: Array) -> None:
    """Draw probabilities (horizon, arms), the first arm in colour, and a dotted line where all are equal."""
    horizon, arms = over_time.shape
    time = np.arange(1, horizon + 1)
    panel.plot(time, over_time[:, 0], color=FOUND, linewidth=2.2, zorder=3, label="best arm")
    panel.plot(time, over_time[:, 1], color="#b6bcc6", linewidth=0.8, label="others")
    panel.plot(time, over_time[:, 2:], color="#b6bcc6", linewidth=0.8)
    panel.axhline(1.0 / arms, color="k", linestyle=":", linewidth=0.8, label="uniform")
    panel.set(xscale="log", xlim=(1, horizon), ylim=(0.0, 1.0))
    panel.xaxis.set_major_formatter("{x:.0f}")


def heat_map(axes: "Axes", table: pd.DataFrame, colours: Sequence[str], limits: tuple[float, float, float]) -> None:
    """Draw a table of numbers, each in its cell; colours change from the lowest limit over the middle to the highest.

    Where a number is NaN, the cell stays empty.
    """
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

    low, middle, high = limits
    values = table.to_numpy(dtype=float)
    image = axes.imshow(
        values, LinearSegmentedColormap.from_list("ours", colours), TwoSlopeNorm(middle, low, high), aspect="auto"
    )
    for (i, j), value in np.ndenumerate(values):
        text = "" if np.isnan(value) else f"{value:.2f}".removeprefix("0")
        is_dark = sum(image.to_rgba(value)[:3]) < 1.8
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if is_dark else plots.INK)
    axes.set_xticks(range(table.shape[1]), list(map(str, table.columns)), rotation=35, ha="right")
    axes.set_yticks(range(table.shape[0]), list(map(str, table.index)))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
