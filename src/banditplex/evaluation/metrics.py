"""Metrics of scores (n,) against labels (n,) of 0 and 1, in closed form."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.errors import InputError


def roc_auc(label: ArrayLike, score: ArrayLike) -> float:
    """Return the chance that a positive scores above a negative, ties counted half.

    >>> roc_auc([1, 1, 0, 0], [3.0, 1.0, 1.0, 0.0])
    0.875
    """
    from scipy.stats import rankdata

    positive, values = _check(label, score)
    rank = rankdata(values)
    p, n = int(positive.sum()), int((~positive).sum())
    return float((rank[positive].sum() - p * (p + 1) / 2) / (p * n))


def average_precision(label: ArrayLike, score: ArrayLike) -> float:
    """Return the mean precision over the positives, where tied scores are taken in at once.

    >>> round(average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]), 4)
    0.8333
    """
    positive, values = _check(label, score)
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    gained = np.diff(hits[last], prepend=0)
    return float((gained * hits[last] / (last + 1)).sum() / hits[-1])


def accuracy(label: ArrayLike, score: ArrayLike, *, threshold: float = 0.0) -> float:
    """Return the share of pairs on the right side of the threshold (logits: 0).

    >>> accuracy([1, 0, 0, 1], [2.0, -1.0, 0.5, 0.1])
    0.75
    """
    positive, values = _check(label, score, both=False)
    return float(((values > threshold) == positive).mean())


def brier(label: ArrayLike, probability: ArrayLike) -> float:
    """Return the mean squared distance of probabilities from labels.

    >>> brier([1, 0], [0.5, 0.5])
    0.25
    """
    positive, values = _check(label, probability, both=False)
    return float(((values - positive) ** 2).mean())


def _check(label: ArrayLike, score: ArrayLike, *, both: bool = True) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    labels, values = np.asarray(label), np.asarray(score, dtype=np.float64)
    if labels.ndim != 1 or labels.shape != values.shape or not len(labels):
        raise InputError(f"Expected one score per label, got shapes {labels.shape} and {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"Expected finite scores, got {values[~np.isfinite(values)][0]}.")
    positive = labels.astype(np.bool_)
    if both and (positive.all() or not positive.any()):
        raise InputError(f"Expected labels of both kinds, got only {int(positive[0])}.")
    return positive, values
