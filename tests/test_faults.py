"""A sample of the faults that `make faults` tries at every step: killed, and then done again."""

import random
import resource
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

import banditplex.cli
from faults import __main__ as command
from faults import sizes
from faults.harness import Harness
from faults.links import planted
from faults.scenarios import compare, convert, everything
from faults.tamper import WAYS, Victim, _is_lost, attempt, contents, tamper, tampered

CUT = {  # steps of two conversions at which old and new stand beside each other, or a draft stays behind
    "csv": ("after replace out.csv.meta.json", "before unlink .out.csv.mixed"),
    "banditplex": ("after exchange draft of out.bx/out.bx",),
}


@pytest.mark.parametrize("format", CUT)
def test_a_conversion_that_is_killed(format, tmp_path):
    harness = Harness(convert(format), tmp_path / "s")
    assert harness.run("kill", [harness.steps.index(step) for step in CUT[format]]) == []


@pytest.mark.parametrize(("text", "whole"), [("old\n", True), ("<p></p></html>", True), ("<p></p>\n</ht", False)])
def test_pages_of_a_comparison_that_are_whole(text, whole, tmp_path):
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "report.html").write_text(text)
    with nullcontext() if whole else pytest.raises(AssertionError):
        compare().check(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", everything(), ids=lambda scenario: scenario.name)
def test_every_scenario_at_some_steps(scenario, tmp_path):
    harness = Harness(scenario, tmp_path / "s")
    steps = range(0, len(harness.steps), max(1, len(harness.steps) // 8))
    for fault in scenario.faults:
        assert harness.run(fault, steps) == []


# What the command tries


def test_everything_is_tried_and_names_choose():
    every = command.pieces(("",), None)
    assert len(set(every)) == len(every)
    assert {each.name for each in every} == {each.name for each in everything()} | {"tamper", "links", "sizes"}
    assert [each.fault for each in every if each.name == "sizes"] == [case.name for case in sizes.CASES]
    assert [each.first for each in command.pieces(("tamper",), ["run"])] == list(range(0, 500, 50))
    assert {each.name for each in command.pieces(("train",), ["kill"])} == {"train", "train --force"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_does_not_hold_is_told(jobs, monkeypatch, capfd):
    def attempt(piece, seed, place):
        if piece.fault == "2":
            raise KeyError("edges")
        return "4 steps", ["wrong " + piece.fault] * int(piece.fault)

    monkeypatch.setattr(command, "attempt", attempt)
    found = list(command.try_all([command.Piece("a", each) for each in "012"], 0, jobs))
    assert sorted(found) == ["a, 2: KeyError: 'edges'", "wrong 1"]
    rows = capfd.readouterr().out.splitlines()
    assert sorted(line.split()[1] for line in rows if line.startswith("a ")) == ["0", "1", "2"]
    assert "    wrong 1" in rows


# Tampered folders


@pytest.fixture
def before(tmp_path):
    """Return a folder with one that is tampered with, another of its kind, and one that nobody may touch."""
    for name in ("run/a.json", "run/b.csv", "other/a.json", "precious/letter.txt"):
        (tmp_path / "before" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "before" / name).write_text('{"a": [1, 2, 3]}')
    return tmp_path / "before"


def test_the_same_seed_tampers_alike(before, tmp_path):
    found = []
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        place = tmp_path / str(number) / "work"
        shutil.copytree(before, place)
        if number:
            tamper(place / "run", random.Random(number // 2))
        found.append((place, contents(place)))
    assert all(found[at][1] == found[at + 1][1] for at in range(2, 40, 2))
    assert sum(each != found[0][1] for _, each in found) > 30


def fail():
    raise KeyError("edges")


def refuse(*files):
    def work():
        for name, text in files:
            path = Path(name)
            path.unlink(missing_ok=True)
            path.write_text(text)
        raise SystemExit(2)

    return work


def answer():
    Path("answer.csv").write_text("a,nan\n")
    raise SystemExit(0)


def do_nothing():
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (fail, "KeyError"),
        (refuse(), "not one line"),
        (refuse(("precious/letter.txt", "")), "outside of the run: precious/letter.txt"),
        (refuse(("run/b.csv", "new")), "lost: run/b.csv"),
        (answer, "no number in the answer"),
        (do_nothing, None),
    ],
)
def test_what_commands_do_to_tampered_folders_is_found(work, what, before, tmp_path, monkeypatch):
    monkeypatch.setattr(banditplex.cli, "main", work)
    monkeypatch.setattr("faults.tamper.WAYS", {next(iter(WAYS)): 1})  # damage alone
    found = attempt(Victim("run", "run", [], [["report", "PLACE"]]), 0, 0, before, tmp_path / "work")
    assert found is None if what is None else what in found


@pytest.mark.parametrize(
    ("name", "now", "command", "lost"),
    [
        ("board/leaderboard.csv", b"new", ["compare", "--resume"], False),  # written before a page that cannot be
        ("board/leaderboard.csv", None, ["compare", "--resume"], True),
        ("board/rows.jsonl", b"new", ["compare", "--resume"], True),
        ("run/model.json", b"new", ["train", "--resume"], False),
        ("run/model.json", None, ["train", "--resume"], True),
        ("run/model.json", b"new", ["predict"], True),
        ("run/.lock", None, ["predict"], False),
    ],
)
def test_which_changes_are_losses(name, now, command, lost):
    assert _is_lost(name, b"old", now, command) == lost


def test_how_a_command_in_a_terminal_ended(tmp_path):
    ended = sizes.give(tmp_path, "--version")
    assert (ended.status, ended.said.split()[0]) == (0, "banditplex")
    assert 0 < ended.seconds < 60
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10  # which a child begins with
    assert 10 < ended.megabytes < 1000 + ours


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "run"])
def test_some_tampered_folders(kind, tmp_path):
    """`python -m faults tamper` tries 500 of each."""
    assert list(tampered(kind, 40, 1, tmp_path)) == []


@pytest.mark.slow
def test_some_links(tmp_path):
    """`python -m faults links` plants 200."""
    assert list(planted(60, 1, tmp_path)) == []
