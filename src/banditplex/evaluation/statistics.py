"""Means, confidence intervals and paired tests over the runs of repeated cross-validation.

Training sets of different folds and trials overlap, so runs are not independent, and the usual t-test rejects too
often. Nadeau and Bengio ("Inference for the generalization error", Machine Learning 52, 2003) correct the variance of
the mean of n runs from s^2 / n to s^2 (1/n + test size / training size). Wilcoxon's signed-rank test is applied to the
means of trials. If several methods are compared with a reference, p-values are adjusted with Holm's method.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from banditplex.arrays import Floats
from banditplex.errors import InputError

NOT_METRICS = {"method", "trial", "fold", "scope", "layer", "train_edges", "test_edges", "fit_seconds", "score_seconds"}
"""Columns of the rows of `evaluate` that are not metrics."""


class TestedMean(NamedTuple):
    """A mean over runs, its confidence interval, and the p-value of the hypothesis that it is 0."""

    mean: float
    low: float
    high: float
    p: float
    error: float  # corrected standard error


def corrected_t(values: ArrayLike, *, ratio: float, confidence: float = 0.95) -> TestedMean:
    """Return the mean of runs (n,), with the corrected resampled t-test (Nadeau and Bengio).

    t = mean / sqrt((1/n + ratio) s^2) with n - 1 degrees of freedom; s^2 is the sample variance. `ratio` is the size of
    the test set / size of the training set: 1 / (f - 1) with f folds. 0: the usual t-test.
    """
    from scipy.stats import t as student

    runs = np.asarray(values, np.float64)
    n, mean = len(runs), float(np.mean(runs)) if len(runs) else np.nan
    if n < 2 or not np.isfinite(runs).all():
        return TestedMean(mean, np.nan, np.nan, np.nan, np.nan)
    error = float(np.sqrt((1 / n + ratio) * np.var(runs, ddof=1)))
    half = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    p = float(2 * student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0)
    return TestedMean(mean, mean - half, mean + half, p, error)


def signed_rank_p(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test of differences (n,).

    Zeros are dropped, and ties get their mean rank. The p-value is exact with ties, too: it is computed from the
    distribution over all 2^n signs.
    """
    from scipy.stats import rankdata

    values = np.asarray(differences, np.float64)
    if not np.isfinite(values).all():
        return np.nan
    values = values[values != 0]
    ranks = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)  # doubled, so that they are integers
    chance = np.ones(1)
    for rank in ranks.tolist():  # chance[w] = P(sum of the doubled ranks of positive differences is w)
        chance = (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0))) / 2
    statistic = int(ranks[values > 0].sum())
    return float(min(1.0, 2 * min(chance[: statistic + 1].sum(), chance[statistic:].sum())))


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values (m,) adjusted for multiple comparisons with Holm's method; NaN is kept and not counted."""
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
) -> pd.DataFrame:
    """Return a table of methods x metrics: means, and differences to a reference method on the same splits.

    Parameters
    ----------
    rows
        Rows of `evaluate`. Only runs that all methods have finished are used.
    methods, metrics
        Names, in the order of the table; None: all.
    reference
        The method that others are compared with; None: "uniform" if present, else the first.
    scope
        "mean" (over layers) or "pooled".
    confidence
        Confidence level of the intervals.

    Columns: method, metric, runs; mean, standard deviation over runs, and corrected interval of the mean (low, high);
    difference to the reference, its corrected interval (difference_low, difference_high) and standard error
    (difference_error); p of the corrected t-test over runs, and p_wilcoxon of the signed-rank test over trial means.
    Both p-values are adjusted with Holm's method for the number of methods compared with the reference.
    """
    frame: Any = pd.DataFrame([row for row in rows if row["scope"] == scope])
    if frame.empty:
        raise InputError(f"Expected rows of scope {scope!r}, got none.")
    methods = _check_names("methods", methods, sorted(frame["method"].unique()))
    metrics = _check_names("metrics", metrics, [name for name in frame.columns if name not in NOT_METRICS])
    reference = reference or ("uniform" if "uniform" in methods else methods[0])
    _check_names("reference", [reference], methods)
    frame, run = frame[frame["method"].isin(methods)], ["trial", "fold"]
    if frame.duplicated([*run, "method"]).any():
        raise InputError("Expected rows of one evaluation, got several for the same method, trial and fold.")
    shared = frame[frame.groupby(run)["method"].transform("size") == len(methods)]
    if shared.empty:
        raise InputError("Expected a trial and fold that every method has finished, got none.")
    ratio = float((shared["test_edges"] / shared["train_edges"]).mean())
    tables = {name: shared.pivot(index=run, columns="method", values=name)[methods] for name in metrics}
    frames = [_compare(table, reference, name, ratio, confidence) for name, table in tables.items()]
    return pd.concat(frames, ignore_index=True)


def _check_names(parameter: str, names: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for name in names or ():
        if name not in known:
            raise InputError(f"Expected {parameter} among {', '.join(known)}, got {name!r}.")
    return list(names or known)


def _compare(table: Any, reference: str, metric: str, ratio: float, confidence: float) -> pd.DataFrame:
    """Return the rows of the summary for one metric, from a table of runs (trial, fold) x methods."""
    lines = []
    for method in table.columns:
        runs = table[method].to_numpy()
        own = corrected_t(runs, ratio=ratio, confidence=confidence)
        deviation = float(np.std(runs, ddof=1)) if len(runs) > 1 else np.nan
        line = {"method": method, "metric": metric, "runs": len(runs), "mean": own.mean, "deviation": deviation}
        gap, p_wilcoxon = TestedMean(*[np.nan] * 5), np.nan
        if method != reference:
            difference = table[method] - table[reference]
            gap = corrected_t(difference.to_numpy(), ratio=ratio, confidence=confidence)
            p_wilcoxon = signed_rank_p(difference.groupby("trial").mean().to_numpy())
        line |= {"low": own.low, "high": own.high, "difference": gap.mean, "difference_low": gap.low}
        line |= {"difference_high": gap.high, "difference_error": gap.error, "p": gap.p, "p_wilcoxon": p_wilcoxon}
        lines.append(line)
    result = pd.DataFrame(lines)
    return result.assign(p=holm(result["p"]), p_wilcoxon=holm(result["p_wilcoxon"]))
