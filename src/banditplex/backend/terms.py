"""The terms of a logit, and their gradient: in plain torch, and in one compiled pass each.

In compiled passes no graph of small operations is built, and Python's lock is not held, so that the gradient of a step
can be computed beside the features of the next one. The loops are in `term_loops`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import in_parts, run_all
from banditplex.backend.having import Lists
from banditplex.backend.small_terms import SmallHeads
from banditplex.backend.tables import add_listed, take
from banditplex.backend.term_loops import Heads, loss_gradient

Arrays = tuple[Any, Any, Any]
FEW, MANY = 1 << 9, 1 << 14
"""Pairs that are not worth a second thread, and pairs whose gradient is added up by one thread."""


class HeadWeights(NamedTuple):
    """The weights of a head with F inputs and H hidden units, for L layers."""

    linear: Tensor  # (1, F)
    bias: Tensor  # (1,)
    first: Tensor  # (H, F)
    first_bias: Tensor  # (H,)
    second: Tensor  # (H, H), or (0, 1): there is no second layer
    second_bias: Tensor  # (H,), or (0,)
    last: Tensor  # (1, H)
    last_bias: Tensor  # (1,)
    of_layer: Tensor  # (L, R, F + 1)
    of_target: Tensor  # (L, R), or (0, 1): 1 for all targets


class ListedWeights(NamedTuple):
    """The weights of the layers that have a pair."""

    of_layer: Tensor  # (L or 2 L, R), or (0, 1): layers do not count
    of_target: Tensor  # (L, R)

    def terms(self, target: Tensor, lists: Lists) -> Tensor:
        """Return the sum of the weights of listed layers, divided by sqrt(their number + 1), (n,), of targets (n,)."""
        total = add_listed(self.of_layer, lists.places, lists.start)
        return (total * take(self.of_target, target)).sum(1) * (torch.diff(lists.start) + 1).rsqrt()


NO_WEIGHTS = ListedWeights(torch.empty(0, 1), torch.empty(0, 1))


class Rows(NamedTuple):
    """What a head looks at: one row per pair and layer, with `slots` layers for each pair."""

    values: Tensor  # (n, F)
    mean: Tensor  # (F,)
    scale: Tensor  # (F,)
    layer: Tensor  # (n,)
    target: Tensor  # (n / slots,), of each pair
    slots: int

    def arrays(self) -> tuple[Any, ...]:
        """Return the same for compiled loops."""
        return *(each.contiguous().numpy() for each in self[:-1]), self.slots

    def terms(self, weights: HeadWeights) -> Tensor:
        """Return linear(x) + net(x) + <x, c> of normalised values x, one number per row (n,).

        net(x) = last(h + silu(second(h))) with h = silu(first(x)); c belongs to the layer, or is the low-rank product
        of the target's row and the layer's.
        """
        x = (self.values - self.mean) / self.scale
        correction = take(weights.of_layer, self.layer)
        if len(weights.of_target):
            target = self.target.repeat_interleave(self.slots)
            correction = take(weights.of_target, target).unsqueeze(2) * correction
        direct = (F.pad(x, (0, 1), value=1.0) * correction.sum(1)).sum(1)
        hidden = F.silu(F.linear(x, weights.first, weights.first_bias))
        if len(weights.second):
            hidden = hidden + F.silu(F.linear(hidden, weights.second, weights.second_bias))
        net = F.linear(hidden, weights.last, weights.last_bias)
        return (F.linear(x, weights.linear, weights.bias) + net).squeeze(1) + direct


class Asked(NamedTuple):
    """What all terms look at."""

    own: Rows
    other: Rows
    lists: Lists

    def arrays(self) -> Arrays:
        """Return the same for compiled loops."""
        return self.own.arrays(), self.other.arrays(), tuple(each.contiguous().numpy() for each in self.lists)


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of all terms."""

    own: HeadWeights
    other: HeadWeights
    listed: ListedWeights

    @property
    def flat(self) -> tuple[Tensor, ...]:
        """All weights, one after the other."""
        return *self.own, *self.other, *self.listed

    @cached_property
    def arrays(self) -> Arrays:
        """The same for compiled loops, in the same memory."""
        return _arrays(self.flat)


@offer
def compute_terms(asked: Asked, weights: Weights) -> tuple[Tensor, Tensor]:
    """Return the terms of the own head and of listed layers together, (n,), and those of the other head, (n * k,)."""
    own = asked.own.terms(weights.own)
    if len(weights.listed.of_layer):
        own = own + weights.listed.terms(asked.own.target, asked.lists)
    return own, asked.other.terms(weights.other) if asked.other.slots else own[:0]


@offer
def begin_pass(asked: Asked, weights: Weights) -> "tuple[Tensor, Tensor, Pass | None]":
    """Return the same terms, and what computes the gradient of their loss; None: autograd does."""
    return *compute_terms(asked, weights), None


# Compiled loops


def _single(asked: Asked, weights: Weights) -> bool:
    """Say whether compiled passes can be used."""
    return on_cpu(asked.own.values) and asked.own.values.dtype == weights.own.linear.dtype == torch.float32


@begin_pass.faster(_single)
def _begin_pass(asked: Asked, weights: Weights) -> "tuple[Tensor, Tensor, Pass | None]":
    found = Pass.of(asked, weights.arrays)
    return found.own, found.other, found


@compute_terms.faster(_single)
def _compute_terms(asked: Asked, weights: Weights) -> tuple[Tensor, Tensor]:
    if torch.is_grad_enabled():
        return _Terms.apply(asked, *weights.flat)  # type: ignore[no-untyped-call]
    found = Pass.of(asked, weights.arrays, keep=False)
    return found.own, found.other


class Pass(NamedTuple):
    """The terms that `compute_terms` returns, with what their gradient needs."""

    own: Tensor
    other: Tensor
    asked: Arrays
    weights: Arrays
    heads: Heads | SmallHeads

    @classmethod
    def of(cls, asked: Asked, weights: Arrays, *, keep: bool = True) -> "Pass":
        """Compute terms in as many threads as there are; whole blocks are always looked at by one of them."""
        arrays = asked.arrays()
        heads = (SmallHeads if SmallHeads.suit(weights) else Heads).of(arrays, weights, keep=keep)
        result = torch.empty(len(asked.own.values)), torch.empty(len(asked.other.values))
        into, size, pairs = tuple(each.numpy() for each in result), len(result[0]), heads.block

        def work(part: slice) -> None:
            heads.score(pairs * part.start, min(pairs * part.stop, size), arrays, weights, into)

        in_parts(-(-size // pairs), work, few=max(1, FEW // pairs))
        return cls(*result, arrays, weights, heads)

    def add_loss_gradient(self, label: Tensor, size: int, into: Weights) -> None:
        """Add the gradient of weights, of the link loss of pairs with a label (n,), summed and divided by `size`."""
        own, other = self.own.numpy(), self.other.numpy()
        given = np.empty_like(own), np.empty_like(other)
        loss_gradient(own, other, label.numpy(), np.float32(1 / size), *given)
        self.add_gradient(given, into.arrays)

    def add_gradient(self, given: tuple[Any, ...], into: Arrays) -> None:
        """Add the gradient of weights, given that of the two kinds of terms; it does not depend on the threads."""
        size = len(self.own)
        parts = range(0, max(1, size), MANY)
        found = [into, *(tuple(tuple(np.zeros_like(each) for each in some) for some in into) for _ in parts[1:])]

        def work(place: int) -> None:
            part = parts[place], min(parts[place] + MANY, size)
            self.heads.differentiate(*part, given, self.asked, self.weights, found[place])

        run_all([partial(work, place) for place in range(len(parts))])
        for more in found[1:]:
            for total, some in zip(into, more, strict=True):
                for each, part in zip(total, some, strict=True):
                    each += part


def _arrays(weights: Sequence[Tensor]) -> Arrays:
    """Divide a flat list of weights into those of `Weights`, as arrays."""
    flat, size = tuple(each.detach().numpy() for each in weights), len(HeadWeights._fields)
    return flat[:size], flat[size : 2 * size], flat[2 * size :]


class _Terms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, asked: Asked, *weights: Tensor) -> tuple[Tensor, Tensor]:
        found = Pass.of(asked, _arrays(weights))
        # what is returned leads to ctx: if ctx led back to it, neither would ever be freed
        ctx.found = found._replace(own=found.own.detach(), other=found.other.detach())
        return found.own, found.other

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradient: Tensor) -> tuple[Tensor | None, ...]:
        into = tuple(tuple(np.zeros_like(each) for each in some) for some in ctx.found.weights)
        ctx.found.add_gradient(tuple(each.contiguous().numpy() for each in gradient), into)
        return None, *(torch.from_numpy(each) for some in into for each in some)
