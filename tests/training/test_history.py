"""What an epoch leaves behind."""

import numpy as np
import pytest
import torch

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
