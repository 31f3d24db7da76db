"""Sums of the rows of a table over bags, whose gradient is one compiled pass; torch's own sorts all entries first."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex.nn import compiled


def sum_bags(table: Tensor, places: Tensor, start: Tensor) -> Tensor:
    """Return for each of n bags the sum of the rows of a table (m, F) at places[start[i] : start[i + 1]], (n, F)."""
    if not compiled.usable(table) or table.dtype != torch.float32:
        return F.embedding_bag(places, table, start[:-1], mode="sum")
    return _Sums.apply(table, places, start)  # type: ignore[no-any-return, no-untyped-call]


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, places: Tensor, start: Tensor) -> Tensor:
        ctx.save_for_backward(places, start)
        ctx.size = len(table)
        return F.embedding_bag(places, table, start[:-1], mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        result = np.zeros((ctx.size, gradient.shape[1]), np.float32)
        places, start = (each.contiguous().numpy() for each in ctx.saved_tensors)
        _add(gradient.contiguous().numpy(), places, start, result)
        return torch.from_numpy(result), None, None


@compiled.compile_loop
def _add(values: Any, places: Any, start: Any, result: Any) -> None:
    """Add the values (n, F) of bags to the rows of a result that they point to."""
    for i in range(len(values)):
        for at in range(start[i], start[i + 1]):
            for column in range(values.shape[1]):
                result[places[at], column] += values[i, column]
