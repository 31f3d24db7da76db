"""Quality on held-out edges: how well validation edges are told from unknown pairs, and whether probabilities hold.

Validation edges have chosen the epoch and fitted the calibration. So that the reliability diagram does not judge a
calibration by the pairs it was fitted to, pairs are divided at random into two halves, and each half gets the
probabilities of a calibration that was fitted to the other one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from banditplex.arrays import Floats
from banditplex.training.calibration import HeldOut, fit

BINS = 10
Z = 1.96
FEW = 5  # validation edges below which nothing is said of a target


class Judged(NamedTuple):
    """Pairs with stated probabilities."""

    probability: Floats  # (n,)
    label: Floats  # (n,) 1 for validation edges, 0 for unknown pairs
    weight: Floats  # (n,)


def summarise(held_out: HeldOut, rng: np.random.Generator) -> dict[str, Any]:
    """Return the bins of a reliability diagram, and for each target its number of edges and ROC-AUC."""
    return {"bins": bins(judge(held_out, rng)), "targets": by_target(held_out)}


def judge(held_out: HeldOut, rng: np.random.Generator) -> Judged:
    """Return how probable validation edges are among all pairs, by a calibration fitted to the other half of them."""
    half = [rng.permutation(len(part.score)) % 2 for part in held_out[:2]]
    parts = []
    for mine in range(2):
        here, other = (held_out.take(half[0] == which, half[1] == which) for which in (mine, 1 - mine))
        density, calibration = np.clip(held_out.density, 1e-12, 1 - 1e-12), fit(*other)
        share = here.shares()
        for scored, label, factor in ((here.links, 1.0, np.ones_like(share)), (here.unknown, 0.0, share)):
            probability = np.zeros(len(scored.score))
            for instance in np.unique(scored.instance).tolist():
                at = scored.instance == instance
                ratio = calibration.ratio(scored.score[at], instance)  # of links against all unknown pairs
                probability[at] = expit(ratio + logit(density[instance]))
            weight = scored.weight * factor[scored.instance]
            parts.append(Judged(probability, np.full(len(probability), label), weight))
    return Judged(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def bins(judged: Judged) -> list[dict[str, Any]]:
    """Return mean probability, share of links with 95 % limits and their number, of ten equal bins; no empty ones."""
    place = np.minimum((judged.probability * BINS).astype(np.int64), BINS - 1)
    rows = []
    for number in np.unique(place[judged.weight > 0]).tolist():
        at = (place == number) & (judged.weight > 0)
        probability, label, weight = judged.probability[at], judged.label[at], judged.weight[at]
        total, links = float(weight.sum()), int(label.sum())
        low, high = limits(links, weight[label == 0])
        row = {"probability": float(weight @ probability / total), "share": links / total, "low": low, "high": high}
        rows.append(row | {"links": links})
    return rows


def limits(links: int, weight: Floats) -> tuple[float, float]:
    """Return 95 % limits of the share of links among links and unknown pairs that have weights (n,).

    The variance of the log odds is 1 / links + 1 / n, where n = (sum of weights)^2 / sum of squared weights is the
    number of unknown pairs; half a pair is added on both sides, as their numbers may be 0.
    """
    total, number = float(weight.sum()), _number(weight)
    each = total / number if number else 1.0
    middle, spread = np.log((links + 0.5) / (total + 0.5 * each)), Z * np.sqrt(1 / (links + 0.5) + 1 / (number + 0.5))
    low, high = expit([middle - spread, middle + spread]).tolist()
    return low * (links > 0), high if number else 1.0


def _number(weight: Floats) -> float:
    """Return how many pairs of equal weight say as much as those of weights (n,)."""
    square = float(weight @ weight)
    return float(weight.sum()) ** 2 / square if square else 0.0


def by_target(held_out: HeldOut) -> list[dict[str, Any]]:
    """Return for each target the number of validation edges, and their ROC-AUC against all unknown pairs.

    Its 99 % limits hold for all targets together (Bonferroni). They are wider than those of 95 %, because validation
    edges have chosen the epoch, too, and look a little too good. A target is `clear` if it is predicted better than by
    chance: the limits are above 1/2, and there are at least `FEW` validation edges.
    """
    rows, z = [], float(ndtri(1 - 0.005 / len(held_out.density)))
    for instance in range(len(held_out.density)):
        links, unknown, _ = held_out.take(*(part.instance == instance for part in held_out[:2]))
        auc = low = high = None
        if len(links.score) and len(unknown.score):
            auc = weighted_auc(links.score, unknown.score, unknown.weight)
            low, high = auc_limits(auc, len(links.score), _number(unknown.weight), z)
        clear = len(links.score) >= FEW and low is not None and low > 0.5
        rows.append({"edges": len(links.score), "roc_auc": auc, "low": low, "high": high, "clear": clear})
    return rows


def auc_limits(auc: float, links: int, others: float, z: float = Z) -> tuple[float, float]:
    """Return limits of the ROC-AUC of so many links and other pairs: all values from which it is within z deviations.

    The variance of an estimate of theta is that of Hanley and McNeil for exponential scores, with the mean of both
    numbers for each of them (Newcombe 2006, method 5). At 1/2 it is that of Mann and Whitney's statistic:
    """
    more = (links + others) / 2 - 1

    def room(theta: float) -> float:
        """Return how far z deviations reach beyond the distance between theta and the estimate."""
        spread = 1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)
        return z * float(np.sqrt(theta * (1 - theta) * spread / (links * others))) - abs(theta - auc)

    inside = float(np.clip(auc, 1e-9, 1 - 1e-9))
    low = float(brentq(room, 0, inside)) if auc > 0 else 0.0
    return low, float(brentq(room, inside, 1)) if auc < 1 else 1.0


def weighted_auc(positive: ArrayLike, negative: ArrayLike, weight: ArrayLike) -> float:
    """Return the probability that a positive scores higher than a negative drawn by weight; ties count half."""
    scores, weights = np.asarray(negative, np.float64), np.asarray(weight, np.float64)
    order = np.argsort(scores)
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    sides: tuple[Any, Any] = ("left", "right")
    first, last = (below[np.searchsorted(scores[order], positive, side)] for side in sides)
    return float((first + last).mean() / (2 * below[-1]))
