"""Trainings are saved after each epoch, however short."""

import pytest

from banditplex.persistence import checkpoint


@pytest.fixture(autouse=True)
def each_epoch(monkeypatch):
    """Save after each epoch, so that tests can stop and resume at any."""
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
