"""The demo: what it is worth to let a bandit choose layers, on the built-in data set `twins`, in about a minute.

Six layers of `twins` have one other layer that helps to predict their links. Five policies decide which layers training
may look at: none, one at random, the one that a bandit learns to prefer, the right one (an oracle says which), and all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from banditplex.datasets import load_dataset
from banditplex.errors import InputError
from banditplex.evaluation import Split, accuracy, roc_auc, split
from banditplex.multiplex import Multiplex, Name
from banditplex.plots import spread
from banditplex.predictor import LinkPredictor
from banditplex.training.config import Config
from banditplex.training.draws import to_arm
from banditplex.training.threads import fitting_threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEEDS, EPOCHS = 3, 10
POLICIES = {
    "none": ("none", "its own layer only"),
    "uniform": ("uniform", "one other layer, at random"),
    "bandit": ("default", "one other layer, learnt"),
    "oracle": ("fixed", "the relevant layer, given"),
    "all": ("all", "all other layers"),
}
"""What is compared: the policy behind each name, and what it looks at."""
COLOURS = {"none": "#8b929c", "uniform": "#d99028", "bandit": "#c22f4e", "oracle": "#2b6cb0", "all": "#3f9a78"}

Progress = Callable[[str, int, float], Any]


@dataclass(frozen=True)
class Measured:
    """What the demo found out; one row per policy, seed and target, in `curves` per epoch as well.

    Columns: policy, seed, epoch, target; accuracy and auc on test pairs that training could not see; seconds of
    training so far; probability, how likely the policy is to draw the relevant layer next.
    """

    relevant: Mapping[Name, Name]  # the relevant layer of each target
    curves: pd.DataFrame
    results: pd.DataFrame  # with the weights that were best in validation
    beliefs: pd.DataFrame  # target x layer: what the bandits learnt, mean over seeds


# Measuring


def measure(*, seeds: int = SEEDS, epochs: int = EPOCHS, on_epoch: Progress | None = None) -> Measured:
    """Train with every policy on the same splits; on_epoch(policy, seed, mean test auc) is called after each epoch."""
    mx = load_dataset("twins")
    relevant = {target: layers[0] for target, layers in mx.metadata["relevant"].items() if layers}
    parts = [split(mx, hide="layer", seed=seed) for seed in range(seeds)]
    curves: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    beliefs: list[pd.DataFrame] = []
    for policy in POLICIES:
        for seed, part in enumerate(parts):
            model = make_model(policy, part.train, relevant, epochs=epochs, seed=seed)
            watch = Watch(policy, seed, part, relevant, on_epoch)
            with fitting_threads(part.train.num_edges):
                model.fit(part.train, list(relevant), watch)
                results += watch.judge(model, epochs)
            curves += watch.rows
            beliefs += [model.layer_probabilities_] * (policy == "bandit")
    return Measured(relevant, pd.DataFrame(curves), pd.DataFrame(results), sum(beliefs[1:], beliefs[0]) / seeds)


def make_model(policy: str, mx: Multiplex, relevant: Mapping[Name, Name], *, epochs: int, seed: int) -> LinkPredictor:
    """Return the model of a policy; the oracle gets the arm of each target's relevant layer."""
    arms = [[to_arm(mx.layer_index(target), mx.layer_index(layer))] for target, layer in relevant.items()]
    return LinkPredictor(
        policy=POLICIES[policy][0], policy_options={"arms": arms} if policy == "oracle" else None,
        epochs=epochs, patience=epochs, device="cpu", seed=seed,
    )  # fmt: skip


class Watch:
    """Judges a model after each epoch, with the clock stopped."""

    def __init__(
        self, policy: str, seed: int, part: Split, relevant: Mapping[Name, Name], on_epoch: Progress | None
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        self._policy, self._seed = policy, seed
        self._part, self._relevant, self._on_epoch = part, relevant, on_epoch
        self._spent, self._since = 0.0, perf_counter()

    def __call__(self, model: LinkPredictor, row: dict[str, Any]) -> None:
        """Be the `on_epoch` of a fit."""
        self._spent += perf_counter() - self._since
        rows = self.judge(model, row["epoch"])
        self.rows += rows
        if self._on_epoch is not None:
            self._on_epoch(self._policy, self._seed, float(np.mean([each["auc"] for each in rows])))
        self._since = perf_counter()

    def judge(self, model: LinkPredictor, epoch: int) -> list[dict[str, Any]]:
        """Return a row per target: how well its test pairs are told apart, and what its policy believes."""
        head = {"policy": self._policy, "seed": self._seed, "epoch": epoch, "seconds": self._spent}
        likely: Any = model.layer_probabilities_
        rows = []
        for target, layer in self._relevant.items():
            pairs, label = self._part.test(target)
            score = model.score_pairs(pairs, target)
            judged = {"accuracy": accuracy(label, score), "auc": roc_auc(label, score)}
            rows.append({**head, "target": target, **judged, "probability": float(likely.loc[target, layer])})
        return rows


# Telling


def summarise(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per policy: means over targets, then mean and deviation over seeds; of seconds the median.

    A single seed has no deviation (None). The first training of a process is slower than the others.
    """
    seeds = measured.results.groupby(["policy", "seed"])[["accuracy", "auc", "seconds"]].mean().groupby("policy")
    mean: Any = seeds.mean().assign(seconds=seeds["seconds"].median())
    deviation: Any = seeds.std(ddof=0)
    several = measured.results["seed"].nunique() > 1
    return [
        {"policy": policy, "looks_at": looks_at}
        | {name: float(mean.loc[policy, name]) for name in ("accuracy", "auc", "seconds")}
        | {f"{name}_deviation": float(deviation.loc[policy, name]) if several else None for name in ("accuracy", "auc")}
        for policy, (_, looks_at) in POLICIES.items()
    ]


def oracle_share(rows: list[dict[str, Any]]) -> float:
    """Return how much of the oracle's gain in auc over uniform the bandit has reached.

    >>> oracle_share([{"policy": p, "auc": a} for p, a in (("uniform", 0.5), ("bandit", 0.75), ("oracle", 1.0))])
    0.5
    """
    auc = {row["policy"]: row["auc"] for row in rows}
    return float((auc["bandit"] - auc["uniform"]) / (auc["oracle"] - auc["uniform"]))


def learnt(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per target: its relevant layer, and how likely the bandit draws that one and the runner-up."""
    rows = []
    beliefs: Any = measured.beliefs
    for target, layer in measured.relevant.items():
        others = beliefs.loc[target].drop([target, layer])
        rows.append(
            {
                "target": target,
                "relevant": layer,
                "probability": float(beliefs.loc[target, layer]),
                "next": str(others.idxmax()),
                "next_probability": float(others.max()),
            }
        )
    return rows


Table = tuple[list[str], list[list[Any]]]


def introduce(measured: Measured) -> str:
    """Say what was done."""
    seeds, targets = measured.results["seed"].nunique(), len(measured.relevant)
    deviation = "; mean ± standard deviation over splits" if seeds > 1 else ""
    return (
        f"twins: 200 nodes, 8 layers; {targets} of them are targets, each with one relevant other layer.\n"
        f"A fifth of all edges is hidden for the test, beside as many pairs without an edge;\n"
        f"{_count(seeds, 'split')}, the same for all policies{deviation}."
    )


def policy_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of the policies."""
    heads = ["policy", "looks at", "test accuracy", "test AUC", "seconds per training"]
    return heads, [
        [row["policy"], row["looks_at"], _plus_minus(row, "accuracy"), _plus_minus(row, "auc"), f"{row['seconds']:.1f}"]
        for row in rows
    ]


def conclude(rows: list[dict[str, Any]]) -> str:
    """Say in one sentence how near the bandit comes to the oracle."""
    return f"The bandit reaches {oracle_share(rows):.0%} of the oracle's gain over a random layer. What it learnt:"


def learnt_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of what the bandits believe."""
    heads = ["target", "relevant layer", "its probability", "next", "probability"]
    return heads, [
        [row["target"], row["relevant"], f"{row['probability']:.2f}", row["next"], f"{row['next_probability']:.2f}"]
        for row in rows
    ]


def _plus_minus(row: dict[str, Any], name: str) -> str:
    deviation = row[f"{name}_deviation"]
    return f"{row[name]:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


# Showing


def check_folder(folder: Path) -> None:
    """Refuse a place for the picture where no folder can be, before anything is trained."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder for the picture, got a file.")


def write_picture(measured: Measured, folder: Path) -> Path:
    """Draw the curves into a folder, which is made if need be; return the file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "curves.png"
        draw_curves(measured, path)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}.") from None
    return path


def draw_curves(measured: Measured, path: Path) -> None:
    """Write a picture: test auc by epoch, how soon the bandit finds the relevant layer, what it believes in the end."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    style: Any = {
        "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
        "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#6b7280", "axes.titlepad": 10,
        "xtick.color": "#4b5563", "ytick.color": "#4b5563", "axes.labelcolor": "#374151",
    }  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=(14.5, 4.6), layout=ConstrainedLayoutEngine(w_pad=0.12))
        FigureCanvasAgg(figure)
        curves, found, map_ = figure.subplots(1, 3, width_ratios=(1.25, 1, 1.15))
        _plot_auc(curves, measured.curves)
        _plot_probability(found, measured)
        _plot_beliefs(map_, measured)
        figure.savefig(path, dpi=150)


def _plot_auc(axes: "Axes", curves: pd.DataFrame) -> None:
    seeds = curves.groupby(["policy", "seed", "epoch"])["auc"].mean()
    ends = {}
    for policy, colour in COLOURS.items():
        over = seeds[policy].groupby("epoch")
        mean, deviation = over.mean(), over.std(ddof=0)
        axes.fill_between(mean.index, mean - deviation, mean + deviation, color=colour, alpha=0.18, linewidth=0)
        axes.plot(mean.index, mean, color=colour, linewidth=2.2, linestyle="--" if policy == "oracle" else "-")
        ends[policy] = float(mean.iloc[-1])
    last = int(curves["epoch"].max())
    low, high = axes.get_ylim()
    for policy, place in spread(ends, 0.055 * (high - low)).items():
        axes.annotate(
            policy, (last, place), (6, 0), textcoords="offset points", color=COLOURS[policy], weight="bold",
            va="center", annotation_clip=False,
        )  # fmt: skip
    axes.set(
        xlabel="epoch",
        ylabel="test ROC-AUC, mean over targets",
        xlim=(1 - 0.02 * last, last),
        title="Test AUC, by what training looks at",
    )
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(axis="x", integer=True)


def _plot_probability(axes: "Axes", measured: Measured) -> None:
    bandit = measured.curves[measured.curves["policy"] == "bandit"]
    start = 1 / (measured.beliefs.shape[1] - 1)
    for _, rows in bandit.groupby(["target", "seed"]):
        axes.plot([0, *rows["epoch"]], [start, *rows["probability"]], color=COLOURS["bandit"], alpha=0.25, linewidth=1)
    mean = bandit.groupby("epoch")["probability"].mean()
    axes.plot([0, *mean.index], [start, *mean], color=COLOURS["bandit"], linewidth=2.4)
    axes.axhline(start, color=COLOURS["uniform"], linewidth=1.6, linestyle=":")
    last = int(mean.index.max())
    several = f"{bandit['target'].nunique()} targets, {bandit['seed'].nunique()} seeds"
    axes.annotate(f"bandit, mean of\n{several}", (last, mean.iloc[-1]), (0, -8), textcoords="offset points", ha="right",
                  va="top", color=COLOURS["bandit"])  # fmt: skip
    axes.axvspan(0, Config(epochs=last).warmup_epochs, color="#f3f4f6", linewidth=0, zorder=0)
    axes.annotate("even draws\nto warm up", (0, 1), (6, -6), textcoords="offset points", va="top", color="#6b7280")
    axes.annotate("uniform", (last, start), (0, 5), textcoords="offset points", ha="right", color=COLOURS["uniform"])
    axes.set(xlabel="epoch", ylabel="probability of the relevant layer", xlim=(0, last), ylim=(0, 1))
    axes.set_title("The bandit finds the relevant layer")
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.locator_params(axis="x", integer=True)


def _plot_beliefs(axes: "Axes", measured: Measured) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    beliefs: Any = measured.beliefs
    colours = LinearSegmentedColormap.from_list("beliefs", ["#faf7f7", COLOURS["bandit"]])
    axes.imshow(beliefs, cmap=colours, vmin=0, vmax=1, aspect="auto")
    for i, target in enumerate(beliefs.index):
        for j, layer in enumerate(beliefs.columns):
            value = float(beliefs.iloc[i, j])
            text = "·" if layer == target else f"{value:.2f}".lstrip("0")
            colour = "white" if value > 0.5 else "#6b7280"
            axes.text(j, i, text, ha="center", va="center", color=colour, fontsize=9)
            if measured.relevant[target] == layer:
                axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#111827", linewidth=1.6))
    axes.set_xticks(range(beliefs.shape[1]), list(map(str, beliefs.columns)), rotation=35, ha="right")
    axes.set_yticks(range(beliefs.shape[0]), list(map(str, beliefs.index)))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(ylabel="target", title="What it learnt (framed: the truth)")
