"""Folders of results: refused where something is, gone on with where asked."""

import sys
from pathlib import Path

import pytest

from banditplex.errors import InputError
from banditplex.experiments.folders import ROWS, as_typed, collect, going_on

TASKS = [{"key": f"task {x}", "x": x} for x in (3, 1, 2)]


def run(folder, done, *, tasks=TASKS, about=None, resume=False):
    def work(task):
        done.append(task["x"])
        yield {"x": task["x"]}

    return collect(folder, work, tasks, about or {"seed": 0}, engine="serial", resume=resume)


def test_rows_come_in_the_order_of_keys(tmp_path):
    done = []
    assert run(tmp_path / "new" / "folder", done) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert done == [3, 1, 2]


def test_a_run_goes_on_and_repeats_nothing(tmp_path):
    run(tmp_path / "out", done := [], tasks=TASKS[:2])
    assert run(tmp_path / "out", done, resume=True) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert done == [3, 1, 2]


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(InputError, match=r"expected a new or empty folder, or one with rows\.jsonl"):
            run(tmp_path, [], resume=resume)
    run(tmp_path / "out", [])
    with pytest.raises(InputError, match="exists; go on with that run"):
        run(tmp_path / "out", [])
    with pytest.raises(InputError, match="seed was 0, now 1"):
        run(tmp_path / "out", [], about={"seed": 1}, resume=True)
    assert (tmp_path / "out" / ROWS).exists()


def test_progress_goes_to_stderr(tmp_path, capsys):
    run(tmp_path / "out", [])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == f"banditplex: {tmp_path / 'out'}: 3 of 3 runs."


def test_a_command_says_that_it_begins_and_how_it_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "--out", "my out", "--resume"])
    with pytest.raises(SystemExit) as stop, going_on(tmp_path / "out", resume=True, program="python -m x"):
        raise KeyboardInterrupt
    assert stop.value.code == 130
    assert capsys.readouterr().err.splitlines() == [
        f"banditplex: {tmp_path / 'out'}: there is nothing to resume; a new run begins.",
        "banditplex: stopped; go on with: python -m x --out 'my out' --resume",
    ]


def test_a_folder_of_something_else_is_refused_before_anything_is_said(tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="expected a new or empty folder"), going_on(tmp_path, resume=True):
        pytest.fail("nothing may run here")
    assert capsys.readouterr().err == ""


def test_commands_show_no_path_of_this_machine(tmp_path):
    assert as_typed(Path("docs/results/regret")) == "docs/results/regret"
    assert as_typed(tmp_path / "regret") == "regret"
