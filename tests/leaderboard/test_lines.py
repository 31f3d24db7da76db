"""Means, deviations and paired tests against hand-made numbers and scipy."""

import json

import numpy as np
import pytest
from scipy import stats

from banditplex.leaderboard.board import saturation, verdict
from banditplex.leaderboard.lines import (
    TELLING,
    Difference,
    Line,
    difference_table,
    layer_lines,
    main_table,
    make_lines,
)

AUC = {"default": (0.9, 0.8, 0.85), "none": (0.7, 0.65, 0.6), "svd": (0.95, 0.82, 0.84)}


def row(method, seed, auc, settings="{}", scope="mean", layer=None, **more):
    base = {"method": method, "trial": seed, "fold": 0, "scope": scope, "layer": layer, "settings": settings}
    numbers = {
        "roc_auc": auc,
        "average_precision": auc / 2,
        "accuracy": 0.5,
        "f1": 0.25,
        "train_edges": 80,
        "test_edges": 20,
    }
    return base | numbers | {"fit_seconds": 1.0 + seed, "memory": 10**6 * (seed + 1), "parameters": 7} | more


def failure(method, seed, error):
    return {"method": method, "trial": seed, "fold": 0, "scope": "none", "settings": "{}", "error": error}


@pytest.fixture
def rows():
    found = [row(name, seed, auc) for name, values in AUC.items() for seed, auc in enumerate(values)]
    found += [row("half", seed, 0.5, json.dumps({"rank": 4} if seed else {})) for seed in (0, 1)]
    found += [failure("half", 2, "out of time (3 s)"), failure("bad", 0, "ValueError: x"), failure("bad", 1, "other")]
    return [*found, failure("bad", 2, "other")]


def corrected(differences, ratio=0.25):
    """Nadeau and Bengio's test with scipy's distribution, from the formula."""
    n = len(differences)
    t = np.mean(differences) / np.sqrt((1 / n + ratio) * np.var(differences, ddof=1))
    return 2 * stats.t.sf(abs(t), n - 1)


def test_means_deviations_and_order(rows):
    lines = make_lines(rows)
    assert [line.method for line in lines] == ["svd", "default", "none", "half", "bad"]
    assert [line.ours for line in lines] == [False, True, True, False, False]
    svd = lines[0]
    assert svd.mean["roc_auc"] == pytest.approx(0.87)
    assert svd.deviation["roc_auc"] == pytest.approx(0.07)  # squares: .08, .05, .03
    assert svd.mean["average_precision"] == pytest.approx(0.435)
    assert (svd.seconds, svd.memory, svd.parameters, svd.seeds) == (2.0, 2e6, 7, 3)
    assert (svd.note, svd.chosen) == ("", "defaults")
    half, bad = lines[3:]
    assert half.note == "1 of 3 seeds failed: out of time (3 s)"
    assert half.chosen == "defaults (1 of 2); rank=4 (1 of 2)"
    assert (bad.seeds, bad.note, bad.mean) == (0, "other", {})


def test_paired_tests_against_ours(rows):
    lines = {line.method: line for line in make_lines(rows)}
    default = np.array(AUC["default"])
    raw = {name: corrected(np.array(AUC[name]) - default) for name in ("none", "svd")}
    raw["half"] = corrected(0.5 - default[:2])  # the seeds that both have
    ordered = sorted(("svd", "half"), key=raw.get)
    holm = np.minimum(1, np.maximum.accumulate([raw[name] * (2 - index) for index, name in enumerate(ordered)]))
    planned = [("none", raw["none"])]  # one comparison: nothing to adjust for
    for name, adjusted in [*planned, *zip(ordered, holm, strict=True)]:
        found = lines[name].difference["roc_auc"]
        assert found.to == "default"
        assert found.p == pytest.approx(adjusted)
    assert lines["none"].difference["roc_auc"].mean == pytest.approx(-0.2)
    assert lines["default"].difference == {}
    assert lines["bad"].difference == {}
    wilcoxon = stats.wilcoxon(np.array(AUC["none"]) - default, method="exact").pvalue
    assert lines["none"].difference["roc_auc"].p_wilcoxon == pytest.approx(wilcoxon)


def test_the_error_of_a_difference_is_the_corrected_one(rows):
    """none - default: -.2, -.15, -.25 with s = .05, and test edges are a quarter of the training edges."""
    found = {line.method: line for line in make_lines(rows)}["none"].difference["roc_auc"]
    assert found.error == pytest.approx(0.05 * np.sqrt(1 / 3 + 1 / 4))


def test_rankings_decide_where_all_methods_have_them(rows):
    """svd has the highest ROC-AUC; katz ranks best among hard pairs, and the filtered ranking comes before both."""
    hard = {"default": 0.3, "none": 0.2, "svd": 0.25, "half": 0.1}
    ranked = [each | {"hard_mrr": hard[each["method"]]} if "error" not in each else each for each in rows]
    assert [line.method for line in make_lines(ranked)] == ["default", "svd", "none", "half", "bad"]
    assert main_table(make_lines(ranked)).heads[1:3] == ("hard MRR", "ROC-AUC")
    filtered = [each | {"filtered_mrr": 1 - each.get("hard_mrr", 0)} for each in ranked]
    assert [line.method for line in make_lines(filtered)] == ["half", "none", "svd", "default", "bad"]
    some = [each | ({"hard_mrr": 0.3} if each["method"] == "none" else {}) for each in rows]
    assert make_lines(some)[0].method == "svd"  # only one method was ranked: ROC-AUC


def test_the_verdict_is_about_the_ranking():
    lines = [line("default", 0.5, metric="hard_mrr"), line("none", 0.3, -0.2, 0.01, metric="hard_mrr")]
    assert verdict(lines) == (
        "banditplex helps here: with the other layers, hard MRR rises from .300 to .500 (+.200 ± .020, p = .010)."
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"default": 0.998, "svd": 0.98}, "the best method has .998"),
        ({"default": 0.9, "svd": 0.899, "katz": 0.8985}, "3 methods are within .002"),
        ({"default": 0.9, "none": 0.9, "svd": 0.899, "katz": 0.89}, None),  # ours count once
        ({"default": 0.999}, None),  # nothing to tell apart
        ({}, None),
    ],
)
def test_a_saturated_roc_auc_is_told(values, says):
    found = saturation([line(method, auc) for method, auc in values.items()])
    expected = f"ROC-AUC is saturated here and hardly tells methods apart ({says}): look at rankings."
    assert found == (None if says is None else expected)


def test_without_ours_the_first_finished_method_is_the_reference(rows):
    rows = [failure("bad", 0, "x"), *(row for row in rows if row["method"] not in ("default", "bad"))]
    lines = {line.method: line for line in make_lines(rows)}
    assert lines["svd"].difference["roc_auc"].to == "none"
    assert lines["svd"].difference["roc_auc"].mean == pytest.approx(0.87 - 0.65)
    assert make_lines([failure("bad", 0, "x")]) == [Line("bad", False, 0, ("x",))]


def test_tables_show_numbers_the_best_and_what_failed(rows):
    lines = make_lines(rows)
    table = main_table(lines)
    assert table.heads == (
        "method",
        "ROC-AUC",
        "AP",
        "accuracy",
        "F1",
        "seconds",
        "MB",
        "parameters",
        "chosen settings",
        "note",
    )
    assert [text for text, _ in table.rows[0][1]] == [
        "svd", ".870 ± .070", ".435 ± .035", ".500 ± .000", ".250 ± .000", "2.0", "2", "7", "", ""
    ]  # fmt: skip
    assert [cells[1][1] for _, cells in table.rows] == [True, False, False, False, False]
    assert [cells[3][1] for _, cells in table.rows] == [True] * 4 + [False]  # ties are all best
    assert [line.ours for line, _ in table.rows] == [False, True, True, False, False]
    assert [not line.seeds for line, _ in table.rows] == [False] * 4 + [True]
    assert [text for text, _ in table.rows[4][1]] == ["bad", *"-------", "", "other"]
    assert main_table(lines[:1]).heads[-1] == "parameters"  # no note is needed
    assert table.rows[3][1][-2][0] == "defaults (1 of 2); rank=4 (1 of 2)"
    differences = difference_table(lines)
    assert differences.heads == ("method", "ROC-AUC difference", "p")
    # none - default: -.2, -.15, -.25; s^2 = .0025; error: sqrt(.0025 (1/3 + 20/80)) = .0382
    assert differences.rows[2][1][1][0] == "-.200 ± .038"
    assert difference_table(make_lines([row("svd", 0, 0.5)])) is None


def test_without_rankings_f1_ap_at_50_and_medians_are_shown_instead():
    more = {"ap_at_50": 0.75, "median_roc_auc": 0.5, "median_average_precision": 0.25, "median_ap_at_50": 0.7}
    shown = ("F1", "AP@50", "median ROC-AUC", "median AP", "median AP@50")
    table = main_table(make_lines([row("svd", 0, 0.5, **more)]))
    assert table.heads[4:9] == shown
    assert [text for text, _ in table.rows[0][1][4:9]] == [".250", ".750", ".500", ".250", ".700"]
    ranked = main_table(make_lines([row("svd", 0, 0.5, **more, random_mrr=0.3)]))
    assert not set(shown) & set(ranked.heads)


def test_layers_have_lines_of_their_own():
    rows = [row("svd", seed, auc, scope="layer", layer="a") for seed, auc in enumerate((0.5, 0.7))]
    rows += [row("default", 0, 0.9, scope="layer", layer="a"), row("svd", 0, 0.1)]
    lines = layer_lines(rows)
    assert [(line.method, line.seeds) for line in lines["a"]] == [("default", 1), ("svd", 2)]
    assert lines["a"][1].mean["roc_auc"] == pytest.approx(0.6)
    assert lines["a"][1].deviation["roc_auc"] == pytest.approx(0.1 * np.sqrt(2))
    table = main_table(lines["a"], TELLING)
    assert [line.ours for line, _ in table.rows] == [True, False]
    assert [text for text, _ in table.rows[1][1]] == [
        "svd",
        ".600 ± .141",
        ".300 ± .071",
        ".500 ± .000",
        ".250 ± .000",
    ]
    assert [cells[1][1] for _, cells in table.rows] == [True, False]


def line(method, auc, gap=None, p=0.5, *, metric="roc_auc"):
    ours = method in ("default", "none")
    found = {} if gap is None else {metric: Difference("default", gap, 0.02, p, p)}
    return Line(method, ours, 5, (), {metric: auc}, {metric: 0.01}, found)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([line("none", 0.8, -0.1, 0.01), line("svd", 0.85, -0.05, 0.3)],
         "banditplex helps here: with the other layers, ROC-AUC rises from .800 to .900 (+.100 ± .020, "
         "p = .010); the other method, svd (.850, -.050 ± .020, p = .300), is lower, but not clearly."),
        ([line("none", 0.8, -0.1, 0.01), line("svd", 0.92, 0.02, 0.6), line("trees", 0.6, -0.3, 0.01)],
         "banditplex helps here, but another method does as well: with the other layers, ROC-AUC rises from .800 to "
         ".900 (+.100 ± .020, p = .010); the best of 2 other methods, svd (.920, +.020 ± .020, "
         "p = .600), is higher, but not clearly."),
        ([line("svd", 0.9, 0.0, 1.0)],
         "It is not clear whether banditplex helps here: ROC-AUC is .900; the other method, svd (.900, "
         "+.000 ± .020, p = 1.000), is as good."),
        ([line("none", 0.8, -0.1, 0.01), line("svd", 0.85, 0.05, 0.03), line("trees", 0.6, -0.3, 0.01)],
         "banditplex does not help here: with the other layers, ROC-AUC rises from .800 to .900 (+.100 ± .020, "
         "p = .010); the best of 2 other methods, svd (.850, +.050 ± .020, p = .030), is clearly better."),
        ([line("none", 0.89, -0.01, 0.4)],
         "It is not clear whether banditplex helps here: with the other layers, ROC-AUC is .900, and .890 without them "
         "(+.010 ± .020, p = .400)."),
        ([line("none", 0.95, 0.05, 0.0001)],
         "banditplex does not help here: with the other layers, ROC-AUC falls from .950 to .900 "
         "(-.050 ± .020, p < .001)."),
        ([line("svd", 0.8, -0.1, 0.02)],
         "banditplex helps here: ROC-AUC is .900; the other method, svd (.800, -.100 ± .020, "
         "p = .020), is clearly worse."),
        ([], None),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence(lines, says):
    assert verdict([line("default", 0.9), *lines]) == says


def test_one_seed_is_not_enough_for_a_verdict():
    rows = [row("default", 0, 0.9), row("none", 0, 0.5), row("svd", 0, 0.95)]
    assert verdict(make_lines(rows)) == (
        "One seed cannot tell whether banditplex helps here: with the other layers, ROC-AUC is .900, and .500 without "
        "them; the other method, svd (.950), is higher, but not clearly."
    )


def test_there_is_no_verdict_without_ours():
    assert verdict([line("none", 0.8), line("svd", 0.8)]) is None
