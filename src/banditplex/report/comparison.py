"""Policies side by side: the rows of an evaluation, or of the demo, as plain data of the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from banditplex.evaluation import summary

Row = Mapping[str, Any]
LINE = ("method", "metric", "runs", "mean", "low", "high", "difference", "difference_low", "difference_high", "p")
TITLES = {
    "accuracy": "accuracy", "roc_auc": "ROC-AUC", "average_precision": "average precision",
    "ap_at_50": "average precision at 50", "f1": "F1",
    "mrr": "mean reciprocal rank", "hits_at_1": "hits at 1", "hits_at_10": "hits at 10", "hits_at_50": "hits at 50",
    "filtered_mrr": "filtered mean reciprocal rank", "filtered_hits_at_1": "filtered hits at 1",
    "filtered_hits_at_3": "filtered hits at 3", "filtered_hits_at_10": "filtered hits at 10",
}  # fmt: skip
HIDDEN = {"layer": "its own layer", "pair": "every layer", "edge": "one direction of its layer"}
"""Where a held-out pair is hidden."""


def compare_rows(rows: Sequence[Row], methods: Sequence[str], *, limit: int = 400) -> dict[str, Any]:
    """Return the comparison of methods: the table of `summary`, and the means of each of the first layers."""
    table = summary(rows, methods=list(methods))
    reference = next(iter(table[table["difference"].isna()]["method"]), methods[0])
    runs: Any = pd.DataFrame([row for row in rows if row["scope"] == "layer"])
    names = list(dict.fromkeys(runs["layer"]))[:limit]
    metrics = [name for name in dict.fromkeys(table["metric"]) if name in TITLES]
    means = runs.groupby(["layer", "method"])[metrics].mean()
    by_layer = [{"layer": str(name), "values": [means.loc[name, each].tolist() for each in methods]} for name in names]
    return {
        "methods": list(methods),
        "metrics": [{"name": name, "title": TITLES[name]} for name in metrics],
        "lines": [{name: line[name] for name in LINE} for line in table.to_dict("records") if line["metric"] in TITLES],
        "reference": reference,
        "runs": int(table["runs"].iloc[0]),
        "spread": "the 95 % interval of the mean",
        "by_layer": by_layer,
        "curves": [],
    }


def held_out_edges(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many edges of the targets the first run was trained on, and how many it held out."""
    first = next(row for row in rows if row["scope"] == "mean")
    return {name: first[name] for name in ("train_edges", "test_edges")}


def say_held_out(asked: Mapping[str, Any]) -> str:
    """Say what share of the edges a run does not see, given what was asked for and `held_out_edges`."""
    train, test = asked["train_edges"], asked["test_edges"]
    if asked.get("after") is not None:
        until = f"up to {asked['after']}, and were tested on {test:,} later"
        return f"Models saw the {train:,} edges of the targets {until}."
    if asked.get("split") == "fixed":
        return f"Models saw the {train:,} training edges of the targets, and were tested on the {test:,} of the split."
    share = f"1/{asked['folds']} of the edges of every layer"
    return f"Each run holds out {share}: it saw {train:,} of {train + test:,} edges of the targets."


def learning_curves(table: pd.DataFrame, value: str, methods: Sequence[str]) -> dict[str, Any]:
    """Return mean and deviation over runs of a value by epoch, for each policy.

    `table` has columns policy, run, epoch and the value. A run that has stopped early keeps its last value.
    """
    epochs = np.arange(1, int(table["epoch"].max()) + 1)
    mean, deviation = [], []
    for method in methods:
        mine: Any = table[table["policy"] == method].pivot_table(value, "epoch", "run").reindex(epochs).ffill()
        mean.append(mine.mean(axis=1).tolist())
        deviation.append(mine.std(axis=1, ddof=0).tolist())
    return {"methods": list(methods), "epochs": epochs.tolist(), "mean": mean, "deviation": deviation}
