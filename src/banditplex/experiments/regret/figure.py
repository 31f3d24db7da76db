"""A picture of what policies believe over time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from banditplex.bandits import Policy, make_policy
from banditplex.experiments.regret.measure import game_of, rounds
from banditplex.experiments.regret.settings import FIGURE_POLICIES, POLICIES

Array = NDArray[np.float64]


def probabilities(policy: Policy, environment: str, *, horizon: int, seed: int) -> Array:
    """Return inclusion probabilities (horizon, arms), means over runs, arms ordered by their total loss."""
    runs, arms = policy.num_instances, policy.num_arms
    game = game_of(environment, runs=runs, arms=arms, horizon=horizon, seed=seed)
    order = np.argsort(sum(game.expected()), axis=1)
    ordered = (np.take_along_axis(row.inclusion, order, axis=1) for row in rounds(policy, game, seed=seed))
    return np.array([inclusion.mean(axis=0) for inclusion in ordered])


def draw(path: Path, games: Sequence[tuple[str, int, int]], *, runs: int, seed: int) -> None:
    """Write the picture: games (environment, arms, horizon) down, policies across, the best arm in colour."""
    figure = Figure(figsize=(10.4, 0.4 + 2.2 * len(games)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(games), len(FIGURE_POLICIES), sharey=True, squeeze=False)
    for line, (environment, arms, horizon) in zip(panels, games, strict=True):
        for panel, label in zip(line, FIGURE_POLICIES, strict=True):
            name, options = POLICIES[label]
            policy = make_policy(name, num_arms=arms, num_instances=runs, **options)
            plot(panel, probabilities(policy, environment, horizon=horizon, seed=seed))
        line[0].set_ylabel(f"{environment}, {arms} arms\nprobability")
    for panel, label in zip(panels[0], FIGURE_POLICIES, strict=True):
        panel.set_title(label)
    for panel in panels[-1]:
        panel.set_xlabel("round")
    panels[0, 0].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=120)


def plot(panel: Axes, over_time: Array) -> None:
    """Draw probabilities (horizon, arms), the first arm in colour, and a dotted line where all are equal."""
    horizon, arms = over_time.shape
    time = np.arange(1, horizon + 1)
    panel.plot(time, over_time[:, 0], color="C3", linewidth=2.0, zorder=3, label="best arm")
    panel.plot(time, over_time[:, 1], color="0.65", linewidth=0.8, label="others")
    panel.plot(time, over_time[:, 2:], color="0.65", linewidth=0.8)
    panel.axhline(1.0 / arms, color="k", linestyle=":", linewidth=0.8, label="uniform")
    panel.set(xscale="log", xlim=(1, horizon), ylim=(0.0, 1.0))
    panel.xaxis.set_major_formatter("{x:.0f}")
