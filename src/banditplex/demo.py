"""The demo: what it is worth to let a bandit choose layers, on the built-in data set `twins`.

Six layers of `twins` have one other layer that helps to predict their links. Five policies decide which layers training
may draw: none, one at random, the one that a bandit learns to prefer, the right one (an oracle says which), and all.
So that the choice shows, models look at target and drawn layers alone (`evidence="drawn"`, as in the paper). By default
a model also uses what is cheap in all layers, and with so few layers draws add less: docs/learner.md has both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from banditplex.backend.compiling import threads_for
from banditplex.bandits.arms import to_arm
from banditplex.datasets import load_dataset
from banditplex.evaluation import Split, accuracy, roc_auc, split
from banditplex.markdown import number
from banditplex.multiplex import Multiplex, Name
from banditplex.policy_scores import validated_layers, with_one
from banditplex.predictor import LinkPredictor
from banditplex.report.about import describe, quality
from banditplex.report.collect import collect_model, collect_probabilities, learning_curves
from banditplex.report.findings import find_policies
from banditplex.report.kept import PAGE
from banditplex.report.page import write_page

SEEDS, EPOCHS = 3, 10
JUDGED = 4  # models are judged after every so many epochs, and after the last
POLICIES = {  # what is compared: the policy behind each name, and what it draws
    "none": ("none", "no other layer"),
    "uniform": ("uniform", "one other layer, at random"),
    "bandit": ("default", "one other layer, learnt"),
    "oracle": ("fixed", "the relevant layer, given"),
    "all": ("all", "all other layers"),
}
HOW = (
    "Policies predict with their most probable layers; validation edges choose how many. uniform prefers no layer: "
    "after training, it tries each one on the validation edges and predicts with the best. That costs more with more "
    "layers."
)
ALONE = 'Models look at target and drawn layers alone here. By default (evidence="all") draws of few layers add less.'

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
    gains: pd.DataFrame  # `layer_gains_` of all layers, on the whole graph
    model: LinkPredictor | None = None  # with default settings, fitted to the whole graph: for the page


# Measuring


def measure(*, seeds: int = SEEDS, epochs: int = EPOCHS, on_epoch: Progress | None = None) -> Measured:
    """Train with every policy on the same splits; on_epoch(policy, seed, last mean test auc) follows each epoch."""
    mx = load_dataset("twins")
    relevant = {target: layers[0] for target, layers in mx.metadata["relevant"].items() if layers}
    parts = [split(mx, hide="layer", seed=seed) for seed in range(seeds)]
    curves: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    beliefs: list[pd.DataFrame] = []
    for policy in POLICIES:
        for seed, part in enumerate(parts):
            model = make_model(policy, part.train, relevant, epochs=epochs, seed=seed)
            watch = Watch(policy, seed, part, relevant, epochs, on_epoch)
            with threads_for(part.train.num_edges):
                model.fit(part.train, list(relevant), watch)
                results += watch.judge(model, epochs)
            curves += watch.rows
            beliefs += [model.layer_probabilities_] * (policy == "bandit")
    whole = LinkPredictor(epochs=epochs, device="cpu").fit(mx)
    learnt = sum(beliefs[1:], beliefs[0]) / seeds
    return Measured(relevant, pd.DataFrame(curves), pd.DataFrame(results), learnt, whole.layer_gains_, whole)


def make_model(policy: str, mx: Multiplex, relevant: Mapping[Name, Name], *, epochs: int, seed: int) -> LinkPredictor:
    """Return the model of a policy; the oracle gets the arm of each target's relevant layer."""
    arms = [[to_arm(mx.layer_index(target), mx.layer_index(layer))] for target, layer in relevant.items()]
    return LinkPredictor(
        policy=POLICIES[policy][0], policy_options={"arms": arms} if policy == "oracle" else None,
        epochs=epochs, patience=epochs, device="cpu", seed=seed, evidence="drawn",
    )  # fmt: skip


class Watch:
    """Judges a model every few epochs, with the clock stopped."""

    def __init__(
        self, policy: str, seed: int, part: Split, relevant: Mapping[Name, Name], epochs: int, on_epoch: Progress | None
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        self._policy, self._seed, self._epochs = policy, seed, epochs
        self._part, self._relevant, self._on_epoch = part, relevant, on_epoch
        self._spent, self._since, self._auc = 0.0, perf_counter(), float("nan")

    def __call__(self, model: LinkPredictor, row: dict[str, Any]) -> None:
        """Be the `on_epoch` of a fit."""
        self._spent += perf_counter() - self._since
        if row["epoch"] % JUDGED == 0 or row["epoch"] == self._epochs:
            self.rows += (rows := self.judge(model, row["epoch"]))
            self._auc = float(np.mean([each["auc"] for each in rows]))
        if self._on_epoch is not None:
            self._on_epoch(self._policy, self._seed, self._auc)
        self._since = perf_counter()

    def judge(self, model: LinkPredictor, epoch: int) -> list[dict[str, Any]]:
        """Return a row per target: how well its test pairs are told apart, and what the policy believes."""
        likely: Any = model.layer_probabilities_
        names, one = self._part.train.node_names, None
        if self._policy == "uniform":  # its most probable layers would be random
            one = with_one(model, validated_layers(model))
        rows = []
        for target, layer in self._relevant.items():
            pairs, label = self._part.test(target)
            scores = model.score_pairs(names[pairs], target) if one is None else one(pairs, target)
            rows.append({
                "policy": self._policy, "seed": self._seed, "epoch": epoch, "seconds": self._spent, "target": target,
                "probability": float(likely.loc[target, layer]), "accuracy": accuracy(label, scores),
                "auc": roc_auc(label, scores),
            })  # fmt: skip
        return rows


# Telling


def summarise(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per policy: means over targets, then mean and deviation over seeds.

    Of seconds it is the median: the first training of a process is slower than the others. A single seed has no
    deviation (None).
    """
    seeds = _by_seed(measured).groupby("policy")
    table: Any = seeds.mean().assign(seconds=seeds["seconds"].median())
    table = table.join(seeds[["accuracy", "auc"]].std(ddof=0).add_suffix("_deviation")).astype(object)
    if measured.results["seed"].nunique() == 1:
        table[["accuracy_deviation", "auc_deviation"]] = None
    return [{"policy": name, "draws": draws, **table.loc[name].to_dict()} for name, (_, draws) in POLICIES.items()]


def _by_seed(measured: Measured) -> pd.DataFrame:
    """Return the means over targets of each policy and seed."""
    return measured.results.groupby(["policy", "seed"])[["accuracy", "auc", "seconds"]].mean()


def compare(measured: Measured) -> list[dict[str, Any]]:
    """Return how much higher the bandit's auc is than that of each other policy, on the same splits."""
    auc: Any = _by_seed(measured)["auc"]
    above = {other: auc["bandit"] - auc[other] for other in POLICIES if other != "bandit"}
    counts = {other: (float(each.mean()), int((each > 0).sum())) for other, each in above.items()}
    return [{"policy": other, "difference": mean, "higher": higher} for other, (mean, higher) in counts.items()]


def oracle_share(rows: list[dict[str, Any]]) -> float | None:
    """Return how much of the oracle's gain in auc over `none` the bandit has reached; None if there is no gain."""
    auc = {row["policy"]: row["auc"] for row in rows}
    gain = auc["oracle"] - auc["none"]
    return float((auc["bandit"] - auc["none"]) / gain) if gain > 0 else None


def learnt(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per layer: which one is relevant in truth, which ones help, and what the bandits believe.

    The gain is that of the layer with the largest one. Layers without a relevant one were no targets of the bandits.
    """
    rows = []
    beliefs: Any = measured.beliefs
    gains: Any = measured.gains.groupby("target", sort=False)
    for target, found in gains:
        relevant = measured.relevant.get(target)
        believed = None if relevant is None else float(beliefs.loc[target, relevant])
        helps = found[found["helps"]]["layer"].tolist()
        gain = {name: float(found.iloc[0][name]) for name in ("gain", "low", "high")}
        rows.append({"target": target, "relevant": relevant, "helps": helps, **gain, "probability": believed})
    return rows


Table = tuple[list[str], list[list[Any]]]


def introduce(measured: Measured) -> str:
    """Say what was done."""
    seeds, targets = measured.results["seed"].nunique(), len(measured.relevant)
    splits = "1 split" if seeds == 1 else f"{seeds} splits"
    deviation = "; mean ± standard deviation over splits" if seeds > 1 else ""
    return (
        f"twins: 200 nodes, 8 layers; {targets} of them are targets, each with one relevant other layer.\n"
        f"A fifth of all edges is hidden for the test, beside as many pairs without an edge;\n"
        f"{splits}, the same for all policies{deviation}."
    )


def learnt_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of which layers help, and what the bandits believe."""

    def line(row: dict[str, Any]) -> list[str]:
        helps, truth = ", ".join(row["helps"]) or "no other layer", row["relevant"] or "none"
        fall = f"{number(row['gain'])} ({number(row['low'])} to {number(row['high'])})" if row["helps"] else ""
        likely = "" if row["probability"] is None else f"{row['probability']:.2f}"
        return [row["target"], helps, fall, truth, likely]

    return ["target", "helps", "log loss falls by", "true layer", "its probability"], [*map(line, rows)]


def judge_gains(rows: list[dict[str, Any]]) -> str:
    """Say what the table of gains shows, and for how many layers it is the truth."""
    right = sum(row["helps"] == [row["relevant"]] * (row["relevant"] is not None) for row in rows)
    return (
        "Which layers help: how far the log loss falls when a layer is added to a model of the target layer alone "
        f"(95 % limits), measured on the whole graph. It is the truth for {right} of {len(rows)} targets. The last "
        "column says how likely the bandit is to draw the true layer."
    )


def policy_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of the policies."""

    def cell(row: dict[str, Any], name: str) -> str:
        deviation = row[f"{name}_deviation"]
        return f"{row[name]:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")

    return ["policy", "draws", "test accuracy", "test AUC", "seconds per training"], [
        [row["policy"], row["draws"], cell(row, "accuracy"), cell(row, "auc"), f"{row['seconds']:.1f}"] for row in rows
    ]


def conclude(rows: list[dict[str, Any]], differences: list[dict[str, Any]], *, splits: int, epochs: int) -> str:
    """Say what choosing a layer is worth here, and how the bandit compares with every other policy."""
    share = oracle_share(rows)
    auc = {row["policy"]: row["auc"] for row in rows}
    if share is None:
        worth = "Knowing the relevant layer is worth nothing here: the oracle's test AUC is not above that of none."
    else:
        gain = number(auc["oracle"] - auc["none"])
        worth = f"After {epochs} epoch{'s' * (epochs != 1)}, knowing the relevant layer is worth {gain} in test AUC "
        worth += f"(oracle less none); the bandit reaches {share:.0%} of it."
    compared = ", ".join(
        f"{row['difference']:+.3f} to {row['policy']} (higher in {row['higher']} of {splits})" for row in differences
    )
    return f"{worth} Differences of the bandit, on the same splits: {compared}. {ALONE}"


# The page

METRICS = {"roc_auc": ("auc", "ROC-AUC"), "accuracy": ("accuracy", "accuracy")}
"""Metrics of the page: their columns in what the demo measured, and their titles."""

OTHER = "Training, quality and predicted links are those of another model: default settings, fitted to the whole graph."


def write_page_of(measured: Measured, folder: Path) -> Path:
    """Write the page of the demo into a folder, which is there; return the file."""
    model = measured.model
    assert model is not None
    about = describe("twins", model.multiplex_) | {"held_out": quality(model)}
    data, compared = collect_model(model, about), collect_comparison(measured)
    learnt = {"probabilities": collect_probabilities(measured.beliefs, model.multiplex_), "comparison": compared}
    findings = [*data["findings"], find_policies(compared)]
    write_page(folder / PAGE, data | learnt | {"kind": "demo", "findings": findings})
    return folder / PAGE


def collect_comparison(measured: Measured) -> dict[str, Any]:
    """Return the policies side by side: means over targets and splits, differences to the bandit, learning curves."""
    rows, policies = summarise(measured), list(POLICIES)
    below = {row["policy"]: -row["difference"] for row in compare(measured)}
    curves: Any = measured.curves.groupby(["policy", "seed", "epoch"], as_index=False)["auc"].mean()
    results: Any = measured.results.groupby(["target", "policy"])
    means = results[[column for column, _ in METRICS.values()]].mean()
    caption = "Mean over targets and splits; the band is one standard deviation over splits."
    return {
        "methods": policies,
        "metrics": [{"name": name, "title": title} for name, (_, title) in METRICS.items()],
        "lines": [
            {
                "method": row["policy"],
                "metric": name,
                "difference": below.get(row["policy"]) if column == "auc" else None,
                "mean": row[column],
                "low": None if (deviation := row[f"{column}_deviation"]) is None else row[column] - deviation,
                "high": None if deviation is None else row[column] + deviation,
            }
            for row in rows
            for name, (column, _) in METRICS.items()
        ],
        "reference": "bandit",
        "runs": measured.results["seed"].nunique(),
        "unit": "split",
        "spread": "one standard deviation over splits",
        "text": f"{introduce(measured)} {HOW} {ALONE} {OTHER}",
        "by_layer": [
            {"layer": target, "values": [means.loc[(target, policy)].tolist() for policy in policies]}
            for target in measured.relevant
        ],
        "curves": [
            {"title": "Test ROC-AUC", "caption": caption}
            | learning_curves(curves.rename(columns={"seed": "run"}), "auc", policies)
        ],
    }
