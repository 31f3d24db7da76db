"""Gradient steps of compiled passes, against those of autograd."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from banditplex import LinkPredictor
from banditplex.backend import choice
from banditplex.nn import Logits
from banditplex.nn.relevance import predictive
from banditplex.training.batches import Batch
from banditplex.training.feedback import layer_losses
from banditplex.training.history import EpochRecord
from tests.nn.test_graph import random_multiplex

pytestmark = pytest.mark.skipif(not choice.NUMBA, reason="numba is not installed")
SETTINGS = {"epochs": 3, "policy": "exp3", "device": "cpu", "seed": 5}


def train(**settings):
    mx = random_multiplex(0, num_nodes=40, num_edges=600, num_layers=4)
    trainer = LinkPredictor(**SETTINGS | settings).make_trainer(mx)
    while not trainer.finished:
        trainer.run_epoch()
    return trainer


@pytest.mark.parametrize("hidden_units", [8, 40])
def test_a_training_ends_as_one_by_autograd_does(monkeypatch, hidden_units):
    ours = train(hidden_units=hidden_units)
    monkeypatch.setattr(choice, "NUMBA", False)
    theirs = train(hidden_units=hidden_units)
    for a, b in zip(ours.ema_model.parameters(), theirs.ema_model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    for name in ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy"):
        found, expected = ([row[name] for row in each.history] for each in (ours, theirs))
        np.testing.assert_allclose(found, expected, atol=1e-3)
    assert [row["drawn"] for row in ours.history] == [row["drawn"] for row in theirs.history]


def test_the_gradient_is_a_copy_of_the_model_in_the_memory_of_the_optimizer():
    trainer = train(epochs=1)
    gradient = trainer.optimizer.gradient_of(trainer.model)
    trainer.optimizer.clear()
    assert all((weight == 0).all() for weight in gradient.parameters())
    before = trainer.model.own.linear.bias.item()
    gradient.own.linear.bias.data.fill_(1)
    trainer.optimizer.descend()
    assert trainer.model.own.linear.bias.item() < before


def test_batches_records_and_layer_losses_are_those_without_compiled_loops(monkeypatch):
    rng = np.random.default_rng(0)
    row, pairs = torch.from_numpy(np.sort(rng.integers(0, 3, 50))), torch.from_numpy(rng.integers(0, 9, (2, 50, 2)))
    logits = Logits(torch.randn(100), torch.randn(100, 2))

    def look():
        batch = Batch.of(row, pairs, np.array([0, 2, 3]), np.array([[4, 1, 2], [5, 0, 3], [6, 1, 0]]))
        record = EpochRecord(4, torch.device("cpu"))
        loss = F.binary_cross_entropy_with_logits(logits.total, batch.label, reduction="none")
        record.add(torch.from_numpy(batch.instances)[batch.row], loss, logits.total, batch.label)
        flat = batch.row, batch.pairs, batch.label, batch.layers
        return *flat, record._sums, torch.from_numpy(layer_losses(predictive, batch, logits).values)

    found = look()
    monkeypatch.setattr(choice, "NUMBA", False)
    for ours, theirs in zip(found, look(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
