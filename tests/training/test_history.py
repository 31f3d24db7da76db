"""What an epoch leaves behind."""

import numpy as np
import pytest
import torch

from banditplex.bandits import Draw, Observations
from banditplex.training.history import EpochRecord, Regret


def test_means_of_more_pairs_than_32_bits_can_count():
    record, size = EpochRecord(1, torch.device("cpu")), 1 << 20
    label = (torch.arange(size) % 4 == 0).float()
    for _ in range(18):  # 2 ** 24 is the last number up to which single ones can be added
        record.add(torch.zeros(size, dtype=torch.int64), torch.full((size,), 0.25), torch.ones(size), label)
    nothing = np.full(1, np.nan)
    (row,) = record.rows(1, np.array([0]), ["a", "b"], Regret(1, 1), (nothing, nothing))
    assert row["train_loss"] == pytest.approx(0.25, abs=1e-12)
    assert row["train_accuracy"] == pytest.approx(0.25, abs=1e-12)


def test_regret_is_what_was_paid_less_the_best_fixed_arm():
    regret = Regret(2, 3)
    draws = [Draw([0], [[2]], [[0.5]]), Draw([0, 1], [[1], [0]], [[0.5], [0.5]])]
    regret.add(draws[0], np.array([[0.6]]), Observations([0, 0], [0, 1], [0.1, 0.5], 1.0))
    regret.add(draws[1], np.array([[0.4], [0.3]]), Observations([0, 0], [0, 2], [0.7, 0.2], 1.0))
    # Instance 0: paid 0.6 + 0.4; arms 0.1 + 0.7, 0.5 + 0.4, 0.6 + 0.2. Instance 1 saw one arm only.
    total = regret.total()
    assert total[0] == pytest.approx(1.0 - 0.8)
    assert np.isnan(total[1])
