"""Tests run beside each other: one thread each is fastest. Commands run inside, as a new process takes seconds."""

import os
import sys
import warnings

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def call(capsys, monkeypatch):
    """Run a command in a folder; return its status, and what it printed on stdout and stderr."""
    from banditplex.cli import main

    def call(*words, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["banditplex", *words])
        monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        return stop.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def refusal(call):
    """Run a command that must be refused: status 2, one line on stderr, nothing on stdout."""

    def refusal(*words, cwd):
        status, out, error = call(*words, cwd=cwd)
        assert (status, out) == (2, ""), error
        assert error.startswith("banditplex: ")
        assert error.count("\n") == 1
        return error.removeprefix("banditplex: ").rstrip("\n")

    return refusal
