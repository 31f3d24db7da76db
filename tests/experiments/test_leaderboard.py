import json

import pytest

from banditplex.jobs.results import RowStore
from experiments.leaderboard import Board, measure, report
from experiments.runner import run
from tests.refusals import refuses

AUC = {"default": (0.8, 0.9), "svd": (0.85, 0.9), "katz": (0.5, 0.7), "union": (0.99, 0.99)}


def row(method, seed, auc, tuning=False):
    return {"method": method, "trial": seed, "scope": "mean", "tuning": tuning, "roc_auc": auc}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "twins-layer").mkdir()
    store = RowStore(tmp_path / "twins-layer" / "rows.jsonl", {})
    for method, values in AUC.items():
        for seed, auc in enumerate(values):
            store.add(f"{method} {seed}", [row(method, seed, auc)])
    store.add("tuning", [row("svd", 0, 1.0, tuning=True)])
    store.add("half", [row("half", 0, 0.95)])  # failed with the other seed
    store.close()
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


def test_the_command_reads_a_folder(folder, capsys, monkeypatch, tmp_path):
    run("leaderboard", ["--folder", str(folder), "--engine", "serial", "--json"])
    assert {each["board"] for each in json.loads(capsys.readouterr().out)} == {"twins-layer"}
    with refuses("rows.jsonl"):
        run("leaderboard", ["--folder", str(tmp_path / "twins-layer"), "--engine", "serial"])
