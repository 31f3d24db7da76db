"""Free observations against a loop over runs, targets and layers."""

import numpy as np
import pytest

from banditplex.bandits import make_policy
from experiments.regret import free


def test_every_layer_is_a_target_once_an_epoch():
    batches = free.make_batches(np.random.default_rng(0), runs=3, layers=7, targets=3, rounds=2)
    assert [batch.shape for batch in batches] == 2 * [(3, 3), (3, 3), (3, 1)]
    np.testing.assert_array_equal(np.sort(np.concatenate(batches[:3], axis=1)), np.tile(np.arange(7), (3, 1)))


def test_distances_are_those_of_moving_points():
    layers = free.make_layers(np.random.default_rng(0), runs=2, layers=4, steps=30)
    batch = np.array([[3, 1], [0, 2]])
    got = layers.distances(6, batch)
    for run, slot, j in np.ndindex(2, 2, 4):
        points = layers.end[run] + (layers.start[run] - layers.end[run]) * np.exp(-6 / 3.0)
        want = np.linalg.norm(points[batch[run, slot]] - points[j])
        assert got[run, slot, j] == pytest.approx(want, abs=1e-7)


def test_two_targets_see_one_loss():
    batch = np.array([[3, 1, 0]])
    losses = free.noisy(np.random.default_rng(0), np.ones((1, 3, 4)), batch)
    assert losses[0, 0, 1] == losses[0, 1, 3]
    assert losses[0, 0, 0] == losses[0, 2, 3]
    assert losses[0, 1, 0] == losses[0, 2, 1]
    assert len(np.unique(losses)) == 3 + 3 + 1  # three pairs of targets, three with layer 2, and the zeros


def plain_observations(losses, batch, drawn, probability):
    """Return {(instance, arm): (loss, probability)} by going through everything."""
    runs, _, layers = losses.shape
    rows = {}
    for run in range(runs):
        targets = batch[run].tolist()
        computed = set(targets) | set(drawn[run].ravel().tolist())
        for slot, i in enumerate(targets):
            for j in computed - {i}:
                if j not in drawn[run, slot]:
                    rows[run * layers + i, j - (j > i)] = (losses[run, slot, j], probability[run, j])
                if j not in targets:
                    rows[run * layers + j, i - (i > j)] = (losses[run, slot, j], np.nan)
    return rows


def test_free_observations_equal_a_plain_loop():
    rng = np.random.default_rng(4)
    batch = rng.permuted(np.tile(np.arange(6), (5, 1)), axis=1)[:, :3]
    drawn = np.array([[rng.permutation([j for j in range(6) if j != i])[:2] for i in row] for row in batch])
    losses, probability = rng.random((5, 3, 6)), rng.random((5, 6))
    got = free.free_observations(losses, batch, drawn, probability)
    want = plain_observations(losses, batch, drawn, probability)
    assert len(got.instance) == len(want)
    for row in zip(got.instance.tolist(), got.arm.tolist(), got.loss.tolist(), got.probability.tolist(), strict=True):
        np.testing.assert_array_equal(row[2:], want[row[:2]])


def test_uniform_regret_is_the_mean_distance_above_the_best():
    rng = np.random.default_rng(0)
    layers = free.make_layers(rng, runs=2, layers=5, steps=20)
    batches = free.make_batches(rng, runs=2, layers=5, targets=5, rounds=20)
    policy = make_policy("uniform", num_arms=4, k=2, num_instances=10)
    got = free.regrets(policy, layers, batches, free.Sharing.OWN, rng)
    everyone = np.tile(np.arange(5), (2, 1))
    total = sum(layers.distances(time, everyone) for time in range(20))
    for run, i in np.ndindex(2, 5):
        others = np.sort(np.delete(total[run, i], i))
        assert got[run, i] == pytest.approx(2 * others.mean() - others[:2].sum())


def test_each_kind_of_sharing_helps():
    """Own draws > advisory > probabilities, as in the table; 40 runs are plenty at these differences."""
    results = {result.policy: result.regret.sum() for result in free.measure(6, 3, 1, 50, runs=40, seed=0)}
    ratio = {policy: regret / results["uniform"] for policy, regret in results.items()}
    assert ratio["exp3+"] > 0.8
    assert ratio["own draws"] > ratio["advisory"] + 0.05
    assert ratio["advisory"] > ratio["probabilities"]
    assert ratio["probabilities"] < 0.15
