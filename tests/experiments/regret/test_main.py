"""The command, as a user types it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from banditplex.errors import InputError
from banditplex.experiments.regret import settings
from banditplex.experiments.regret.__main__ import app
from banditplex.experiments.regret.environments import HELD_OUT, MAIN

FIGURES = ("sizes", "environments", "theorem", "probabilities")


def run(*words):
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_quick_table_stands_beside_the_expected_one():
    output = run("--quick", "--policies", "exp3+,hinted")
    assert "5 arms, 50 rounds" in output
    assert all(name in output for name in MAIN)
    assert "(0.857)" in output  # what to expect of exp3+ on the mean
    assert "(0.321)" in output


def test_json_rows():
    rows = json.loads(run("--quick", "--json", "--policies", "hinted", "--environments", "held-out"))
    assert [row["environment"] for row in rows] == [*HELD_OUT, "mean"]
    assert all(0 < row["relative"] < 2 for row in rows)


def test_sizes_runs_and_seed():
    words = ("--json", "--policies", "exp3+", "--environments", "bern", "--sizes", "2x10,3x5", "--runs", "4")
    rows = json.loads(run(*words))
    assert [(row["arms"], row["horizon"]) for row in rows] == [(2, 10), (2, 10), (3, 5), (3, 5)]
    assert rows == json.loads(run(*words, "--seed", "0"))
    assert rows != json.loads(run(*words, "--seed", "1"))
    assert [row["k"] for row in json.loads(run(*words, "--k", "2", "--sizes", "3x5"))] == [2, 2]


@pytest.mark.parametrize("table", ["free", "theorem"])
def test_other_tables(table):
    assert json.loads(run("--quick", "--json", "--table", table, "--runs", "2"))
    assert "regret" in run("--quick", "--table", table, "--runs", "2")


def test_picture(tmp_path):
    told = run("--figure", str(tmp_path / "p.png"), "--runs", "2", "--quick")
    assert told == f"{tmp_path / 'p.png'}, {tmp_path / 'p.svg'}: what policies believe over time.\n"
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sizes", "5"), "A size is ARMSxROUNDS, as in 5x200; got '5'."),
        (("--policies", "hintd"), "Unknown policy 'hintd'; did you mean 'hinted'?"),
        (("--table", "free", "--policies", "exp3+"), "Expected no --policies with --table free, got one."),
        (("--table", "theorem", "--k", "2"), "Expected no --k with --table theorem, got one."),
        (("--figure", "x.png", "--sizes", "5x20"), "Expected no --sizes with --figure, got one."),
        (("--out", "x", "--table", "free"), "Expected no --table with --out, got one."),
        (("--resume",), "Expected --out DIR with --jobs or --resume, got none."),
        (("--environments", "latte"), "Unknown environment 'latte'; did you mean 'late'?"),
    ],
)
def test_what_the_user_can_mend(words, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        CliRunner().invoke(app, words, catch_exceptions=False)


def test_errors_are_one_line_and_status_2():
    command = [sys.executable, "-m", "banditplex.experiments.regret", "--sizes", "0x5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "banditplex: A size is ARMSxROUNDS, as in 5x200; got '0x5'.\n"


def test_everything_goes_into_a_folder(tmp_path, monkeypatch):
    plan = {"main": {(3, 5): 2}, "held-out": {(3, 5): 2}, "bound": {(3, 5): 2}, "free": {(4, 2, 1, 3): 2}}
    monkeypatch.setattr(settings, "QUICK_PLAN", plan)
    monkeypatch.setattr(settings, "COUNTER_EXAMPLES", {"2 arms, 5 against 5.1": ((5.0, 5.1), 20)})
    words = ("--quick", "--out", str(tmp_path / "out"), "--engine", "serial")
    assert run(*words) == f"{tmp_path / 'out' / 'index.md'}: what was run, tables and figures.\n"
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in ("main", "held-out", "free", "theorem")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == figures | tables | {"rows.jsonl", "index.md"}
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert "    $ python -m banditplex.experiments.regret --quick --out out\n" in page
    assert "Lowest mean: " in page
    assert "the bound of the estimates fails in some run of 0 of 15" in page
    with pytest.raises(InputError, match="exists"):
        CliRunner().invoke(app, words, catch_exceptions=False)
