"""Commands that can be resumed: what they refuse, and what they say."""

import os
import signal
import sys

import pytest

from banditplex.cli.resuming import check_file, resumable, stoppable
from tests.refusals import refuses


def test_a_command_says_that_it_starts_and_how_to_resume_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "--out", "my out", "--resume"])
    with pytest.raises(SystemExit) as stop, resumable(tmp_path / "out", resume=True, program="python -m x"):
        raise KeyboardInterrupt
    assert stop.value.code == 130
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"banditplex: {tmp_path / 'out'}: nothing to resume")
    assert last.endswith("python -m x --out 'my out' --resume")


def test_a_folder_of_something_else_is_refused_before_anything_is_said(tmp_path, capsys):
    (tmp_path / "mine.txt").touch()
    with refuses(tmp_path), resumable(tmp_path, resume=True):
        pytest.fail("nothing may run here")
    assert capsys.readouterr().err == ""


def test_files_and_folders_that_exist_name_the_flag(tmp_path):
    (tmp_path / "rows.jsonl").touch()
    with refuses(tmp_path, "--resume"), resumable(tmp_path, resume=False):
        pytest.fail("nothing may run here")
    with refuses(tmp_path / "rows.jsonl", "--resume"):
        check_file(tmp_path / "rows.jsonl", resume=False)
    with refuses("-o FILE", "--resume"):
        check_file(None, resume=True)


@pytest.mark.parametrize(
    ("of_ctrl_c", "how"),
    [(signal.SIG_DFL, "Ctrl-C"), (signal.SIG_IGN, f"kill {os.getpid()}")],
    ids=["heard", "ignored"],
)
def test_one_way_to_stop_is_named(of_ctrl_c, how, capsys):
    """Where Ctrl-C is ignored, no line says that it stops the command."""
    before = signal.signal(signal.SIGINT, of_ctrl_c)
    try:
        with stoppable(quiet=False) as told:
            assert told == how
    finally:
        signal.signal(signal.SIGINT, before)
    assert how in capsys.readouterr().err or how == "Ctrl-C"
