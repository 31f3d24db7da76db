"""Mean aggregation over neighbours, gathered and summed in one operation, forwards and backwards."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from banditplex import backend
from banditplex.nn.graph import Block


@dataclass(frozen=True, eq=False)
class Mean:
    """The means over the arcs of a block: of w x[source] over the arcs that lead to each vertex, 0 where none do."""

    edge_index: Tensor  # (2, A), sorted by edge_index[1]
    weight: Tensor | None  # (A,)
    start: Tensor  # (V,): the first of the arcs that lead to each vertex
    count: Tensor  # (V,): their number
    share: Tensor  # (V, 1): 1 / their number
    symmetric: bool  # whether each arc has its reverse, of the same weight

    @classmethod
    def of(cls, block: Block) -> "Mean":
        """Prepare means over a block."""
        count = torch.bincount(block.edge_index[1], minlength=len(block.key))
        start = torch.cumsum(count, 0) - count
        share = count.clamp(min=1).reciprocal().unsqueeze(1)
        return cls(block.edge_index, block.weight, start, count, share, block.symmetric)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the mean at each vertex, (V, width), given x (V, width)."""
        return _Apply.apply(x, self)  # type: ignore[no-untyped-call]

    def add_up(self, x: Tensor) -> Tensor:
        """Return, for each vertex, the sum over the arcs that lead to it."""
        return backend.add_up(x, self.edge_index[0], self.weight, self.start, self.count)

    def add_up_back(self, x: Tensor) -> Tensor:
        """Return, for each vertex, the sum over the arcs that come from it."""
        if self.symmetric:
            return self.add_up(x)
        return backend.add_up_back(x, self.edge_index[0], self.weight, self.start, self.count)


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Mean) -> Tensor:
        ctx.mean = mean
        return mean.add_up(x).mul_(mean.share)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.mean.add_up_back(gradient * ctx.mean.share), None
