"""What a run leaves in its folder for the page besides the model: how it was made, its quality on held-out edges.

Quality is how well validation edges are told from unknown pairs, and whether probabilities hold. Validation edges have
chosen the epoch and fitted the calibration. So that the reliability diagram does not judge a calibration by the pairs
it was fitted to, pairs are divided at random into two halves, and each half gets the probabilities of a calibration
that was fitted to the other one.
"""

import json
import platform
import shlex
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri

from banditplex.arrays import Floats
from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import notes_of
from banditplex.predictor import LinkPredictor
from banditplex.report.kept import ABOUT
from banditplex.report.page import plain
from banditplex.rng import stream
from banditplex.schema import number, parse, whole
from banditplex.storage.files import regular, replace_file
from banditplex.training.calibration import HeldOut, fit
from banditplex.version import __version__

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
    for bin_ in np.unique(place[judged.weight > 0]).tolist():
        at = (place == bin_) & (judged.weight > 0)
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
    from scipy.optimize import brentq  # takes long to import; predictions do without

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


_SHARE = number(-1e-9, 1 + 1e-9, phrase="a number from 0 to 1")
_BIN = {**dict.fromkeys(("probability", "share", "low", "high"), _SHARE), "links": whole()}
_MAYBE = (type(None), _SHARE)
_TARGET = {"edges": whole(), "roc_auc": _MAYBE, "low": _MAYBE, "high": _MAYBE, "clear": bool}
PACKAGES = ("numpy", "scipy", "pandas", "torch", "torch-geometric")


def describe(data: str, mx: Multiplex) -> dict[str, Any]:
    """Return how the running command makes its results: data, command, date, versions, the truth, notes on reading.

    The truth is (target, relevant layer) of data that was made with known relevant layers, None of other data.
    """
    truth: Any = mx.metadata.get("relevant")
    found = [(mx.layer_index(target), mx.layer_index(layer)) for target in truth or () for layer in truth[target]]
    versions = {"banditplex": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):  # a part of another distribution
            versions[name] = version(name)
    return {
        "data": data,
        "command": f"banditplex {shlex.join(sys.argv[1:])}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": versions,
        "relevant": None if truth is None else found,
        "notes": notes_of(mx.metadata),
    }


def write_about(folder: Path, data: str, mx: Multiplex, model: LinkPredictor, title: str | None = None) -> None:
    """Write how a run was made, the quality of its model, the time of its gains and the title, unless it is there."""
    if (folder / ABOUT).exists():
        return
    about = describe(data, mx) | {"held_out": quality(model), "gains_seconds": model.gains_seconds_, "title": title}
    replace_file(folder / ABOUT, json.dumps(plain(about), indent=1, ensure_ascii=False).encode())


def quality(model: LinkPredictor) -> dict[str, Any] | None:
    """Return the quality of a model on held-out edges; None of a loaded one, which does not know them."""
    found = model.held_out_
    return None if found is None else summarise(found, stream(model.seed, "reliability"))


def read_about(folder: Path, model: LinkPredictor) -> dict[str, Any]:
    """Return what `write_about` wrote about a model, empty if there is no such file."""
    path = folder / ABOUT
    try:
        text = regular(path).read_bytes()
    except FileNotFoundError:
        return {}
    layer = whole(0, model.multiplex_.num_layers - 1)
    return parse(text, {
        "data?": str, "title?": (type(None), str), "command?": str, "date?": str, "versions?": {"*": str},
        "notes?": [str], "gains_seconds?": (type(None), number(0, 1e9)), "relevant?": (type(None), [[layer, 2]]),
        "held_out?": (type(None), {"bins": [_BIN], "targets": [_TARGET, len(model.k_)]}),
    }, path=path)  # fmt: skip
