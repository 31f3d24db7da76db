"""`train --tensorboard`: event files that TensorBoard reads, or one line where it is not installed."""

import importlib.util

import pytest

from tests.cli.conftest import FAST

INSTALLED = importlib.util.find_spec("tensorboard") is not None
WORDS = ("train", "data.bx", "-o", "watched", "--target", "a", *FAST, "--tensorboard", "events", "--quiet")


@pytest.mark.skipif(INSTALLED, reason="tensorboard is installed")
def test_without_the_package_it_is_said_before_training(place, refusal):
    assert "tensorboard" in refusal(*WORDS, cwd=place)
    assert not (place / "watched").exists()


@pytest.mark.skipif(not INSTALLED, reason="tensorboard is not installed")
def test_events_are_those_of_the_history(place, call):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from banditplex.cli.predict import load_model

    assert call(*WORDS, cwd=place)[0] == 0
    events = EventAccumulator(str(place / "events"))
    events.Reload()
    history = load_model(place / "watched").history_
    found = [(event.step, event.value) for event in events.Scalars("train_loss/a")]
    assert found == [(row.epoch, pytest.approx(row.train_loss)) for row in history.itertuples()]
    layer = next(iter(history["inclusion"].iloc[-1]))
    assert events.Scalars(f"inclusion of a/{layer}")[-1].value == pytest.approx(history["inclusion"].iloc[-1][layer])
