"""Mean aggregation over neighbours, gathered and summed in one operation, forwards and backwards."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from banditplex import backend
from banditplex.backend.choice import offer
from banditplex.backend.kernels import narrow
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

    def of_sources(self, x: Tensor, size: int | None = None) -> Tensor:
        """Return the mean at the first `size` vertices, None: at all, without a gradient."""
        start, count, share = (each[:size] for each in (self.start, self.count, self.share))
        return backend.add_up(x, self.edge_index[0], self.weight, start, count, share)

    def back(self, gradient: Tensor, into: Tensor | None = None) -> Tensor:
        """Return the gradient by x, given that by the means at the first vertices, added `into` another."""
        start, count, share = (each[: len(gradient)] for each in (self.start, self.count, self.share))
        arcs = self.edge_index[0], self.weight, start, count
        if not self.symmetric:
            return backend.add_up_back(gradient, *arcs, share, into)
        found = backend.add_up(gradient * share, *arcs)
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
def add_convolution(x: Tensor, mean: Mean, conv: Any, size: int | None = None) -> Tensor:
    """Return x + silu(conv(x, mean)), (size, width), of the first `size` vertices, by a `MeanConv`; None: of all."""
    return (x + F.silu(conv(x, mean)))[:size]


@add_convolution.faster(narrow)
def _add_convolution(x: Tensor, mean: Mean, conv: Any, size: int | None = None) -> Tensor:
    rel, root = conv.lin_rel, conv.lin_root
    return _AddConvolution.apply(x, mean, rel.weight, rel.bias, root.weight, size)  # type: ignore[no-untyped-call]


class _AddConvolution(torch.autograd.Function):
    """Reads and writes tables (V, width) about half as often as autograd would: all gradients of x go into one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Mean, rel: Tensor, bias: Tensor, root: Tensor, size: int | None) -> Tensor:
        x = x.contiguous()
        around = mean.of_sources(x, size)
        inside = torch.addmm(bias, around, rel.t()).addmm_(x[:size], root.t())
        ctx.mean = mean
        ctx.save_for_backward(x, around, inside, rel, root)
        return backend.add_silu(x[:size], inside)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, around, inside, rel, root = ctx.saved_tensors
        gradient, size, by_x = gradient.contiguous(), len(inside), torch.empty_like(x)
        by_inside = torch.ops.aten.silu_backward(gradient, inside)
        torch.addmm(gradient, by_inside, root, out=by_x[:size])
        by_x[size:] = 0
        ctx.mean.back(by_inside @ rel, into=by_x)
        return by_x, None, by_inside.t() @ around, by_inside.sum(0), by_inside.t() @ x[:size], None
