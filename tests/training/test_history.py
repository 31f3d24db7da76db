"""What an epoch leaves behind."""

from itertools import combinations

import numpy as np
import pytest
import torch

from banditplex.bandits import Draw, Observations, make_policy, play
from banditplex.training.history import EpochRecord, Regret, summary


def test_means_of_more_pairs_than_32_bits_can_count():
    record, size = EpochRecord(1, torch.device("cpu")), 1 << 20
    label = (torch.arange(size) % 4 == 0).float()
    for _ in range(18):  # 2 ** 24 is the last number up to which single ones can be added
        record.add(torch.zeros(size, dtype=torch.int64), torch.full((size,), 0.25), torch.ones(size), label)
    nothing = np.full(1, np.nan)
    (row,) = record.rows(1, np.array([0]), ["a", "b"], Regret(1, 1, 1), (nothing, nothing))
    assert row["train_loss"] == pytest.approx(0.25, abs=1e-12)
    assert row["train_accuracy"] == pytest.approx(0.25, abs=1e-12)


def test_regret_is_exact_where_every_arm_is_observed():
    regret = Regret(2, 3, 1)
    draws = [Draw([0], [[2]], [[0.5]]), Draw([0, 1], [[1], [0]], [[0.5], [0.5]])]
    regret.add(draws[0], np.array([[0.6]]), np.ones((1, 1)), Observations([0, 0], [0, 1], [0.1, 0.5], 1.0))
    everything = Observations([0, 0, 1, 1, 1], [0, 2, 1, 2, 0], [0.7, 0.2, 0.3, 0.2, 9.0], [1.0, 1.0, 1.0, 1.0, np.nan])
    regret.add(draws[1], np.array([[0.4], [0.3]]), np.ones((2, 1)), everything)
    # Instance 0: paid 0.6 + 0.4; arms 0.1 + 0.7, 0.5 + 0.4, 0.6 + 0.2. Instance 1: paid 0.3; arms 0.3, 0.3, 0.2.
    assert regret.total() == pytest.approx([1.0 - 0.8, 0.1])


@pytest.mark.parametrize(("policy", "k"), [("uniform", 1), ("uniform", 2), ("exp3+", 1), ("exp3+", 2), ("exp3+", 3)])
def test_estimated_regret_is_unbiased(policy, k):
    """The mean over 3,000 games is that of a plain loop that knows all losses: one set of k arms is clearly best."""
    rng, games, rounds = np.random.default_rng(k), 3_000, 80
    losses = rng.uniform(0.0, 0.2, (rounds, 5)) + 0.8 * (np.arange(5) >= k)
    player = make_policy(policy, num_arms=5, k=k, num_instances=games)
    regret, paid = Regret(games, 5, k), np.zeros(games)
    for row in losses:
        draw = player.draw(rng)
        drawn = row[draw.arms]
        player.update(draw, drawn)
        regret.add(draw, drawn)
        paid += drawn.sum(axis=1)
    best = min(losses[:, list(arms)].sum() for arms in combinations(range(5), k))
    error = regret.total() - (paid - best)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(games)
    assert error.std() > 0.1  # it is an estimate


def test_estimated_regret_is_that_of_play():
    rng, losses = np.random.default_rng(0), np.random.default_rng(1).random((40, 100))
    policy, regret = make_policy("exp3+", num_arms=100, k=3), Regret(1, 100, 3)
    for row, played in zip(losses, play(policy, losses, rng), strict=True):
        regret.add(Draw([0], played.arms[None], played.probability[None]), row[played.arms][None])
        assert regret.total()[0] == pytest.approx(played.estimated_regret)


@pytest.mark.parametrize(("num_arms", "k"), [(0, 0), (3, 0), (3, 3)])
def test_without_a_choice_there_is_no_regret(num_arms, k):
    regret = Regret(2, num_arms, k)
    regret.add(Draw([1], np.arange(k)[None], np.ones((1, k))), np.full((1, k), 0.1))
    assert regret.total().tolist() == [0.0, 0.0]


def test_means_over_targets_leave_out_what_is_not_known():
    nan = float("nan")
    numbers = {"train_loss": [0.5, 0.25], "train_accuracy": [1.0, 0.5], "validation_loss": [nan, 0.75]}
    rows = [{name: values[at] for name, values in numbers.items()} | {"epoch": 3} for at in range(2)]
    found = summary([row | {"validation_accuracy": nan} for row in rows])
    assert (found["epoch"], found["train_loss"], found["train_accuracy"]) == (3, 0.375, 0.75)
    assert found["validation_loss"] == 0.75
    assert np.isnan(found["validation_accuracy"])
    assert [row["train_loss"] for row in found["layers"]] == [0.5, 0.25]
