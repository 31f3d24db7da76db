"""Gradient steps on long vectors against torch's AdamW, weight by weight."""

import copy
import math

import pytest
import torch
from torch import nn

from banditplex.training import optimizer as optimizers
from banditplex.training.config import Config
from banditplex.training.optimizer import LOCAL_RATE, FlatAdamW


class Net(nn.Module):
    """Two groups of weights; the names decide which."""

    def __init__(self):
        super().__init__()
        self.shared, self.encoder, self.idle = nn.Linear(3, 5), nn.Linear(5, 1), nn.Linear(2, 2)

    def forward(self, x):
        """Return one number per row."""
        return self.encoder(torch.tanh(self.shared(x)))


def test_steps_and_moving_average_are_those_of_adamw_weight_by_weight(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(optimizers, "LAYER_DECAY", 0.7)
    monkeypatch.setattr(optimizers, "EMA_DECAY", 0.9)
    config, steps = Config(learning_rate=0.1, weight_decay=0.2), 8
    model = Net()
    ema_model, plain = copy.deepcopy(model), copy.deepcopy(model)
    optimizer = FlatAdamW(model, ema_model, config, steps)
    groups = [
        {"params": plain.shared.parameters(), "weight_decay": 0.2},
        {"params": plain.encoder.parameters(), "weight_decay": 0.7},
    ]
    plain_optimizer = torch.optim.AdamW(groups)
    expected_mean = [weight.detach().clone() for weight in (*plain.shared.parameters(), *plain.encoder.parameters())]
    for step in range(steps):
        x = torch.randn(20, 3)
        optimizer.step(model(x).square().mean())
        rate = 0.1 * max(0.05, 0.5 * (1 + math.cos(math.pi * step / steps)))
        for group, share in zip(plain_optimizer.param_groups, (1.0, LOCAL_RATE), strict=True):
            group["lr"] = rate * share
        plain_optimizer.zero_grad()
        plain(x).square().mean().backward()
        plain_optimizer.step()
        keep = min(0.9, (2 + step) / (11 + step))
        weights = (*plain.shared.parameters(), *plain.encoder.parameters())
        expected_mean = [keep * old + (1 - keep) * new for old, new in zip(expected_mean, weights, strict=True)]
    found = (*model.shared.parameters(), *model.encoder.parameters())
    torch.testing.assert_close([*found], [*weights])
    found = (*ema_model.shared.parameters(), *ema_model.encoder.parameters())
    torch.testing.assert_close([*found], [value.detach() for value in expected_mean], check_dtype=True)


def test_weights_are_views_of_one_vector_and_stay_weights_of_the_network():
    model = Net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    FlatAdamW(model, copy.deepcopy(model), Config(), 1)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert len({weight.untyped_storage().data_ptr() for weight in model.parameters()}) == 1
    assert all(weight.requires_grad and weight.is_leaf for weight in model.parameters())


def test_a_restored_optimizer_takes_the_same_steps():
    torch.manual_seed(0)
    first, inputs = Net(), torch.randn(6, 20, 3)
    second, config = copy.deepcopy(first), Config(learning_rate=0.1)
    averages = copy.deepcopy(first), copy.deepcopy(first)
    a = FlatAdamW(first, averages[0], config, 6)
    for x in inputs[:3]:
        a.step(first(x).square().mean())
    b = FlatAdamW(second, averages[1], config, 6)
    second.load_state_dict(first.state_dict())
    averages[1].load_state_dict(averages[0].state_dict())
    b.load_state_dict(copy.deepcopy(a.state_dict()))
    for x in inputs[3:]:
        a.step(first(x).square().mean())
        b.step(second(x).square().mean())
    assert all(map(torch.equal, first.parameters(), second.parameters()))
    assert all(map(torch.equal, averages[0].parameters(), averages[1].parameters()))


def test_rounding_errors_do_not_count_in_the_first_step(monkeypatch):
    """Adam moves a weight by the learning rate, however small its gradient; later, small gradients count as well."""
    monkeypatch.setattr(optimizers, "LAYER_DECAY", 0)
    model = Net()
    optimizer = FlatAdamW(model, copy.deepcopy(model), Config(learning_rate=0.1, weight_decay=0), 10**6)
    before = model.shared.bias.detach().clone()
    slope = torch.tensor([1.0, 1e-3, -1e-6, 0.0, 1e-6])
    optimizer.step(model.shared.bias @ slope)
    moved = model.shared.bias.detach() - before
    torch.testing.assert_close(moved, torch.tensor([-0.1, -0.1, 0.0, 0.0, 0.0]), atol=1e-4, rtol=0)
    optimizer.step(model.shared.bias @ slope)
    assert (model.shared.bias.detach() != before).tolist() == [True, True, True, False, True]


@pytest.mark.parametrize("bad", [(), (0, 2), (1,), (2, 3)])
def test_the_first_step_that_is_not_finite_is_remembered(bad):
    """Steps count from 0; later ones do not take its place."""
    model = Net()
    optimizer = FlatAdamW(model, copy.deepcopy(model), Config(), 4)
    for step in range(4):
        optimizer.clear()
        optimizer.gradient_of(model).shared.bias.data.fill_(math.nan if step in bad else 1.0)
        optimizer.descend()
    assert optimizer.first_bad_step() == (bad[0] if bad else None)
