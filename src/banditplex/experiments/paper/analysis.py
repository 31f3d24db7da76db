"""From rows to numbers: mean curves, paired differences that respect shared data, and what they say of each claim."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from banditplex.arrays import Floats
from banditplex.evaluation.statistics import signed_rank_p
from banditplex.experiments.paper.settings import DATASETS, EARLY, JUDGED, METHODS

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

    def number(self, dataset: str, method: str, name: str) -> float:
        """Return the mean over runs of something measured at the end."""
        return float(self.curves[dataset, method][name].mean())

    def compare(self, dataset: str, method: str, other: str = "uniform", name: str = "test") -> "Difference":
        """Return how one method's curve differs from another's, paired by trial."""
        return Difference.of(self.curves[dataset, method][name], self.curves[dataset, other][name])


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


NEARLY = 0.95  # a claim of all epochs holds nearly if it does in this share of them, and beyond chance


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Kinds: "always", better than uniform draws at every epoch; "up to", better by so many points at some epoch; "some
    better", better than the same method with the Euclidean loss on some of the data sets.
    """

    name: str
    words: str
    figure: int
    kind: str
    curve: str
    datasets: Sequence[str]
    points: float = 0.0
    early: bool = False
    loss: str = "euclidean"


@dataclass(frozen=True)
class Finding:
    """What was measured of a claim on one data set."""

    claim: Claim
    method: str  # "exp3+" or "ours"
    dataset: str
    difference: Difference
    holds: str  # "yes", "nearly", "less" or "no"

    @property
    def measured(self) -> str:
        """The number that decides, in words."""
        difference = self.difference
        if self.claim.kind == "up to":
            return f"up to {difference.largest:+z.1f}"
        if self.claim.kind == "some better":
            return f"{difference.mean:+z.1f}" + _chance(difference.p)
        return f"{difference.mean:+z.1f}, better at {difference.better:.0%} of epochs" + _chance(difference.p)


@cache
def published() -> tuple[Claim, ...]:
    """Return the claims of the paper, in its order."""
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return tuple(Claim(**entry) for entry in tomllib.loads(text)["claim"])


def findings(runs: Runs) -> list[Finding]:
    """Check every claim on every data set that was run, for the paper's method and for ours."""
    found = []
    for claim, (method, losses) in product(published(), JUDGED.items()):
        trained, other = losses[claim.loss], losses["euclidean"] if claim.kind == "some better" else "uniform"
        for dataset in claim.datasets:
            if runs.has(dataset, trained, other):
                difference = runs.compare(dataset, trained, other, claim.curve)
                difference = difference.first(EARLY) if claim.early else difference
                found.append(Finding(claim, method, dataset, difference, verdict(claim, difference)))
    return found


def verdict(claim: Claim, difference: Difference) -> str:
    """Say whether a claim holds on one data set: "yes", "nearly" (almost all epochs), "less" (but better), or "no"."""
    if claim.kind == "up to":
        return "yes" if round(difference.largest) >= claim.points else "less" if difference.beyond_chance else "no"
    if claim.kind == "some better":
        return "yes" if difference.beyond_chance and round(difference.mean, 1) > 0 else "no"
    if not difference.beyond_chance:
        return "no"
    return "yes" if difference.better == 1 else "nearly" if difference.better >= NEARLY else "no"


def overall(some: Sequence[Finding]) -> str:
    """Say whether a claim holds on all its data sets: "yes", "nearly", "in part" or "no".

    "up to" and "some better" speak of the best data set; "in part" there means that the sign is right, the size not.
    """
    verdicts = [finding.holds for finding in some]
    if some[0].claim.kind != "always":
        return "yes" if "yes" in verdicts else "in part" if "less" in verdicts else "no"
    good = [each in ("yes", "nearly") for each in verdicts]
    if all(good):
        return "yes" if set(verdicts) == {"yes"} else "nearly"
    return "in part" if any(good) else "no"


def why(runs: Runs, dataset: str, method: str) -> str:
    """Say in a sentence what keeps a method from gaining more on a data set, from what was measured at the end."""
    room = 100 * runs.number(dataset, "uniform", "headroom")
    even, mass = runs.number(dataset, "uniform", "mass"), runs.number(dataset, method, "mass")
    gain = 100 * runs.number(dataset, method, "gain")
    best = f"to an evenly trained network the best layer of each target is worth {room:+z.1f} points"
    if max(room, gain) < 1:
        return f"little to gain: {best}"
    if mass - even < 0.25 * (1 - even):
        return f"still near even draws: its favourite layer has probability {mass:.2f}, an even draw {even:.2f}"
    if gain < room / 2:
        return f"near is not useful: its draws are worth {gain:+z.1f} points, while {best}"
    return f"it finds what there is: its draws are worth {gain:+z.1f} points to its own network"


def as_records(some: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as plain rows, for a CSV file; points of accuracy."""
    return [
        {
            "claim": finding.claim.name,
            "dataset": finding.dataset,
            "method": finding.method,
            "loss": finding.claim.loss,
            "accuracy": finding.claim.curve,
            "claimed": finding.claim.points or None,
            "mean": round(finding.difference.mean, 3),
            "largest": round(finding.difference.largest, 3),
            "better": round(finding.difference.better, 4),
            "clearly_better": finding.difference.clearly_better,
            "p": finding.difference.p,
            "holds": finding.holds,
        }
        for finding in some
    ]


def _chance(p: float | None) -> str:
    return "" if p is None else f" (p = {p:.3f})"
