"""Validation: means by hand, the temperature, which epoch is kept and when training stops."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from banditplex.bandits import make_policy
from banditplex.datasets import planted
from banditplex.predictor import LinkPredictor
from banditplex.training import validation
from banditplex.training.validation import EarlyStopping, Validation, choose_counts
from tests.training.test_loop import random_layers, trainer_of


def bce(label, logit):
    return math.log1p(math.exp(-logit if label else logit))


def test_loss_and_accuracy_of_each_target_by_hand():
    found = Validation(np.array([0, 2, 0, 2]), torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.tensor([2.0, -1.0, 0.5, -3.0]))
    loss, accuracy = found.by_target(3)
    expected = [(bce(1, 2.0) + bce(0, 0.5)) / 2, math.nan, (bce(1, -1.0) + bce(0, -3.0)) / 2]
    assert loss == pytest.approx(expected, nan_ok=True)
    assert accuracy == pytest.approx([0.5, math.nan, 0.5], nan_ok=True)


def test_the_temperature_makes_the_mean_probability_that_of_the_links():
    """Three in four with the same logit are links: sigmoid(logit / T) = 3 / 4 where logit / T = log 3."""
    label = torch.tensor([1.0, 1.0, 1.0, 0.0])
    found = Validation(np.zeros(4, np.int64), label, torch.full((4,), 2 * math.log(3)))
    assert found.temperature() == pytest.approx(2)
    assert found.calibrated_loss().tolist() == pytest.approx([math.log(4 / 3)] * 3 + [math.log(4)])


def test_without_validation_pairs_there_are_no_means_and_the_temperature_is_1():
    trainer = trainer_of(random_layers(0, copied=False), validation=0.0, epochs=1, width=0)
    found = trainer.validate()
    assert (len(found.instance), len(found.label), len(found.logit)) == (0, 0, 0)
    assert np.isnan(found.by_target(2)).all()
    assert found.temperature() == 1.0


def test_validation_pairs_are_held_out_edges_and_as_many_negatives():
    trainer = trainer_of(random_layers(0, copied=False), width=4, warmup=0)
    trainer.run_epoch()
    found, edges = trainer.validate(), trainer.data.validation_edges
    assert found.instance.tolist() == edges.instance.tolist() * 2
    assert found.label.tolist() == [1.0] * len(edges) + [0.0] * len(edges)
    assert found.logit.shape == found.label.shape
    assert torch.isfinite(found.logit).all()


def test_a_target_uses_more_layers_if_its_pairs_clearly_gain(monkeypatch):
    """20 edges of target 0 are told without a layer, the one of target 1 with it: its loss falls by log 2, always."""
    instance, label = np.repeat([0, 1, 0, 1], [20, 1, 20, 1]), torch.tensor([1.0] * 21 + [0.0] * 21)
    sign, first = 2 * label - 1, torch.from_numpy(instance == 0)
    terms = torch.stack([9 * sign * first, 9 * sign * torch.where(first, -1, 1)], 1)  # sums: 9 or 0, then 0 or 9
    monkeypatch.setattr(validation, "_validation_labels", lambda data: (instance, label))
    monkeypatch.setattr(validation, "_validation_terms", lambda model, data, layers: terms)
    assert choose_counts([(None, None)], np.array([[1], [0]])).tolist() == [0, 1]


def test_weights_are_kept_up_to_a_standard_error_above_the_lowest_validation_loss():
    stopping, model = EarlyStopping(2), nn.Linear(1, 1)
    for epoch, (loss, kept, lowest, stop) in enumerate(
        [
            ([1.0, 1.0, 1.0, 1.0], 1, 1, False),
            ([0.5, 0.5, 0.5, 0.5], 2, 2, False),
            ([0.4, 0.6, 0.4, 0.7], 3, 2, False),  # differences -.1, .1, -.1, .2: mean .025, standard error .075
            ([0.6, 0.6, 0.6, 0.7], 3, 2, True),  # differences .1, .1, .1, .2: mean .125, standard error .025
            ([0.4, 0.4, 0.5, 0.5], 5, 5, False),
        ],
        1,
    ):
        nn.init.constant_(model.weight, epoch)
        stopping.update(epoch, torch.tensor(loss), model, None)
        assert (stopping.kept_epoch, stopping.best_epoch, stopping.should_stop(epoch)) == (kept, lowest, stop)
        restored = nn.Linear(1, 1)
        stopping.restore(restored, None)
        assert restored.weight.item() == kept


def test_nothing_kept_is_nothing_restored_and_never_stops():
    stopping, model = EarlyStopping(1), nn.Linear(1, 1)
    before = model.weight.item()
    stopping.restore(model, None)
    assert model.weight.item() == before
    assert not stopping.should_stop(100)


def test_early_stopping_goes_on_from_its_state():
    first, second, model = EarlyStopping(2), EarlyStopping(2), nn.Linear(1, 1)
    first.update(1, torch.tensor([0.5, 0.5]), model, None)
    second.load_state_dict(first.state_dict())
    for each in (first, second):
        each.update(2, torch.tensor([0.7, 0.8]), model, None)
    assert (second.best_epoch, second.kept_epoch, second.should_stop(3)) == (1, 1, True)


def test_training_stops_when_the_loss_does_not_fall_for_patience_epochs():
    trainer = trainer_of(random_layers(0, copied=False), epochs=50, patience=2, learning_rate=0.0)  # nothing is learnt
    while not trainer.finished:
        trainer.run_epoch()
    assert (trainer.epoch, trainer.early_stopping.best_epoch) == (3, 1)


def test_policies_are_restored_together_with_the_weights_of_the_kept_epoch():
    stopping, model, rng = EarlyStopping(2), nn.Linear(1, 1), np.random.default_rng(0)
    policy = make_policy("default", num_arms=3)
    for epoch, loss in enumerate([[0.5, 0.5], [0.7, 0.8]], 1):
        policy.update(policy.draw(rng), [[float(epoch)]])
        stopping.update(epoch, torch.tensor(loss), model, policy)
        if epoch == 1:
            kept = policy.inclusion()
    assert policy.inclusion().tolist() != kept.tolist()
    stopping.restore(model, policy)
    assert policy.inclusion().tolist() == kept.tolist()


def test_weights_and_layer_probabilities_of_a_model_come_from_one_epoch(monkeypatch):
    update = EarlyStopping.update

    def best_at_5(self, epoch, loss, model, policy):
        update(self, epoch, torch.full_like(loss, abs(epoch - 5)), model, policy)

    monkeypatch.setattr(EarlyStopping, "update", best_at_5)
    mx, seen = planted(4, 1, 0.8, num_nodes=40, edges_per_layer=80, communities=4, seed=2), []

    def on_epoch(model, row):
        seen.append((model.layer_probabilities_, model.score_pairs([[0, 1]], mx.layer_names[0]).tolist()))

    model = LinkPredictor(epochs=8, k=1, warmup=1).fit(mx, on_epoch=on_epoch)
    probabilities, scores = seen[4]
    assert model.layer_probabilities_.equals(probabilities)
    assert not model.layer_probabilities_.equals(seen[-1][0])
    assert model.score_pairs([[0, 1]], mx.layer_names[0]).tolist() == scores
