"""The regret experiment, as a user runs it."""

import json
import subprocess
import sys

import pytest

from experiments.regret import settings
from experiments.regret.environments import HELD_OUT, MAIN
from experiments.runner import run
from tests.refusals import refuses

FIGURES = ("sizes", "environments", "theorem", "probabilities")


@pytest.fixture
def regret(capsys):
    def regret(*words):
        run("regret", [*words, "--engine", "serial"])
        return capsys.readouterr().out

    return regret


def test_numbers_stand_beside_the_expected_ones(regret):
    output = regret("--only", "main", "--sizes", "5x50", "--runs", "5", "--policies", "exp3+,hinted")
    assert "5 arms, 50 rounds" in output
    assert all(name in output for name in MAIN)
    assert "(.857)" in output  # expected of exp3+ in the mean
    assert "(.321)" in output
    assert "$ python -m experiments regret --only main --sizes 5x50 --runs 5 --policies exp3+,hinted\n" in output
    assert "![" not in output


def test_rows_as_json(regret):
    rows = json.loads(regret("--quick", "--json", "--policies", "hinted", "--only", "held-out"))
    assert {row["environment"] for row in rows} == set(HELD_OUT)
    assert all(0 < row["relative"] < 2 for row in rows)


def test_sizes_runs_and_seed(regret):
    words = ("--json", "--policies", "exp3+", "--environments", "bern", "--runs", "4", "--sizes")
    rows = json.loads(regret(*words, "2x10,3x5", "--only", "main"))
    assert [(row["arms"], row["horizon"]) for row in rows] == [(2, 10), (3, 5)]
    assert rows == json.loads(regret(*words, "2x10,3x5", "--only", "main", "--seed", "0"))
    assert rows != json.loads(regret(*words, "2x10,3x5", "--only", "main", "--first-seed", "1"))
    assert [row["k"] for row in json.loads(regret(*words, "3x5", "--only", "main", "--k", "2"))] == [2]


@pytest.mark.parametrize("part", ["free", "theorem"])
def test_other_parts(part, regret):
    output = regret("--quick", "--only", part, "--runs", "2")
    assert output.count("\n## ") == 1


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("--sizes", "5"), ("ARMSxROUNDS", "'5'")),
        (("--runs", "0"), ("--runs", 0)),
        (("--policies", "hintd"), ("'hintd'", "hinted")),
        (("--environments", "latte"), ("'latte'", "late")),
        (("--only", "mean"), ("'mean'", *settings.PARTS)),
        (("--only", "free", "--policies", "exp3+"), ("--policies", "'free'")),
        (("--only", "theorem", "--k", "2"), ("--k", "'theorem'")),
        (("--only", "probabilities"), ("--out",)),
        (("--resume",), ("--out", "--resume")),
    ],
)
def test_refusals(words, values):
    with refuses(*values):
        run("regret", words)


def test_errors_are_one_line_and_status_2():
    command = [sys.executable, "-m", "experiments", "regret", "--sizes", "0x5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("banditplex: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_everything_goes_into_a_folder(tmp_path, monkeypatch, regret):
    plan = {"main": {(3, 5): 2}, "held-out": {(3, 5): 2}, "bound": {(3, 5): 2}, "free": {(4, 2, 1, 3): 2}}
    monkeypatch.setattr(settings, "QUICK_PLAN", plan)
    monkeypatch.setattr(settings, "COUNTER_EXAMPLES", {"2 arms, 5 against 5.1": ((5.0, 5.1), 20)})
    words = ("--quick", "--out", str(tmp_path / "out"))
    assert regret(*words).startswith(f"{tmp_path / 'out' / 'index.md'}: ")
    figures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    tables = {f"{name}.csv" for name in ("main", "held-out", "free", "theorem")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == figures | tables | {"rows.jsonl", "index.md"}
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert "    $ python -m experiments regret --quick --out out\n" in page
    assert "Lowest mean: " in page
    assert "fails in some run of 0 of 15" in page
    with refuses(tmp_path / "out", "--resume"):
        regret(*words)


def test_a_resumed_run_writes_the_same_page(tmp_path, regret):
    words = ("--only", "held-out", "--sizes", "3x5", "--runs", "2", "--out", str(tmp_path / "out"))
    regret(*words)
    page, rows = tmp_path / "out" / "index.md", tmp_path / "out" / "rows.jsonl"
    written, kept = page.read_text(encoding="utf-8"), rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(kept[:4]))
    regret(*words, "--resume")
    assert rows.read_bytes() == b"".join(kept)
    assert page.read_text(encoding="utf-8") == written
