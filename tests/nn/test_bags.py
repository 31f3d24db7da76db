"""Sums over bags and their gradients, against torch's own and a plain loop."""

import pytest
import torch
import torch.nn.functional as F

from banditplex.nn.bags import sum_bags

START = torch.tensor([0, 2, 2, 5])  # the second bag is empty
PLACES = torch.tensor([1, 0, 3, 3, 1])


def test_sums_are_those_of_a_plain_loop():
    table = torch.arange(8.0).view(4, 2)
    expected = [
        sum((table[place] for place in PLACES[low:high]), torch.zeros(2)) for low, high in ((0, 2), (2, 2), (2, 5))
    ]
    assert torch.equal(sum_bags(table, PLACES, START), torch.stack(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_those_of_torch(dtype):
    torch.manual_seed(0)
    start = torch.cat([torch.zeros(1, dtype=torch.int64), torch.randint(0, 9, (200,)).cumsum(0)])
    places, weight = torch.randint(0, 50, (int(start[-1]),)), torch.randn(200, 3, dtype=dtype)
    ours, theirs = (
        torch.randn(50, 3, dtype=dtype, generator=torch.Generator().manual_seed(1)).requires_grad_() for _ in "ab"
    )
    (sum_bags(ours, places, start) * weight).sum().backward()
    (F.embedding_bag(places, theirs, start[:-1], mode="sum") * weight).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_without_entries_all_is_zero():
    table = torch.ones(3, 2, requires_grad=True)
    found = sum_bags(table, PLACES[:0], torch.zeros(3, dtype=torch.int64))
    found.sum().backward()
    assert torch.equal(found, torch.zeros(2, 2))
    assert torch.equal(table.grad, torch.zeros(3, 2))
