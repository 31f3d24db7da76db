"""From rows of trainings to means, standard errors and paired differences over seeds."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from banditplex.experiments.open_problems import settings

Rows = list[dict[str, Any]]
PLACE = ["part", "data", "label", "value"]
MEASURES = [
    "auc", "auc_degree", "accuracy", "probability", "seconds_per_epoch", "edges_per_step", "pairs_per_step", "draws",
    "edges",
]  # fmt: skip
"""ROC-AUC against uniform and against degree-matched negatives, accuracy, and work."""


class Difference(NamedTuple):
    """The mean of paired differences over seeds, its standard error, and the number of seeds."""

    mean: float
    error: float
    seeds: int

    @property
    def clear(self) -> bool:
        """Whether 0 lies outside its 95 % confidence interval (Student's t).

        >>> Difference(0.1, 0.03, 5).clear, Difference(0.1, 0.04, 5).clear  # 2.78 standard errors are needed
        (True, False)
        """
        from scipy.stats import t

        return bool(self.seeds > 1 and abs(self.mean) > t.ppf(0.975, self.seeds - 1) * self.error)


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
    """Return a line per epoch of what was judged after each: means over seeds, and the standard error of auc."""
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
) -> Difference:
    """Return how much larger a measure is for one (label, value) than for another, over the seeds of `finals`."""
    here = table[(table["part"] == part) & (table["data"] == data)]
    sides = [
        here[(here["label"] == label) & (here["value"] == value)].set_index("seed")[measure]
        for label, value in (one, other)
    ]
    paired = (sides[0] - sides[1]).dropna().to_numpy(dtype=float)
    error = float(np.std(paired, ddof=1) / np.sqrt(len(paired))) if len(paired) > 1 else float("nan")
    return Difference(float(np.mean(paired)), error, len(paired))


def ratio(
    table: pd.DataFrame, part: str, data: str, one: tuple[str, float], other: tuple[str, float], measure: str
) -> float:
    """Return how many times larger the mean of a measure is for one (label, value) than for another."""
    means = table[(table["part"] == part) & (table["data"] == data)].groupby(["label", "value"])[measure].mean()
    return float(means[one] / means[other])
