"""The runner, and the quick forms of the experiments that train models."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments import hidden_pairs, quality
from experiments.policies import METHODS, remarks
from experiments.runner import as_typed, read_options, run
from experiments.ways import MEAN, PREDICTED, VALIDATED, WAYS
from tests.refusals import refuses

FAST = ("--quick", "--epochs", "1", "--engine", "serial")


def test_help_lists_all_experiments():
    done = subprocess.run([sys.executable, "-m", "experiments", "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in ("regret", "open-problems", "quality", "hidden-pairs"))


def test_unknown_experiments_are_refused():
    done = subprocess.run([sys.executable, "-m", "experiments", "qualty"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "'qualty'" in done.stderr
    assert "hidden-pairs" in done.stderr


def test_policies(tmp_path, capsys):
    kept = ("heuristics", "none", "default, drawn")
    skip = ";".join(method for method in METHODS if method not in kept)
    run("policies", ["--skip", skip, "--out", str(tmp_path / "out"), "--json", *FAST])
    rows = json.loads(capsys.readouterr().out)
    values = {row["measure"]: row["value"] for row in rows}
    assert len(values) == len(rows) == 3 + 1 + 4 + 1
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert f"$ python -m experiments policies --skip '{skip}' --quick --epochs 1 --out out\n" in page
    cells = [f"{values[f'default, drawn: {way}']:.4f} ± 0.0000" for way in WAYS]
    assert f"| default, drawn | {' | '.join(cells)} |".replace(" 0.", " .") in page
    assert f"| none | {values[f'none: {PREDICTED}']:.4f} ± 0.0000 |  |  |  |".replace(" 0.", " .") in page
    with refuses("'unifrom'", "uniform"):
        run("policies", ["--skip", "unifrom"])


def test_rivals_are_compared_in_their_best_way():
    values = {
        "resource-allocation": [0.5],
        "resource-allocation-union": [0.7],
        f"none: {PREDICTED}": [0.6],
        f"uniform: {PREDICTED}": [0.6],
        f"uniform: {MEAN}": [0.75],
        f"default: {PREDICTED}": [0.8],
        f"default: {VALIDATED}": [0.9],
    }
    ours = f"default: {PREDICTED}"
    assert [line[0] for line in remarks(values, 0.25)] == [
        f"{ours} - none: {PREDICTED}",
        f"{ours} - uniform: {MEAN}",
        f"{ours} - resource-allocation-union",
        f"default: {VALIDATED} - uniform: {MEAN}",
        f"uniform: {MEAN} - none: {PREDICTED}",
    ]


def test_differences_are_paired_over_seeds():
    values = {f"none: {PREDICTED}": [0.5, 0.7], f"default: {PREDICTED}": [0.8, 0.8]}
    for ratio, error in ((0.0, ".1000"), (0.25, ".1225")):  # of .3 and .1: sqrt((1/2 + ratio) .02)
        assert list(remarks(values, ratio)) == [[f"default: {PREDICTED} - none: {PREDICTED}", f"+.2000 ± {error}"]]


@pytest.mark.slow
def test_hidden_pairs(capsys, monkeypatch):
    monkeypatch.setattr(hidden_pairs, "METHODS", ("k=1",))
    run("hidden-pairs", ["--json", *FAST])
    values = {row["measure"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert list(values) == ["k=1, edge", "k=1, edge, Brier score", "k=1, pair", "k=1, pair, Brier score"]
    run("hidden-pairs", FAST)
    page = capsys.readouterr().out
    for name, value in values.items():
        assert f"| {name} | {f'{value:.4f}'.lstrip('0')} | .0000 |" in page
    assert "| k=1, pair - k=1, edge | " in page


def test_hidden_pairs_of_a_directed_split():
    options = ["--data", "twins,vickers", "--hide", "layer", "--directed", "--seeds", "3", "--first-seed", "100"]
    experiment = hidden_pairs.prepare(read_options("hidden-pairs", options))
    assert len(experiment.tasks) == 2 * 2 * 3
    assert {task.epochs for task in experiment.tasks} == {30}
    assert {task.seed for task in experiment.tasks} == set(experiment.seeds) == {100, 101, 102}
    assert experiment.work.args[0].keywords == {"hide": "layer", "directed": True}
    with refuses("--seeds", 0):
        run("hidden-pairs", ["--seeds", "0"])


@pytest.mark.parametrize("name", ["hidden-pairs", "gains", "regret"])
def test_a_seed_below_0_is_refused_before_any_work(name):
    with refuses("--first-seed", -1):
        read_options(name, ["--first-seed", "-1"])


@pytest.mark.slow
def test_quality(tmp_path, capsys):
    methods = "banditplex,jaccard,overlap+union"
    run("quality", ["--methods", methods, "--out", str(tmp_path / "out"), "--json", *FAST])
    rows = json.loads(capsys.readouterr().out)
    assert sorted((row["method"], row["seed"]) for row in rows) == [
        ("banditplex", 100), ("jaccard", 0), ("jaccard", 100), ("overlap+union", 0), ("overlap+union", 100)
    ]  # fmt: skip
    value = {row["method"]: row["roc_auc"] for row in rows if row["seed"] == 100}
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    difference = f"{value['banditplex'] - value['overlap+union']:+.4f} ± -".replace("0.", ".")
    assert f"Best rival on seeds 0: overlap+union. Difference: {difference}." in page
    values = tmp_path / "out" / "values.csv"
    again = quality.read_rivals(values)
    assert quality.best_rival("twins", "layer", again, [100], ["jaccard", "overlap+union"]) == ("overlap+union", "0")
    assert quality.best_rival("twins", "pair", again, [100], ["jaccard"]) is None


def test_the_rival_is_chosen_on_other_seeds():
    table = pd.DataFrame(
        [
            ("d", "layer", "a", 0, 0.9),
            ("d", "layer", "b", 0, 0.8),
            ("d", "layer", "a", 5, 0.1),
            ("d", "pair", "b", 0, 1.0),
        ],
        columns=["data", "hide", "method", "seed", "roc_auc"],
    )
    assert quality.best_rival("d", "layer", table, [5], ["a", "b"]) == ("a", "0")
    assert quality.best_rival("d", "layer", table, [0], ["a", "b"]) == ("a", "5")
    with refuses("100"):
        run("quality", ["--rival-seeds", "90-110"])
    with refuses("'9-1'"):
        run("quality", ["--rival-seeds", "9-1"])
    with refuses("nothing.csv"):
        run("quality", ["--rivals", "nothing.csv"])


def test_commands_show_no_path_of_this_machine(tmp_path):
    assert as_typed(Path("docs/results/regret")) == "docs/results/regret"
    assert as_typed(tmp_path / "regret") == "regret"
