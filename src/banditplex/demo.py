"""The demo: what it is worth to let a bandit find layers, on the built-in data set `groups`.

A few of its 60 layers help to predict the links of a target. Default models choose layers in four ways and pool them
with the target: none, some at random, those that a bandit finds, and the right ones (an oracle gives them).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from banditplex.datasets import load_dataset
from banditplex.evaluation import Split, accuracy, roc_auc, split
from banditplex.markdown import number
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.report.about import describe, quality
from banditplex.report.collect import collect_model
from banditplex.report.findings import find_policies
from banditplex.report.kept import PAGE
from banditplex.report.page import write_page
from banditplex.rng import stream

DATA, TARGETS = "groups", ("g0-0", "g1-0")
SEEDS, EPOCHS = 2, 10
POLICIES = {  # what is compared: the policy behind each name, and the layers that are pooled with a target
    "none": ("none", "none"),
    "random": ("fixed", "as many as help, at random"),
    "bandit": ("default", "found by a bandit"),
    "oracle": ("default", "the right ones, given"),
}
HOW = (
    "All models see what is cheap in all layers. random pools four layers with each target, and draws them. bandit "
    "looks at pairs in all layers; regressions compare the 32 most promising ones with a target, and those that help "
    "are pooled with it. oracle is the same model on the right layers alone."
)

Relevant = Mapping[Name, list[Name]]
Progress = Callable[[str], Any]


@dataclass(frozen=True)
class Measured:
    """What the demo found out; one row of `results` per policy, seed and target.

    Columns: policy, seed, target; accuracy and auc on test pairs that training could not see; seconds of the training
    of all targets; right and wrong, how many layers of either kind are pooled with the target.
    """

    relevant: Relevant  # the layers that help each target
    results: pd.DataFrame
    model: LinkPredictor | None = None  # the bandit's one of the first split: for gains and the page


# Measuring


def measure(*, seeds: int = SEEDS, epochs: int = EPOCHS, on_epoch: Progress | None = None) -> Measured:
    """Train with every policy on the same splits; on_epoch(policy) follows each epoch."""
    mx = load_dataset(DATA)
    relevant: dict[Name, list[Name]] = {target: list(mx.metadata["relevant"][target]) for target in TARGETS}
    parts = [split(mx, hide="layer", seed=seed) for seed in range(seeds)]
    results: list[dict[str, Any]] = []
    first = None
    for policy in POLICIES:
        for seed, part in enumerate(parts):
            seconds = perf_counter()
            models = [fit(policy, *each, epochs, seed, on_epoch) for each in graphs(policy, part.train, relevant)]
            seconds = perf_counter() - seconds
            rows = [row for model in models for row in judge(model, policy, part, relevant)]
            results += [row | {"seed": seed, "seconds": seconds} for row in rows]
            if policy == "bandit" and first is None:
                first = models[0]
    return Measured(relevant, pd.DataFrame(results), first)


def fit(
    policy: str, mx: Multiplex, targets: list[Name], epochs: int, seed: int, on_epoch: Progress | None
) -> LinkPredictor:
    """Train a model; of the oracle's models, the last one tells its epochs."""

    def tell(model: LinkPredictor, row: dict[str, Any]) -> None:
        if on_epoch is not None and TARGETS[-1] in targets:
            on_epoch(policy)

    options = {"arms": at_random(mx.num_layers - 1, seed)} if policy == "random" else None
    settings: dict[str, Any] = {"epochs": epochs, "patience": epochs, "device": "cpu", "seed": seed}
    model = LinkPredictor(policy=POLICIES[policy][0], policy_options=options, **settings)
    return model.fit(mx, targets, tell)


def at_random(others: int, seed: int) -> list[list[int]]:
    """Return four of so many other layers for each target."""
    rng = stream(seed, "demo")
    return [rng.permutation(others)[:4].tolist() for _ in TARGETS]


def graphs(policy: str, mx: Multiplex, relevant: Relevant) -> list[tuple[Multiplex, list[Name]]]:
    """Return what a policy is trained on, with the targets: of the oracle, each target with its right layers."""
    if policy != "oracle":
        return [(mx, list(relevant))]
    return [(mx.subset(layers=[target, *layers]), [target]) for target, layers in relevant.items()]


def judge(model: LinkPredictor, policy: str, part: Split, relevant: Relevant) -> list[dict[str, Any]]:
    """Return a row per target: how well its test pairs are told apart, and what is pooled with it."""
    names, panel, rows = part.train.node_names, model.panel_, []
    for target in model.k_.index:
        pairs, label = part.test(target)
        scores = model.score_pairs(names[pairs], target)
        pooled = relevant[target] if policy == "oracle" else panel[panel["target"] == target]["layer"].tolist()
        right = len({*pooled} & {*relevant[target]})
        found = {"accuracy": accuracy(label, scores), "auc": roc_auc(label, scores)}
        rows.append({"policy": policy, "target": target, "right": right, "wrong": len(pooled) - right} | found)
    return rows


# Telling


def summarise(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per policy: means over targets, then mean and deviation over seeds; layers are those of all targets.

    Of seconds it is the median: the first training of a process is slower than the others. A single seed has no
    deviation (None).
    """
    seeds = _by_seed(measured).groupby("policy")
    table: Any = seeds.mean().assign(seconds=seeds["seconds"].median())
    table = table.join(seeds[["accuracy", "auc"]].std(ddof=0).add_suffix("_deviation")).astype(object)
    if measured.results["seed"].nunique() == 1:
        table[["accuracy_deviation", "auc_deviation"]] = None
    return [{"policy": name, "layers": layers, **table.loc[name].to_dict()} for name, (_, layers) in POLICIES.items()]


def _by_seed(measured: Measured) -> pd.DataFrame:
    """Return the means over targets of each policy and seed; the sums of layers, and the seconds of all targets."""
    columns = {"accuracy": "mean", "auc": "mean", "seconds": "max", "right": "sum", "wrong": "sum"}
    found: pd.DataFrame = measured.results.groupby(["policy", "seed"]).agg(columns)
    return found


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


def proven(measured: Measured) -> list[dict[str, Any]]:
    """Return a row per target and layer that is proven to help, or helps in truth: its gain, and both."""
    assert measured.model is not None
    gains: Any = measured.model.layer_gains_
    known = {(target, layer) for target, layers in measured.relevant.items() for layer in layers}
    rows = gains.assign(right=[pair in known for pair in zip(gains["target"], gains["layer"], strict=True)])
    columns = ["target", "layer", "gain", "low", "high", "helps", "right"]
    found: list[dict[str, Any]] = rows[rows["helps"] | rows["right"]][columns].to_dict("records")
    return found


Table = tuple[list[str], list[list[Any]]]


def introduce(measured: Measured) -> str:
    """Say what was done."""
    seeds = measured.results["seed"].nunique()
    splits = "1 split" if seeds == 1 else f"{seeds} splits"
    deviation = "; mean ± standard deviation over splits" if seeds > 1 else ""
    return (
        f"{DATA}: 400 nodes, 60 layers. {len(measured.relevant)} layers are targets; 4 of the 59 others help each.\n"
        f"A fifth of all edges is hidden for the test, beside as many pairs without an edge;\n"
        f"{splits}, the same for all policies{deviation}."
    )


def proven_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of the layers that help, shown or in truth."""

    def line(row: dict[str, Any]) -> list[str]:
        fall = f"{number(row['gain'])} ({number(row['low'])} to {number(row['high'])})"
        return [row["target"], row["layer"], fall, *("yes" if row[name] else "no" for name in ("helps", "right"))]

    return ["target", "layer", "log loss falls by", "proven", "helps in truth"], [*map(line, rows)]


def judge_gains(rows: list[dict[str, Any]]) -> str:
    """Say what the table of gains shows, and how many of its layers are right."""
    right, found = (sum(row[name] and row["right"] for row in rows) for name in ("right", "helps"))
    wrong = sum(row["helps"] and not row["right"] for row in rows)
    return (
        "Which layers help: how far the log loss falls when a layer is added to a model of the target layer alone "
        "(95 % limits for all layers together), measured on the training edges of the first split. "
        f"Of {right} layers that help in truth, {found} are proven; of all others, {wrong or 'none'}."
    )


def policy_table(rows: list[dict[str, Any]]) -> Table:
    """Return heads and lines of a table of the policies."""

    def cell(row: dict[str, Any], name: str) -> str:
        deviation = row[f"{name}_deviation"]
        return f"{row[name]:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")

    return ["policy", "layers pooled", "right", "wrong", "test accuracy", "test AUC", "seconds"], [
        [
            row["policy"], row["layers"], f"{row['right']:g}", f"{row['wrong']:g}", cell(row, "accuracy"),
            cell(row, "auc"), f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]  # fmt: skip


def conclude(rows: list[dict[str, Any]], differences: list[dict[str, Any]], *, splits: int, epochs: int) -> str:
    """Say what finding layers is worth here, and how the bandit compares with every other policy."""
    share = oracle_share(rows)
    auc = {row["policy"]: row["auc"] for row in rows}
    if share is None:
        worth = "Knowing the right layers is worth nothing here: the oracle's test AUC is not above that of none."
    else:
        gain = number(auc["oracle"] - auc["none"])
        worth = f"After {epochs} epoch{'s' * (epochs != 1)}, knowing the right layers is worth {gain} in test AUC "
        worth += f"(oracle less none); the bandit reaches {f'{share:.0%}' if share < 1 else 'all'} of it."
    compared = ", ".join(
        f"{row['difference']:+.3f} to {row['policy']} (higher in {row['higher']} of {splits})" for row in differences
    )
    return f"{worth} Differences of the bandit, on the same splits: {compared}."


# The page

METRICS = {"roc_auc": ("auc", "ROC-AUC"), "accuracy": ("accuracy", "accuracy")}
"""Metrics of the page: their columns in what the demo measured, and their titles."""

OTHER = "Training, quality and predicted links are those of the bandit's model of the first split, without test edges."


def write_page_of(measured: Measured, folder: Path) -> Path:
    """Write the page of the demo into a folder, which is there; return the file."""
    model = measured.model
    assert model is not None
    about = describe(DATA, model.multiplex_) | {"held_out": quality(model)}
    data, compared = collect_model(model, about), collect_comparison(measured)
    findings = [*data["findings"], find_policies(compared)]
    write_page(folder / PAGE, data | {"kind": "demo", "findings": findings, "comparison": compared})
    return folder / PAGE


def collect_comparison(measured: Measured) -> dict[str, Any]:
    """Return the policies side by side: means over targets and splits, differences to the bandit."""
    rows, policies = summarise(measured), list(POLICIES)
    below = {row["policy"]: -row["difference"] for row in compare(measured)}
    results: Any = measured.results.groupby(["target", "policy"])
    means = results[[column for column, _ in METRICS.values()]].mean()
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
        "text": f"{introduce(measured)} {HOW} {OTHER}",
        "by_layer": [
            {"layer": target, "values": [means.loc[(target, policy)].tolist() for policy in policies]}
            for target in measured.relevant
        ],
    }
