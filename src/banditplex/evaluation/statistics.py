"""Is one method better than another? Means, confidence intervals and paired tests of runs that share data.

Training sets of different folds and trials overlap, so that runs are not independent, and the usual t-test finds
differences that are none. Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003)
widen the variance of the mean of n runs from s^2 / n to s^2 (1/n + test size / training size). Wilcoxon's signed-rank
test looks at the means of whole trials alone. Where several methods are compared, p-values are adjusted by Holm's rule.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
NOT_METRICS = {"method", "trial", "fold", "scope", "layer", "train_edges", "test_edges", "fit_seconds", "score_seconds"}
"""What rows of `evaluate` hold besides metrics."""


class Mean(NamedTuple):
    """A mean over runs with its confidence interval, and the p-value of its being 0."""

    mean: float
    low: float
    high: float
    p: float


def corrected_t(values: ArrayLike, *, ratio: float, confidence: float = 0.95) -> Mean:
    """Return the mean of runs (n,), with the corrected resampled t-test of Nadeau and Bengio.

    t = mean / sqrt((1/n + ratio) s^2) with n - 1 degrees of freedom; s^2 is the sample variance.

    Parameters
    ----------
    values
        One number per run: a metric, or the difference of two methods on the same split.
    ratio
        Size of the test set / size of the training set; with f folds 1 / (f - 1). 0 = the usual t-test.
    confidence
        Of the interval.

    >>> corrected_t([0.1, 0.3], ratio=0.0).p == corrected_t([0.1, 0.3], ratio=0.5).p
    False
    >>> round(corrected_t([0.1, 0.3], ratio=0.25).mean, 3)
    0.2
    """
    from scipy.stats import t as student

    runs = np.asarray(values, np.float64)
    n, mean = len(runs), float(np.mean(runs)) if len(runs) else np.nan
    if n < 2 or not np.isfinite(runs).all():
        return Mean(mean, np.nan, np.nan, np.nan)
    error = float(np.sqrt((1 / n + ratio) * np.var(runs, ddof=1)))
    half = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    p = float(2 * student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0)
    return Mean(mean, mean - half, mean + half, p)


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test of differences (n,).

    Zeros are left out, and equal sizes share their mean rank; the distribution over all 2^n signs is counted, whatever
    the ties.

    >>> signed_rank_p([0.3, 0.1, 0.4, 0.2, 0.5])  # all of one sign: 2 of 32
    0.0625
    """
    from scipy.stats import rankdata

    values = np.asarray(differences, np.float64)
    if not np.isfinite(values).all():
        return np.nan
    values = values[values != 0]
    ranks = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)  # doubled: whole numbers
    chance = np.ones(1)
    for rank in ranks.tolist():  # chance[w]: that the doubled ranks of the positive ones add up to w
        chance = (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0))) / 2
    seen = int(ranks[values > 0].sum())
    return float(min(1.0, 2 * min(chance[: seen + 1].sum(), chance[seen:].sum())))


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values (m,) adjusted for their number by Holm's rule; NaN stays, and does not count.

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: np.isfinite(p).sum()]
    factor = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factor * p[order]))
    return adjusted


def summary(
    rows: Iterable[Mapping[str, Any]],
    *,
    methods: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    reference: str | None = None,
    scope: str = "mean",
    confidence: float = 0.95,
) -> "pd.DataFrame":
    """Return a table of methods x metrics: how good each is, and how it differs from a reference on the same splits.

    Parameters
    ----------
    rows
        What `evaluate` yields. Only runs that all methods have are looked at.
    methods, metrics
        Names, in the order of the table; None = all that there are.
    reference
        The method that others are compared with; None = "uniform" if it is there, else the first.
    scope
        "mean" (over layers) or "pooled".
    confidence
        Of the intervals.

    Columns: method, metric, runs; mean, deviation over runs, and the mean's corrected interval low, high; difference
    to the reference with its corrected interval difference_low, difference_high; p of the corrected t-test over runs
    and p_wilcoxon of the signed-rank test over trial means, both adjusted by Holm's rule for the number of methods that
    are compared with the reference.
    """
    import pandas as pd

    frame: Any = pd.DataFrame([row for row in rows if row["scope"] == scope])
    if frame.empty:
        raise InputError(f"Expected rows of scope {scope!r}, got none.")
    methods = _known("methods", methods, sorted(frame["method"].unique()))
    metrics = _known("metrics", metrics, [name for name in frame.columns if name not in NOT_METRICS])
    (against,) = _known("reference", [reference or ("uniform" if "uniform" in methods else methods[0])], methods)
    shared = _shared_runs(frame[frame["method"].isin(methods)], len(methods))
    ratio = float((shared["test_edges"] / shared["train_edges"]).mean())
    tables = {name: shared.pivot(index=["trial", "fold"], columns="method", values=name)[methods] for name in metrics}
    parts = [_compare(table, against, name, ratio, confidence) for name, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _known(what: str, asked: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for name in asked or ():
        if name not in known:
            raise InputError(f"Expected {what} among {', '.join(known)}, got {name!r}.")
    return list(asked or known)


def _shared_runs(frame: Any, num_methods: int) -> Any:
    """Return the rows of runs that every method has, once each."""
    run = ["trial", "fold"]
    if frame.duplicated([*run, "method"]).any():
        raise InputError("Expected one row per method, trial and fold, got several: are these rows of one evaluation?")
    shared = frame[frame.groupby(run)["method"].transform("size") == num_methods]
    if shared.empty:
        raise InputError("Expected at least one trial and fold that every method has finished, got none.")
    return shared


def _compare(table: Any, reference: str, metric: str, ratio: float, confidence: float) -> "pd.DataFrame":
    """Return the lines of one metric from its table of runs (trial, fold) x methods."""
    import pandas as pd

    lines = []
    for method in table.columns:
        runs = table[method].to_numpy()
        own = corrected_t(runs, ratio=ratio, confidence=confidence)
        line = {"method": method, "metric": metric, "runs": len(runs), "mean": own.mean}
        line |= {
            "deviation": float(np.std(runs, ddof=1)) if len(runs) > 1 else np.nan,
            "low": own.low,
            "high": own.high,
        }
        gap, p_wilcoxon = Mean(np.nan, np.nan, np.nan, np.nan), np.nan
        if method != reference:
            apart = table[method] - table[reference]
            gap = corrected_t(apart.to_numpy(), ratio=ratio, confidence=confidence)
            p_wilcoxon = signed_rank_p(apart.groupby("trial").mean().to_numpy())
        line |= {"difference": gap.mean, "difference_low": gap.low, "difference_high": gap.high}
        lines.append(line | {"p": gap.p, "p_wilcoxon": p_wilcoxon})
    result = pd.DataFrame(lines)
    return result.assign(p=holm(result["p"]), p_wilcoxon=holm(result["p_wilcoxon"]))
