"""From rows of trainings to means, standard errors and paired differences over seeds."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from experiments.comparison import PairedDifference
from experiments.open_problems import settings

Choice = tuple[str, float]
PLACE = ["part", "data", "label", "value"]
MEASURES = {
    "auc": ("ROC-AUC", 3), "auc_degree": ("degree-matched", 3), "accuracy": ("accuracy", 3),
    "probability": ("probability of relevant layers", 3), "seconds_per_epoch": ("seconds per epoch", 2),
    "edges_per_step": ("edges per step", None), "pairs_per_step": ("pair features per step", None),
    "draws": ("draws", None), "edges": ("edges encoded", None),
}  # fmt: skip
"""What was measured: its name in tables, and the digits of mean and error; None for a count, shown without error."""


def finals(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the last rows of all trainings, in the order of the settings, with work per step."""
    table = _ordered(row for row in rows if row["final"])
    return table.assign(
        probability=table["probability"].astype(float),
        edges_per_step=table["edges"] / table["steps"],
        pairs_per_step=table["pairs"] / table["steps"],
    )


def summary(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a line per part, data set, label and value: `seeds`, and mean and standard error of each measure."""
    seeds = finals(rows).groupby(PLACE, sort=False)[list(MEASURES)]
    errors = seeds.sem().add_suffix("_error")
    return pd.concat([seeds.size().rename("seeds"), seeds.mean(), errors], axis=1).reset_index()


def curves(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a line per epoch of the parts with curves: means over seeds, and the standard error of auc."""
    table = _ordered(row for row in rows if not row["final"])
    if not len(table):
        return pd.DataFrame(columns=[*PLACE, "epoch", "auc", "accuracy", "draws", "edges", "auc_error"])
    seeds = table.groupby([*PLACE, "epoch"], sort=False)
    means = seeds[["auc", "accuracy", "draws", "edges"]].mean()
    return means.assign(auc_error=seeds["auc"].sem()).reset_index()


def _ordered(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return rows by part, data set, label, value, seed and epoch."""
    data, labels = list(settings.DATA), settings.LABELS

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        order = data.index(row["data"]), labels.index(row["label"])
        return row["part"], *order, row["value"], row["seed"], row["epoch"]

    ordered = sorted(rows, key=place)
    return pd.DataFrame(ordered)


def difference(here: pd.DataFrame, one: Choice, other: Choice, measure: str = "auc") -> PairedDifference:
    """Return how much larger a measure is for one (label, value) than for another, over seeds.

    `here` are the rows of `finals` of one part and data set.
    """
    seeds: Any = here.pivot(index="seed", columns=["label", "value"], values=measure)
    return PairedDifference.of((seeds[one] - seeds[other]).dropna(), 0.0)


def ratio(here: pd.DataFrame, one: Choice, other: Choice, measure: str) -> float:
    """Return how many times larger the mean of a measure is for one (label, value) than for another."""
    means: Any = here.groupby(["label", "value"])[measure].mean()
    return float(means[one] / means[other])
