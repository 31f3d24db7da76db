"""Epochs: every edge once, no target twice in a step."""

import itertools

import numpy as np
import pytest

from banditplex.multiplex import Multiplex
from banditplex.training.batches import Examples, divide, divide_given, edges_of, plan_epoch


@pytest.mark.parametrize("targets_per_step", [1, 2, 8])
def test_an_epoch_has_every_edge_once_and_a_target_at_most_once_per_step(targets_per_step):
    instance = np.repeat(np.arange(4), [100, 7, 1, 64])
    plan = plan_epoch(instance, batch_edges=16, targets_per_step=targets_per_step, rng=np.random.default_rng(0))
    assert sorted(plan.order.tolist()) == list(range(len(instance)))
    batches = np.zeros(4, int)
    for low, high in zip(plan.start[:-1], plan.start[1:], strict=True):
        targets, count = np.unique(instance[plan.order[low:high]], return_counts=True)
        assert 0 < len(targets) <= targets_per_step
        assert count.max() <= 16
        batches[targets] += 1
    assert batches.tolist() == [7, 4, 1, 4]  # ceil(100 / 16); at least four where there are edges; ...


def test_a_limit_of_rounds_makes_batches_of_large_targets_grow():
    instance = np.repeat(np.arange(3), [100, 40, 3])
    plan = plan_epoch(instance, batch_edges=10, targets_per_step=8, max_rounds=5, rng=np.random.default_rng(0))
    sizes = [np.bincount(instance[plan.order[a:b]], minlength=3) for a, b in itertools.pairwise(plan.start)]
    assert np.transpose(sizes).tolist() == [[20] * 5, [10] * 4 + [0], [1] * 3 + [0] * 2]


def test_edges_of_targets_leave_self_loops_out():
    mx = Multiplex.from_edges([0, 1, 1, 2], [1, 1, 2, 3], ["a", "a", "b", "c"], num_nodes=4)
    examples = edges_of(mx, np.array([2, 0]))
    assert examples.instance.tolist() == [0, 1]
    assert examples.pairs.tolist() == [[2, 3], [0, 1]]
    assert mx.edge_index[:, examples.place].T.tolist() == examples.pairs.tolist()


def test_validation_takes_its_share_of_each_target():
    examples = Examples(np.repeat([0, 1], [20, 9]), np.arange(58).reshape(29, 2), np.arange(29))
    train, held = divide(examples, 0.1, np.random.default_rng(0))
    assert np.bincount(held.instance, minlength=2).tolist() == [2, 0]
    assert (held.place == held.pairs[:, 0] // 2).all()
    together = np.concatenate([train.pairs, held.pairs])
    assert sorted(together[:, 0].tolist()) == examples.pairs[:, 0].tolist()


@pytest.mark.parametrize(("size", "kept", "aside"), [(20, 18, 2), (5, 4, 1), (2, 1, 1)])
def test_given_negatives_are_for_training_or_for_validation(size, kept, aside):
    given = {3: np.arange(2 * size).reshape(size, 2)}
    train, held = divide_given(given, 0.1, np.random.default_rng(0))
    assert (len(train[3]), len(held[3])) == (kept, aside)
    assert sorted(np.concatenate([train[3], held[3]]).tolist()) == given[3].tolist()


def test_a_single_negative_is_for_both():
    train, held = divide_given({0: np.array([[1, 2]])}, 0.1, np.random.default_rng(0))
    assert train[0].tolist() == held[0].tolist() == [[1, 2]]
