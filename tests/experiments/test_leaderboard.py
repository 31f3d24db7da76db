import json

import pytest

from banditplex.leaderboard.board import SEEDS, seed_frame
from experiments.leaderboard import Board, measure, report
from experiments.runner import run
from tests.refusals import refuses

AUC = {"default": (0.8, 0.9), "svd": (0.85, 0.9), "katz": (0.5, 0.7), "uniform": (0.99, 0.99)}


def row(method, seed, auc, **more):
    return {"method": method, "trial": seed, "roc_auc": auc} | more


def write(folder, rows):
    folder.mkdir()
    seed_frame(rows).to_csv(folder / SEEDS, index=False)


@pytest.fixture
def folder(tmp_path):
    rows = [row(method, seed, auc) for method, values in AUC.items() for seed, auc in enumerate(values)]
    write(tmp_path / "twins-layer", [*rows, row("half", 0, 0.95)])  # which failed with the other seed
    return tmp_path


def test_differences_are_paired_and_the_best_rival_is_named(folder):
    """svd: differences -.05 and 0, mean -.025, deviation .05 / sqrt(2), standard error .025; katz is behind."""
    rows = {each["method"]: each for each in measure(Board("twins-layer", str(folder / "twins-layer")))}
    assert set(rows) == {"svd", "katz"}
    assert rows["svd"]["difference"] == pytest.approx(-0.025)
    assert rows["svd"]["error"] == pytest.approx(0.025)
    assert rows["katz"]["difference"] == pytest.approx(0.25)
    cells = report(list(rows.values())).parts[0].splitlines()[-1]
    assert [cell.strip() for cell in cells.strip("|").split("|")] == [
        "twins-layer", "ROC-AUC", ".8500", "2 of 3", "svd", ".8750", "-.0250", ".0250", "yes",
    ]  # fmt: skip


def test_the_error_allows_for_training_sets_that_overlap(tmp_path):
    """Differences -.05 and 0: s = .05 / sqrt(2), and a fifth of the edges is held out: s sqrt(1/2 + 1/4)."""
    values = {"default": (0.3, 0.4), "svd": (0.35, 0.4)}
    rows = [row(name, seed, 0.5, hard_mrr=each) for name, some in values.items() for seed, each in enumerate(some)]
    write(tmp_path / "twins-layer", rows)
    found = next(measure(Board("twins-layer", str(tmp_path / "twins-layer"))))
    assert (found["metric"], found["error"]) == ("hard_mrr", pytest.approx(0.05 * (0.5 * 0.75) ** 0.5))


def test_leaderboards_without_rankings_have_other_metrics_and_medians(tmp_path):
    more = {"average_precision": 0.6, "f1": 0.5, "ap_at_50": 0.4, "median_roc_auc": 0.7, "hits": 1.0}
    ranked = {"f1": 0.5, "hard_mrr": 0.3, "median_roc_auc": 0.7}
    for name, columns in (("fixed", more), ("random", ranked)):
        rows = [row("default", 0, 0.8, **columns), row("svd", 0, 0.9, **columns | {"f1": 0.45})]
        write(tmp_path / name, rows)
    rows = [each for name in ("fixed", "random") for each in measure(Board(name, str(tmp_path / name)))]
    assert [each["metric"] for each in rows if each["board"] == "random"] == ["hard_mrr", "roc_auc"]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report(rows).parts[0].splitlines()[2:7]]
    assert [line[1:4] for line in cells] == [
        ["ROC-AUC", ".8000", "2 of 2"], ["AP", ".6000", "1 of 2"], ["F1", ".5000", "1 of 2"],
        ["AP@50", ".4000", "1 of 2"], ["median ROC-AUC", ".7000", "1 of 2"],
    ]  # fmt: skip
    assert cells[2][6:] == [".0500", "-", "first"]


def test_the_command_reads_a_folder(folder, capsys, monkeypatch, tmp_path):
    run("leaderboard", ["--folder", str(folder), "--engine", "serial", "--json"])
    assert {each["board"] for each in json.loads(capsys.readouterr().out)} == {"twins-layer"}
    with refuses("seeds.csv"):
        run("leaderboard", ["--folder", str(tmp_path / "twins-layer"), "--engine", "serial"])
