"""Statistical tests agree with closed forms, published numbers, scipy and counts by hand."""

from itertools import product

import numpy as np
import pytest
import scipy.stats

from banditplex.evaluation.statistics import corrected_t, holm, signed_rank_p, summary
from tests.refusals import refuses

# Nadeau and Bengio


def test_corrected_t_by_hand():
    """Student's distribution with 2 degrees of freedom is 1/2 + t / (2 sqrt(2 + t^2))."""
    found = corrected_t([1.0, 2.0, 3.0], ratio=1 / 6)  # variance of the mean: 1 * (1/3 + 1/6) = 1/2; t^2 = 8
    assert found.mean == pytest.approx(2)
    assert found.p == pytest.approx(1 - np.sqrt(8 / 10))
    quantile = 0.95 * np.sqrt(2 / (1 - 0.95**2))  # where that formula is 0.975
    assert (found.low, found.high) == pytest.approx((2 - quantile * np.sqrt(0.5), 2 + quantile * np.sqrt(0.5)))


def test_without_overlap_it_is_the_usual_t_test():
    values = np.random.default_rng(0).normal(0.3, 1, 12)
    usual = scipy.stats.ttest_1samp(values, 0)
    found = corrected_t(values, ratio=0.0, confidence=0.9)
    assert found.p == pytest.approx(usual.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(usual.confidence_interval(0.9)))


def test_corrected_t_as_published():
    """The scikit-learn user guide, "Statistical comparison of models using grid search".

    10 x 10 folds of 300 samples: the corrected test has t = 0.750 and a one-sided p of 0.227 where the usual one has
    t = 2.611 and 0.005.
    """
    noise = np.random.default_rng(1).normal(size=100)
    values = (noise - noise.mean()) / noise.std(ddof=1) + 2.611 / np.sqrt(100)
    assert corrected_t(values, ratio=0.0).p / 2 == pytest.approx(0.005, abs=5e-4)
    assert corrected_t(values, ratio=30 / 270).p / 2 == pytest.approx(0.227, abs=5e-4)


def test_the_corrected_test_has_fewer_false_positives():
    """False positives at 5 %, in cross-validation of two equally good models on 100 samples.

    The models use disjoint halves of ten features, which are all noise; 10 trials x 5 folds of 50 rows.
    """
    rng = np.random.default_rng(2)
    alarms = {0.0: 0, 0.25: 0}
    for _ in range(100):
        x, y = rng.normal(size=(50, 10)), rng.normal(size=50)
        differences = []
        for _ in range(10):
            for test in np.array_split(rng.permutation(50), 5):
                train = np.setdiff1d(np.arange(50), test)
                error = []
                for half in (slice(0, 5), slice(5, 10)):
                    weight = np.linalg.lstsq(x[train, half], y[train], rcond=None)[0]
                    error.append(np.mean((y[test] - x[test, half] @ weight) ** 2))
                differences.append(error[0] - error[1])
        for ratio in alarms:
            alarms[ratio] += corrected_t(differences, ratio=ratio).p < 0.05
    assert alarms[0.0] > 20  # a fifth and more
    assert alarms[0.25] < 14  # 5 % of 100 are 5, plus more than four standard deviations


@pytest.mark.parametrize(
    ("values", "p"), [([0.0, 0.0], 1.0), ([0.5, 0.5], 0.0), ([0.5], np.nan), ([1, np.nan], np.nan)]
)
def test_runs_without_spread(values, p):
    assert corrected_t(values, ratio=0.25).p == pytest.approx(p, nan_ok=True)


# Wilcoxon


def test_signed_rank_as_in_tables():
    """Ten differences with a rank sum of 8 on one side are the last to be significant at 5 %: 2 * 25 / 1024."""
    assert signed_rank_p([1, 2, 3, 4, 5, 6, 7, -8, 9, 10]) == 50 / 1024


@pytest.mark.parametrize("size", [1, 4, 10, 23])
def test_signed_rank_agrees_with_scipy(size):
    values = np.random.default_rng(size).normal(0.4, 1, size)
    assert signed_rank_p(values) == pytest.approx(scipy.stats.wilcoxon(values, method="exact").pvalue)


@pytest.mark.parametrize("values", [[1, 1, -1, 2, 2, 3], [0, 0, 1, -2, 2], [5, 5, 5, 5], [-1, 1]])
def test_signed_rank_with_ties_counts_all_signs(values):
    kept = [value for value in values if value]
    ranks = [sum(abs(b) < abs(a) for b in kept) + (sum(abs(b) == abs(a) for b in kept) + 1) / 2 for a in kept]
    seen = sum(rank for rank, value in zip(ranks, kept, strict=True) if value > 0)
    sums = [sum(np.multiply(ranks, signs)) for signs in product([0, 1], repeat=len(kept))]
    p = 2 * min(np.mean([s <= seen for s in sums]), np.mean([s >= seen for s in sums]))
    assert signed_rank_p(values) == pytest.approx(min(1, p))


def test_signed_rank_of_nothing():
    assert signed_rank_p([0.0, 0.0]) == 1
    assert np.isnan(signed_rank_p([1.0, np.nan]))


# Several methods


def test_holm_by_hand():
    """Sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2 (not below the one before), 0.6."""
    assert holm([0.6, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.6, 0.04, 0.06, 0.06])
    assert holm([0.9, np.nan, 0.6]).tolist() == pytest.approx([1, np.nan, 1], nan_ok=True)
    assert holm([]).tolist() == []


def rows(methods):
    """Return rows of two trials x two folds, from four values per method."""
    rest = {"layer": None, "train_edges": 80, "test_edges": 20, "fit_seconds": 1.0, "score_seconds": 0.1}
    return [
        {"method": method, "trial": run // 2, "fold": run % 2, "scope": scope, "auc": value, **rest}
        for method, values in methods.items()
        for run, value in enumerate(values)
        for scope in ("mean", "pooled")
    ]


def test_summary_by_hand():
    given = rows({"b": [0.6, 0.8, 0.7, 0.9], "uniform": [0.5, 0.6, 0.7, 0.6], "a": [0.5, 0.7, 0.7, 0.6]})
    table = summary(given).set_index("method")
    assert list(table.index) == ["a", "b", "uniform"]
    assert (table["runs"] == 4).all()
    assert table.loc["b", "mean"] == pytest.approx(0.75)
    assert table.loc["b", "deviation"] == pytest.approx(np.sqrt(0.05 / 3))
    differences = np.array([0.1, 0.2, 0.0, 0.3])
    t = differences.mean() / np.sqrt((1 / 4 + 20 / 80) * differences.var(ddof=1))
    assert table.loc["b", "difference"] == pytest.approx(0.15)
    assert table.loc["b", "p"] == pytest.approx(2 * 2 * scipy.stats.t.sf(t, 3))  # Holm: twice, as the smaller of two
    assert table.loc["b", "p_wilcoxon"] == 1.0  # trial means 0.15 and 0.15: p 1/2, twice
    assert np.isnan(table.loc["uniform", "difference"])


def test_summary_looks_at_shared_runs_alone():
    given = rows({"a": [0.6, 0.8, 0.7, 0.9], "b": [0.5, 0.6, 0.7, 0.6]})
    cut = [row for row in given if not (row["method"] == "a" and row["trial"] == 1 and row["fold"] == 1)]
    table = summary(cut, methods=["b", "a"]).set_index("method")
    assert list(table.index) == ["b", "a"]
    assert np.isnan(table.loc["b", "difference"])  # the first is the reference
    assert table.loc["b", "mean"] == pytest.approx(0.6)
    assert table.loc["a", "difference"] == pytest.approx(0.1)


def test_summary_of_bad_input():
    given = rows({"a": [0.6, 0.8, 0.7, 0.9], "b": [0.5, 0.6, 0.7, 0.6]})
    for options, *values in (
        ({"metrics": ["mrr"]}, "metrics", "auc", "'mrr'"),
        ({"methods": ["c"]}, "methods", "a, b", "'c'"),
        ({"reference": "c"}, "reference", "a, b", "'c'"),
        ({"scope": "all"}, "scope", "'all'"),
    ):
        with refuses(*values):
            summary(given, **options)
    with refuses("several", "method", "trial", "fold"):
        summary(given + given)
    with refuses("every method", "none"):
        summary([row for row in given if (row["method"] == "a") == (row["trial"] == 0)])
