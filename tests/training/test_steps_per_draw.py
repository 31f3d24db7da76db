"""One draw of layers, several gradient steps: who draws when, and what policies are told."""

import numpy as np
import pandas as pd
import pytest
import torch

from banditplex.datasets import planted
from banditplex.errors import InputError
from banditplex.predictor import LinkPredictor
from banditplex.training import Config, Trainer


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
    trainer = Trainer(network(), np.array([0, 3]), Config(warmup=0, validation=0.0, width=0, **settings))
    trainer.policy = Spy(trainer.policy)
    steps, batch = [], trainer._batch

    def note(which, pairs, target, drawn):
        steps.append(dict(zip(target.tolist(), drawn.tolist(), strict=True)))
        return batch(which, pairs, target, drawn)

    trainer._batch = note
    return trainer, steps


def test_a_target_keeps_its_layers_for_so_many_of_its_own_steps():
    trainer, steps = watched(steps_per_draw=3, k=2, targets_per_step=1)
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

    def counted(seen):
        calls.append(float(len(calls) + 1))
        return torch.full((seen.num_groups,), calls[-1])

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
    trainer.warmup = 1
    trainer.run_epoch()
    assert trainer.policy.draws == []
    trainer.run_epoch()
    assert trainer.policy.draws[0].instances.tolist() == [0, 1]


@pytest.mark.parametrize("relevance", ["predictive", "euclidean"])
def test_training_goes_on_bit_for_bit_in_the_middle_of_a_draw(relevance):
    config = Config(relevance=relevance, epochs=5, width=4, targets_per_step=3, warmup=0, steps_per_draw=7)
    straight, copied = (Trainer(network(), np.arange(6), config) for _ in range(2))
    straight.run_epoch()
    copied.load_state_dict(straight.state_dict())
    rows, again = ([row for _ in range(2) for row in trainer.run_epoch()] for trainer in (straight, copied))
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(again), check_exact=True)
    assert all(map(torch.equal, straight.model.parameters(), copied.model.parameters()))
    assert np.array_equal(straight.policy.inclusion(), copied.policy.inclusion())


def test_fewer_draws_still_find_the_relevant_layer():
    model = LinkPredictor(steps_per_draw=4, epochs=12, width=0, seed=0).fit(network())
    likely = model.layer_probabilities_
    assert np.mean([likely.loc[a, b] for a, b in (("g1-base", "g1-copy1"), ("g2-base", "g2-copy1"))]) > 0.6


def test_no_steps_per_draw_are_refused():
    with pytest.raises(InputError, match="Expected steps_per_draw to be an integer of at least 1, got 0"):
        Config(steps_per_draw=0)
