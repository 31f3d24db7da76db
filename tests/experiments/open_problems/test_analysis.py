"""Means, standard errors and differences of rows written by hand, and what is said about them."""

import math

import pytest

from experiments.open_problems import report, settings
from experiments.open_problems.analysis import curves, difference, finals, ratio, summary
from experiments.open_problems.experiment import all_tasks


def row(part, label, value, seed, auc, *, data="twins", final=True, epoch=10, edges=1000, probability=None):
    return {
        "part": part, "data": data, "label": label, "value": value, "seed": seed, "final": final, "epoch": epoch,
        "auc": auc, "auc_degree": auc - 0.2, "accuracy": auc - 0.1,
        "seconds_per_epoch": 0.5 * value, "steps": 10, "edges": edges, "pairs": 400,
        "draws": 100 / max(value, 1), "probability": probability,
    }  # fmt: skip


ROWS = [
    row("k", "uniform", 1, 0, 0.6), row("k", "uniform", 1, 1, 0.7),
    row("k", "default", 2, 1, 0.9, edges=3000), row("k", "default", 2, 0, 0.7, edges=3000),
    row("k", "default", 1, 0, 0.64), row("k", "default", 1, 1, 0.72),
    row("k", "uniform", 2, 0, 0.6), row("k", "uniform", 2, 1, 0.6),
]  # fmt: skip


def test_summary_has_means_and_standard_errors_in_the_order_of_the_settings():
    lines = summary(ROWS)
    assert list(zip(lines["label"], lines["value"], strict=True)) == [
        ("default", 1), ("default", 2), ("uniform", 1), ("uniform", 2)
    ]  # fmt: skip
    second = lines.iloc[1]
    assert second["seeds"] == 2
    assert second["auc"] == pytest.approx(0.8)
    assert second["auc_error"] == pytest.approx(0.1)  # deviation sqrt(.02), over sqrt(2)
    assert second["edges_per_step"] == 300
    assert second["pairs_per_step"] == 40
    assert math.isnan(second["probability"])


def test_differences_are_paired_by_seed():
    found = difference(finals(ROWS), ("default", 1), ("uniform", 1))
    assert found.mean == pytest.approx(0.03)  # .04 and .02
    assert found.error == pytest.approx(0.01)
    assert not found.clear  # two seeds: 12.7 standard errors are needed
    assert ratio(finals(ROWS), ("default", 2), ("default", 1), "edges") == 3


def test_curves_are_means_over_seeds():
    rows = [row("steps", "default", 1, seed, auc, final=False, epoch=1) for seed, auc in ((0, 0.5), (1, 0.7))]
    rows += [row("steps", "default", 1, 0, 0.9)]
    table = curves(rows)
    assert len(table) == 1
    assert table.loc[0, "auc"] == pytest.approx(0.6)
    assert table.loc[0, "auc_error"] == pytest.approx(0.1)


def test_sentences_come_from_the_numbers():
    (text,) = report.k_sentences(finals(ROWS))
    assert "2 layers per draw instead of 1 change the ROC-AUC of `default` by +.120 ± .060" in text
    assert "2.0 times the time, 3.0 times the edges" in text
    assert "against degree-matched pairs by +.120 ± .060." in text
    assert "at k = 1, 2: +.030 ± .010, +.200 ± .100." in text
    assert "could not be afforded" in text
    rows = [row("losses", label, 1, s, 0.8 + 0.001 * s, probability=0.5) for label in settings.LOSSES for s in range(3)]
    rows += [row("losses", "uniform", 1, s, 0.7 + 0.002 * s, probability=0.1) for s in range(3)]
    said = "\n".join(report.write_section("losses", summary(rows), finals(rows)))
    assert (
        "- **cosine** is clearly better than uniform draws on 1 of 1 data sets and clearly worse on 0; +0.099" in said
    )
    assert "in 2 comparisons: clearly better in 0, clearly worse in 0" in said
    assert "| twins | predictive | .801 ± .001 | .601 ± .001 | .701 ± .001 | .500 ± .000 |" in said


def test_the_whole_plan():
    seeds = range(settings.SEEDS)
    tasks = list(all_tasks(settings.PARTS, seeds))
    assert len({task.key for task in tasks}) == len(tasks)
    per_seed = (2 * 4 + 2) + (2 * 4 + 1) + 3 * 5 + 3 * 5 + 6 * 4
    assert len(tasks) == settings.SEEDS * per_seed
    assert {task.part for task in all_tasks(("losses",), seeds)} == {"losses"}
    assert {task.data for task in all_tasks(settings.PARTS, seeds, quick=True)} == {"twins", "uneven"}
