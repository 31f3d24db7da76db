"""From rows of trainings to means, standard errors and paired differences over seeds."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from experiments.comparison import PairedDifference
from experiments.open_problems import settings

Rows = list[dict[str, Any]]
PLACE = ["part", "data", "label", "value"]
MEASURES = [
    "auc", "auc_degree", "accuracy", "probability", "seconds_per_epoch", "edges_per_step", "pairs_per_step", "draws",
    "edges",
]  # fmt: skip
"""ROC-AUC against uniform and against degree-matched negatives, accuracy, and work."""


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
    seeds = finals(rows).groupby(PLACE, sort=False)[MEASURES]
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
    ordered: Rows = sorted(rows, key=_place)
    return pd.DataFrame(ordered)


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    data, label = list(settings.DATA).index(row["data"]), settings.LABELS.index(row["label"])
    return row["part"], data, label, row["value"], row["seed"], row["epoch"]


def difference(
    table: pd.DataFrame, part: str, data: str, one: tuple[str, float], other: tuple[str, float], measure: str = "auc"
) -> PairedDifference:
    """Return how much larger a measure is for one (label, value) than for another, over the seeds of `finals`."""
    here = table[(table["part"] == part) & (table["data"] == data)]
    sides = [
        here[(here["label"] == label) & (here["value"] == value)].set_index("seed")[measure]
        for label, value in (one, other)
    ]
    paired = (sides[0] - sides[1]).dropna().to_numpy(dtype=float)
    return PairedDifference.of(paired, 0.0)


def ratio(
    table: pd.DataFrame, part: str, data: str, one: tuple[str, float], other: tuple[str, float], measure: str
) -> float:
    """Return how many times larger the mean of a measure is for one (label, value) than for another."""
    means = table[(table["part"] == part) & (table["data"] == data)].groupby(["label", "value"])[measure].mean()
    return float(means[one] / means[other])
