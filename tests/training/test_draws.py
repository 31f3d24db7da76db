"""Arms and layers, which layers are predicted with, and one draw for several steps."""

import numpy as np
import pytest
import torch

from banditplex.bandits import make_policy
from banditplex.bandits.arms import to_arm, to_layer
from banditplex.datasets import planted
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.training import draws
from banditplex.training.draws import most_probable_layers
from tests.training.test_loop import trainer_of


def test_arms_count_the_layers_without_the_target():
    for target in range(4):
        layers = [int(to_layer(target, arm)) for arm in range(3)]
        assert layers == [layer for layer in range(4) if layer != target]
        assert [int(to_arm(target, layer)) for layer in layers] == [0, 1, 2]


def learnt_policy(num_layers, k, rounds=5):
    policy = make_policy("hinted", num_arms=num_layers - 1, k=k, num_instances=num_layers)
    rng = np.random.default_rng(3)
    losses = rng.random((num_layers, num_layers - 1))
    for _ in range(rounds):
        draw = policy.draw(rng)
        policy.update(draw, losses[draw.instances[:, None], draw.arms])
    return policy


@pytest.mark.parametrize("at_once", [1, 11, 1000])
def test_most_probable_layers_do_not_depend_on_how_many_are_looked_at_at_once(at_once, monkeypatch):
    """Against one sort of all probabilities, ties by numbers drawn in one go."""
    monkeypatch.setattr(draws, "PROBABILITIES", at_once)
    policy = learnt_policy(6, 1, rounds=3)
    inclusion, ties = policy.inclusion(), stream(3, "ties").random((6, 5))
    expected = [sorted(range(5), key=lambda arm: (-inclusion[i, arm], ties[i, arm]))[:2] for i in range(6)]
    layers = most_probable_layers(policy, np.arange(6), 3, 2)
    assert layers.tolist() == [[arm + (arm >= i) for arm in row] for i, row in enumerate(expected)]


def test_most_probable_layers_break_ties_by_seed():
    policy, target = make_policy("uniform", num_arms=30, num_instances=31), np.arange(31)
    found = [most_probable_layers(policy, target, seed, 1) for seed in (0, 0, 1)]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    learnt = learnt_policy(6, 2, rounds=200)
    best = to_layer(np.arange(6)[:, None], np.argsort(-learnt.inclusion(), axis=1)[:, :2])
    assert np.array_equal(np.sort(most_probable_layers(learnt, np.arange(6), 0, 2)), np.sort(best))


# One draw, several steps


def network():
    return planted(6, 2, 0.8, num_nodes=60, edges_per_layer=150, communities=4, seed=1)


class Spy:
    """Stands before a policy and writes down draws and updates."""

    def __init__(self, policy):
        self._policy, self.draws, self.updates = policy, [], []

    def __getattr__(self, name):
        return getattr(self._policy, name)

    def draw(self, rng, instances):
        self.draws.append(self._policy.draw(rng, instances))
        return self.draws[-1]

    def update(self, draw, losses, *, probability=None, extra=None):
        self.updates.append((draw, losses.copy()))
        self._policy.update(draw, losses, probability=probability, extra=extra)


def watched(**settings):
    """Return a trainer whose policy is spied on, and the layers of each step."""
    trainer = trainer_of(network(), [0, 3], warmup=0, validation=0.0, width=0, **settings)
    trainer.policy = Spy(trainer.policy)
    steps, draw_layers = [], trainer._draw_layers

    def note(instances):
        draw, table = draw_layers(instances)
        steps.append({target: drawn for target, *drawn in table.tolist()})
        return draw, table

    trainer._draw_layers = note
    return trainer, steps


def test_a_target_keeps_its_layers_for_so_many_of_its_own_steps():
    trainer, steps = watched(steps_per_draw=3, k=2, targets_per_step=1, batch_size=64)
    for _ in range(2):
        trainer.run_epoch()
    drawn = [(int(i), draw.arms[row].tolist()) for draw in trainer.policy.draws for row, i in enumerate(draw.instances)]
    for instance, target in enumerate((0, 3)):
        own = [step[target] for step in steps if target in step]
        assert len(own) == 10  # 150 edges in batches of 32, twice
        arms = [arms for i, arms in drawn if i == instance]
        layers = [[arm + (arm >= target) for arm in some] for some in arms]
        assert own == [layers[step // 3] for step in range(10)]  # the last draw has served for one step only
    assert trainer.policy.rounds.tolist() == [3, 3]


def test_policies_are_told_the_mean_loss_with_the_probability_of_the_draw():
    calls = []

    def counted(batch):
        calls.append(float(len(calls) + 1))
        return torch.full((batch.num_groups,), calls[-1])

    trainer, _ = watched(steps_per_draw=4, relevance=counted)
    for _ in range(2):
        trainer.run_epoch()
    told = trainer.policy.updates
    assert [losses.tolist() for _, losses in told] == [[[2.5], [2.5]], [[6.5], [6.5]]]  # means of 1..4 and of 5..8
    made = [draw for draw in trainer.policy.draws if len(draw.instances)]
    for (draw, _), first in zip(told, made, strict=False):
        assert draw.arms.tolist() == first.arms.tolist()
        assert draw.probability.tolist() == first.probability.tolist()


def test_a_step_per_draw_is_what_it_always_was():
    trainer, steps = watched()
    trainer.run_epoch()
    assert [len(draw.instances) for draw in trainer.policy.draws] == [2] * len(steps)
    assert all(told is made for (told, _), made in zip(trainer.policy.updates, trainer.policy.draws, strict=True))


def test_draws_of_the_warm_up_end_with_it():
    trainer, _ = watched(steps_per_draw=100)
    trainer.warmup_epochs = 1
    trainer.run_epoch()
    assert trainer.policy.draws == []
    trainer.run_epoch()
    assert trainer.policy.draws[0].instances.tolist() == [0, 1]


def test_fewer_draws_still_find_the_relevant_layer():
    model = LinkPredictor(steps_per_draw=4, epochs=12, width=0, seed=0, evidence="drawn").fit(network())
    likely = model.layer_probabilities_
    assert np.mean([likely.loc[a, b] for a, b in (("g1-base", "g1-copy1"), ("g2-base", "g2-copy1"))]) > 0.6
