"""Files of the leaderboard, from hand-made rows."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from banditplex.leaderboard import Plan
from banditplex.leaderboard.board import Facts, Leaderboard, as_json, for_page, write
from banditplex.leaderboard.lines import finished, layer_lines, make_lines
from tests.leaderboard.test_lines import failure, row

FACTS = Facts("Multiplex(3 nodes)", 41, 1.5, 0.5, (0.1, 0.2, 0.3), {"overlap": 0.97, "preferential-attachment": 0.5})


@pytest.fixture
def board():
    rows = [row("default", seed, auc) for seed, auc in enumerate((0.9, 0.8))]
    rows += [row("a|b<c>", seed, auc, '{"rank": 4}') for seed, auc in enumerate((0.7, 0.8))]
    rows += [row("default", 0, 0.6, scope="layer", layer="x & y"), failure("slow", 0, "out of time (3 s)")]
    lines = make_lines(rows), layer_lines(rows), finished(rows)
    return Leaderboard("my.csv", FACTS, Plan(seeds=2, budget=3), *lines)


def test_the_legend_tells_of_a_saturated_metric(board, monkeypatch):
    usual = board.legend
    monkeypatch.setattr("banditplex.leaderboard.board.saturation", lambda lines: "All are at the top.")
    assert [line for line in board.legend if line not in usual] == ["All are at the top."]
    monkeypatch.setattr("banditplex.leaderboard.board.saturation", lambda lines: None)
    assert board.legend == usual


@pytest.mark.parametrize(("trials", "says"), [(1, "without tuning"), (2, "may try 2 settings")])
def test_conditions_tell_of_tuning(board, trials, says):
    assert says in " ".join(replace(board, plan=replace(board.plan, trials=trials)).conditions)


def test_csv_has_all_numbers(board, tmp_path):
    names = ("leaderboard.csv", "layers.csv", "seeds.csv", "leaderboard.md")
    assert write(board, tmp_path) == [tmp_path / name for name in names]
    table = pd.read_csv(tmp_path / "leaderboard.csv").set_index("method")
    assert list(table.index) == ["default", "a|b<c>", "slow"]
    assert table.loc["default", "roc_auc"] == pytest.approx(0.85)
    assert table.loc["a|b<c>", "roc_auc_difference"] == pytest.approx(-0.1)
    assert table.loc["slow", "note"] == "out of time (3 s)"
    assert table.loc["a|b<c>", "settings"] == "rank=4"
    assert table["seeds"].tolist() == [2, 2, 0]
    layers = pd.read_csv(tmp_path / "layers.csv")
    assert layers[["layer", "method", "roc_auc"]].values.tolist() == [["x & y", "default", 0.6]]
    seeds = pd.read_csv(tmp_path / "seeds.csv")
    assert seeds.columns[0] == "method"
    assert seeds[["method", "seed", "roc_auc"]].values.tolist() == [
        ["a|b<c>", 0, 0.7], ["a|b<c>", 1, 0.8], ["default", 0, 0.9], ["default", 1, 0.8],
    ]  # fmt: skip


def test_markdown_marks_ours_and_the_best(board, tmp_path):
    write(board, tmp_path)
    lines = (tmp_path / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    default = next(line for line in lines if line.startswith("| → default | **"))
    assert default.startswith("| → default | **.850 ± .071** |")
    assert any(line.startswith(r"| a\|b<c> | .750 ± .071 |") for line in lines)
    assert any(line.startswith("| slow | - |") and line.endswith("| out of time (3 s) |") for line in lines)
    assert "## Differences" in lines
    assert any(line.startswith(r"| a\|b<c> | .7") and line.endswith("| rank=4 |  |") for line in lines)
    text = " ".join(lines)
    assert "Each method may try 10 settings per seed" in text
    assert "3 s of processor time" in text
    assert "overlap alone (.970)" in text


def test_a_gpu_is_named_and_seconds_are_then_on_the_clock(board):
    assert "GPU" not in " ".join(board.conditions + board.legend)
    there = replace(board, plan=replace(board.plan, device="cuda"), device="CUDA: NVIDIA H200")
    said = " ".join(there.conditions)
    assert "on CUDA: NVIDIA H200." in said
    assert "3 s of wall-clock time" in said
    assert "Seconds: wall-clock time" in " ".join(there.legend)


def test_a_fixed_split_says_what_becomes_of_leaks_and_how_f1_is_computed(board):
    assert "F1" not in " ".join(board.legend)
    for kind, says in (("drop", "without pairs that leak"), ("keep", "as in print")):
        there = replace(board, fixed=kind)
        assert says in " ".join(there.conditions)
        assert "F1: in each layer as many pairs are predicted edges as are edges" in " ".join(there.legend)


def test_what_the_page_shows(board):
    found = for_page(board)
    assert [each["title"] for each in found["columns"]] == ["ROC-AUC", "AP", "accuracy", "F1"]
    assert (found["reference"], found["seeds"]) == ("default", 2)
    assert found["by_layer"]["layers"] == ["x & y"]
    assert found["by_layer"]["methods"] == ["default"]
    assert found["by_layer"]["values"].tolist() == [[[0.6]], [[0.3]], [[0.5]], [[0.25]]]


def test_json_has_no_nan(board):
    found = json.loads(json.dumps(as_json(board), allow_nan=False))
    assert [line["method"] for line in found["methods"]] == ["default", "a|b<c>", "slow"]
    assert found["methods"][2]["roc_auc"] is None
    assert found["facts"]["layers_per_pair"] == 1.5
    assert found["layers"][0]["roc_auc"] == 0.6
    assert "overlap alone" in found["warning"]
