"""Help, completion and estimates, as a user meets them."""

import re

import pytest

import banditplex as bx
from banditplex import terminal


@pytest.mark.parametrize("words", [(), ("datasets",)])
def test_a_group_alone_prints_its_help(words, tmp_path, call):
    status, out, error = call(*words, cwd=tmp_path)
    assert (status, error) == (0, "")
    assert "Usage" in out
    assert out == call(*words, "--help", cwd=tmp_path)[1]


@pytest.mark.parametrize("words", ["", "datasets show", "convert", "train", "predict", "evaluate", "demo", "reproduce"])
def test_help_shows_no_types_of_python(words, tmp_path, call):
    _, out, _ = call(*words.split(), "--help", cwd=tmp_path)
    assert "--help" in out
    assert "bool" not in out
    assert re.findall("<[a-z].*?>", out) == []


def test_estimates(monkeypatch, capsys):
    """After 1 of 100 runs in 15 seconds, 99 more take 24.75 minutes."""
    now = iter([0.0, 15.0, 30.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    clock = terminal.Estimate("runs", "--quick for a first look")
    clock.tell(1, 100)
    clock.tell(2, 100)
    said = capsys.readouterr().err
    assert re.fullmatch(r"banditplex: 100 runs, about 25 minutes.*--quick for a first look\.\n", said)


def test_a_first_step_that_sets_things_up_does_not_count(monkeypatch, capsys):
    """It takes 50 seconds and the next one 2, so that 98 more take 196 seconds."""
    now = iter([0.0, 50.0, 50.0, 52.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    clock = terminal.Estimate("epochs", sets_up=True)
    clock.tell(1, 100)
    clock.tell(2, 100)
    assert capsys.readouterr().err == "banditplex: 100 epochs, about 3 minutes to go.\n"


def test_short_work_has_no_estimate(monkeypatch, capsys):
    now = iter([0.0, 1.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    terminal.Estimate("runs").tell(1, 100)
    assert capsys.readouterr().err == ""


def test_a_first_look(tmp_path, call):
    words = ("evaluate", "twins", "--hide", "layer", "--target", "a", "--policy", "none", "--quick", "--epochs", "1")
    status, out, _ = call(*words, "--engine", "serial", "--warmup", "0", "--width", "0", "--json", cwd=tmp_path)
    assert status == 0
    assert '"trials": 1' in out
    assert '"folds": 2' in out


def test_columns_add_up_and_do_not_contradict(tmp_path, call, refusal):
    (tmp_path / "net.csv").write_text("a,b,c\n1,2,x\n")
    words = ("--columns", "source=a,target=b", "--columns", "layer=c", "--no-bipartite")
    assert call("convert", "net.csv", "net.bx", *words, cwd=tmp_path)[0] == 0
    assert bx.read(tmp_path / "net.bx") == bx.Multiplex.from_edges([1], [2], ["x"])
    message = refusal("convert", "net.csv", "x.bx", *words, "--columns", "target=c", cwd=tmp_path)
    assert all(word in message for word in ("target", "'b' and 'c'", "net.csv"))
    assert "layer=" in refusal("convert", "net.csv", "x.bx", *words, "--columns", "layer=", cwd=tmp_path)
    (tmp_path / "more.csv").write_text("x,y\n1,3\n")
    both = ("--columns", "source=a,target=b", "--columns", "source=x,target=y", "--columns", "layer=")
    assert call("convert", "net.csv", "more.csv", "both.bx", *both, "--no-bipartite", cwd=tmp_path)[0] == 0
    expected = bx.Multiplex.from_edges([1, 1], [2, 3], ["net", "more"]).subset(layers=["net", "more"])
    assert bx.read(tmp_path / "both.bx") == expected
