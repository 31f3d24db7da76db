"""The report page of the demo."""

from pathlib import Path
from typing import Any

from banditplex.demo import ALONE, HOW, POLICIES, Measured, compare, introduce, summarise
from banditplex.report.about import PAGE, describe, quality
from banditplex.report.collect import collect_model, collect_probabilities
from banditplex.report.comparison import learning_curves
from banditplex.report.findings import find_policies
from banditplex.report.page import write_page

METRICS = {"roc_auc": ("auc", "ROC-AUC"), "accuracy": ("accuracy", "accuracy")}
"""Metrics of the page: their columns in what the demo measured, and their titles."""

OTHER = "Training, quality and predicted links are those of another model: default settings, fitted to the whole graph."


def write_demo_page(measured: Measured, folder: Path) -> Path:
    """Write the page of the demo into a folder, which is there; return the file."""
    model = measured.model
    assert model is not None
    about = describe("twins", model.multiplex_) | {"held_out": quality(model)}
    data, compared = collect_model(model, about), collect_comparison(measured)
    learnt = {"probabilities": collect_probabilities(measured.beliefs, model.multiplex_), "comparison": compared}
    write_page(
        folder / PAGE, data | learnt | {"kind": "demo", "findings": [*data["findings"], find_policies(compared)]}
    )
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
            }
            | _interval(row[column], row[f"{column}_deviation"])
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


def _interval(mean: float, deviation: float | None) -> dict[str, float | None]:
    if deviation is None:
        return {"mean": mean, "low": None, "high": None}
    return {"mean": mean, "low": mean - deviation, "high": mean + deviation}
