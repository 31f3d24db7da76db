"""Bars on a terminal: the time left has a label, and a bar that stands still says why."""

import io
import time

from rich.console import Console

from banditplex import terminal
from banditplex.terminal import training_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def row(epoch):
    return {
        "epoch": epoch,
        "epochs": 100,
        "train_loss": 0.5,
        "validation_loss": 0.25,
        "member": 1,
        "members": 1,
        "last": epoch == 3,
    }


def test_the_time_left_is_a_limit_until_epochs_are_over(monkeypatch):
    """Three epochs of 100, .02 s apart: seconds are left at most. Then the clock goes on by 20 s without an epoch."""
    screen, ahead, clock = Terminal(), [0], time.monotonic
    monkeypatch.setattr(terminal.sys, "stderr", screen)
    console = Console(file=screen, force_terminal=True, color_system=None, width=120)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock() + ahead[0])
    with training_bar() as show:
        for epoch in (1, 2, 3):
            show.epoch(row(epoch))
            time.sleep(0.02)
        time.sleep(0.2)
        early = screen.getvalue()
        ahead[0] = 20
        time.sleep(1)
    assert "3/100" in early
    assert "loss 0.500  validation 0.250" in early
    assert "at most 0:0" in early
    assert "finishing the model" not in early
    assert "finishing the model, 2" in screen.getvalue()


def test_in_a_file_each_tenth_of_the_epochs_and_the_last_have_a_line(capsys):
    with training_bar(lines=True) as show:
        for epoch in (1, 10, 11):
            show.epoch(row(epoch))
        show.epoch(row(3))
    with training_bar(lines=True, after=60) as show:
        show.epoch(row(3))
    assert capsys.readouterr().err.splitlines() == [
        "banditplex: epoch 10 of at most 100: loss 0.500  validation 0.250",
        "banditplex: epoch 3 was the last; finishing the model",
    ]


def test_the_search_for_panels_has_a_bar_that_goes_when_it_is_done(monkeypatch):
    """Then the clock goes on by 20 s before the first epoch."""
    screen, ahead, clock = Terminal(), [0], time.monotonic
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock() + ahead[0])
    monkeypatch.setattr(terminal.sys, "stderr", screen)
    console = Console(file=screen, force_terminal=True, color_system=None, width=120)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with training_bar() as show:
        show.search(0.25)
        time.sleep(0.3)
        during = screen.getvalue()
        show.search(1.0)
        time.sleep(0.3)
        after = screen.getvalue()[len(during) :]
        ahead[0] = 20
        time.sleep(1)
    assert "0/?" in after
    assert "beginning, 2" in screen.getvalue()
    assert "Finding layers that help" in during
    assert "25/100" in during
    assert "Training" not in during
    assert "Finding" not in after
    assert "Training" in after


def test_in_a_file_each_tenth_of_the_search_has_a_line(capsys):
    with training_bar(lines=True) as show:
        for share in (0.05, 0.1, 0.15, 0.31, 1.0):
            show.search(share)
    with training_bar(lines=True, after=60) as show:
        show.search(0.5)
    assert capsys.readouterr().err.splitlines() == [
        "banditplex: finding layers that help: 10 % done",
        "banditplex: finding layers that help: 30 % done",
    ]
