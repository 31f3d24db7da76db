"""What the paper says beside what was measured: each claim, on each data set, for its method and for ours."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from banditplex.experiments.paper.analysis import Difference, Runs
from banditplex.experiments.paper.settings import EARLY, JUDGED

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
