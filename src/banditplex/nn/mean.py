"""Mean aggregation over neighbours, gathered and summed in one operation, forwards and backwards."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex import backend
from banditplex.backend.choice import offer, on_cuda
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

    @property
    def device(self) -> torch.device:
        """Where the arcs are."""
        return self.edge_index.device

    def of_sources(self, x: Tensor) -> Tensor:
        """Return the mean at each vertex, without a gradient."""
        return backend.add_up(x, self.edge_index[0], self.weight, self.start, self.count, self.share)

    def back(self, gradient: Tensor, into: Tensor | None = None) -> Tensor:
        """Return the gradient by x, given that by the means, added `into` another."""
        arcs = self.edge_index[0], self.weight, self.start, self.count
        if not self.symmetric:
            return backend.add_up_back(gradient, *arcs, self.share, into)
        found = backend.add_up(gradient * self.share, *arcs)
        return found if into is None else into.add_(found)


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Mean) -> Tensor:
        ctx.mean = mean
        return mean.of_sources(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.mean.back(gradient), None


@offer
def add_convolution(mean: Mean, x: Tensor, rel: Tensor, bias: Tensor, root: Tensor) -> Tensor:
    """Return x + silu(W_root x + W_rel mean(x) + b), (V, width)."""
    return x + F.silu(F.linear(mean(x), rel, bias).addmm_(x, root.t()))


@add_convolution.faster(on_cuda)
def _add_convolution(mean: Mean, x: Tensor, rel: Tensor, bias: Tensor, root: Tensor) -> Tensor:
    return _AddConvolution.apply(mean, x, rel, bias, root)  # type: ignore[no-untyped-call]


class _AddConvolution(torch.autograd.Function):
    """Reads and writes tables (V, width) about half as often as autograd would: all gradients of x go into one."""

    @staticmethod
    def forward(ctx: Any, mean: Mean, x: Tensor, rel: Tensor, bias: Tensor, root: Tensor) -> Tensor:
        x = x.contiguous()
        around = mean.of_sources(x)
        inside = torch.addmm(bias, around, rel.t()).addmm_(x, root.t())
        ctx.mean = mean
        ctx.save_for_backward(x, around, inside, rel, root)
        return backend.add_silu(x, inside)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, around, inside, rel, root = ctx.saved_tensors
        gradient = gradient.contiguous()
        by_inside = torch.ops.aten.silu_backward(gradient, inside)
        by_x = ctx.mean.back(by_inside @ rel, into=torch.addmm(gradient, by_inside, root))
        return None, by_x, by_inside.t() @ around, by_inside.sum(0), by_inside.t() @ x
