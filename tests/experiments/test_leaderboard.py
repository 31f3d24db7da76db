import json

import pandas as pd
import pytest

from banditplex.leaderboard.board import CSV, SEEDS, seed_frame
from experiments.leaderboard import Board, measure, report
from experiments.runner import run
from tests.refusals import refuses

AUC = {"default": (0.8, 0.9), "svd": (0.85, 0.9), "katz": (0.5, 0.7), "uniform": (0.99, 0.99)}


def row(method, seed, auc, **more):
    return {"method": method, "trial": seed, "roc_auc": auc} | more


def write(folder, rows, **errors):
    """Write results of seeds, and the errors of metrics."""
    folder.mkdir()
    seed_frame(rows).to_csv(folder / SEEDS, index=False)
    methods = list(dict.fromkeys(each["method"] for each in rows))
    metrics = {name for each in rows for name in each} - {"method", "trial"}
    columns = {f"{name}_error": [errors.get(method) for method in methods] for name in metrics}
    pd.DataFrame({"method": methods} | columns).to_csv(folder / CSV, index=False)


@pytest.fixture
def folder(tmp_path):
    rows = [row(method, seed, auc) for method, values in AUC.items() for seed, auc in enumerate(values)]
    write(tmp_path / "twins-layer", [*rows, row("half", 0, 0.95)], svd=0.0375)  # "half" failed with the other seed
    return tmp_path


def test_differences_are_paired_and_the_best_rival_is_named(folder):
    """svd: differences -.05 and 0, mean -.025, within two of the errors that `compare` wrote; katz is behind."""
    rows = {each["method"]: each for each in measure(Board("twins-layer", str(folder / "twins-layer")))}
    assert set(rows) == {"svd", "katz"}
    assert rows["svd"]["difference"] == pytest.approx(-0.025)
    assert (rows["svd"]["error"], rows["katz"]["error"]) == (0.0375, None)
    assert rows["katz"]["difference"] == pytest.approx(0.25)
    cells = report(list(rows.values())).parts[0].splitlines()[-1]
    assert [cell.strip() for cell in cells.strip("|").split("|")] == [
        "twins-layer", "ROC-AUC", ".8500", "2 of 3", "svd", ".8750", "-.0250", ".0375", "yes",
    ]  # fmt: skip


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
