"""From rows to numbers: mean curves, and paired differences that respect shared data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from banditplex.arrays import Floats
from banditplex.evaluation.statistics import signed_rank_p
from banditplex.experiments.paper.settings import DATASETS, METHODS

CURVES = ("test", "train", "favourite", "partnered")
SCALARS = ("headroom", "gain", "mass")
MIN_TRIALS = 6  # below this, no test can tell anything: with n trials the smallest p of Wilcoxon's is 2 / 2^n
CHANCE = 0.05


@dataclass(frozen=True)
class Runs:
    """What was measured: for each (data set, method), curves (trials, folds, epochs) and numbers (trials, folds)."""

    curves: Mapping[tuple[str, str], Mapping[str, Floats]]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "Runs":
        """Gather rows, in any order."""
        groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in rows:
            groups.setdefault((row["dataset"], row["method"]), []).append(row)
        return cls(
            {place: _stack(some) for place, some in groups.items()},
            tuple(name for name in DATASETS if any(place[0] == name for place in groups)),
            tuple(name for name in METHODS if any(place[1] == name for place in groups)),
        )

    def has(self, dataset: str, *methods: str) -> bool:
        """Say whether methods were run on a data set."""
        return all((dataset, method) in self.curves for method in methods)

    def compared(self) -> Iterator[tuple[str, str]]:
        """Yield the data sets and methods that can be compared with uniform draws."""
        for dataset, method in product(self.datasets, self.methods):
            if method != "uniform" and self.has(dataset, method, "uniform"):
                yield dataset, method

    def curve(self, dataset: str, method: str, name: str = "test") -> Floats:
        """Return a curve of all runs, (trials, folds, epochs)."""
        return self.curves[dataset, method][name]

    def number(self, dataset: str, method: str, name: str) -> float:
        """Return the mean over runs of something measured at the end."""
        return float(self.curves[dataset, method][name].mean())

    def compare(self, dataset: str, method: str, other: str = "uniform", name: str = "test") -> "Difference":
        """Return how one method's curve differs from another's, paired by trial."""
        return Difference.of(self.curve(dataset, method, name), self.curve(dataset, other, name))


def _stack(rows: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """Return arrays (trials, folds, ...) of the rows of one method on one data set; every trial has all folds."""
    rows = sorted(rows, key=lambda row: (row["trial"], row["fold"]))
    shape = len({row["trial"] for row in rows}), len({row["fold"] for row in rows})
    assert len(rows) == shape[0] * shape[1], rows[0]
    names = [name for name in (*CURVES, *SCALARS) if name in rows[0]]
    arrays = {name: np.array([row[name] for row in rows], np.float64) for name in names}
    return {name: array.reshape(*shape, *array.shape[1:]) for name, array in arrays.items()}


@dataclass(frozen=True)
class Difference:
    """How much more accurate one method is than another, in points (hundredths), paired by trial.

    Folds of a trial share data and are averaged first: trials are what the standard error and the test count.
    """

    trials: Floats  # (trials, epochs)

    @classmethod
    def of(cls, one: Floats, other: Floats) -> "Difference":
        """Compare curves (trials, folds, epochs)."""
        return cls(100 * (one - other).mean(axis=1))

    @property
    def curve(self) -> Floats:
        """The mean difference at each epoch, (epochs,)."""
        return self.trials.mean(axis=0)

    @property
    def error(self) -> Floats:
        """Its standard error at each epoch, (epochs,); NaN with a single trial."""
        return pd.DataFrame(self.trials).sem().to_numpy()

    @property
    def mean(self) -> float:
        """The mean over all epochs."""
        return float(self.curve.mean())

    @property
    def largest(self) -> float:
        """The largest mean difference of any epoch."""
        return float(self.curve.max())

    @property
    def better(self) -> float:
        """The share of epochs with a positive mean difference."""
        return float((self.curve > 0).mean())

    @property
    def clearly_better(self) -> float | None:
        """The share of epochs whose mean difference is above two standard errors; None with a single trial."""
        return None if len(self.trials) < 2 else float((self.curve > 2 * self.error).mean())

    @property
    def p(self) -> float | None:
        """Wilcoxon's signed-rank test over the means of the trials, two-sided; None with fewer than 6 trials."""
        return None if len(self.trials) < MIN_TRIALS else signed_rank_p(self.trials.mean(axis=1))

    @property
    def beyond_chance(self) -> bool:
        """Whether the mean is above 0, with p below .05; with few trials, above two standard errors."""
        if self.p is not None:
            return bool(self.mean > 0 and self.p < CHANCE)
        return bool(self.mean > 2 * Difference(self.trials.mean(axis=1, keepdims=True)).error[0])

    def first(self, share: float) -> "Difference":
        """Return the same for the first epochs: a share of all, at least one."""
        return Difference(self.trials[:, : max(1, round(share * self.trials.shape[1]))])


def curve_table(runs: Runs) -> pd.DataFrame:
    """Return the curves: one row per data set, method and epoch, with mean and deviation over all runs."""
    frames = []
    for dataset, method in product(runs.datasets, runs.methods):
        curves = runs.curves.get((dataset, method))
        if curves is None:
            continue
        epochs = curves["test"].shape[-1]
        columns: dict[str, Any] = {"dataset": dataset, "method": method, "epoch": np.arange(1, epochs + 1)}
        for name in CURVES:
            every = curves.get(name, np.full((1, 1, epochs), np.nan)).reshape(-1, epochs)
            columns |= {name: every.mean(axis=0), f"{name}_deviation": every.std(axis=0)}
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
