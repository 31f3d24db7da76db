"""The terms of a logit, and their gradient, in one compiled pass each; `heads` says what they are, in plain torch.

No graph of small operations is built, and Python's lock is not held, so that the gradient of a step can be computed
beside the features of the next one. The loops are in `term_loops`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from banditplex.nn import compiled
from banditplex.nn.evidence import Lists
from banditplex.nn.term_loops import differentiate_terms, loss_gradient, score_terms

Arrays = tuple[Any, Any, Any]
BLOCK = 1 << 12
"""Hidden units, of several rows, that are looked at while they are in the fastest cache."""
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


class Asked(NamedTuple):
    """What all terms look at."""

    own: Rows
    other: Rows
    lists: Lists

    def arrays(self) -> Arrays:
        """Return the same for compiled loops."""
        return self.own.arrays(), self.other.arrays(), tuple(each.contiguous().numpy() for each in self.lists)


class Weights(NamedTuple):
    """The weights of all terms."""

    own: HeadWeights
    other: HeadWeights
    listed: ListedWeights

    def arrays(self) -> Arrays:
        """Return the same for compiled loops, in the same memory."""
        return _arrays([*self.own, *self.other, *self.listed])


def usable(values: Tensor, weight: Tensor) -> bool:
    """Say whether the compiled passes can be used."""
    return compiled.usable(values) and values.dtype == weight.dtype == torch.float32


def compute_terms(asked: Asked, weights: Weights) -> tuple[Tensor, Tensor]:
    """Return the terms of the own head and of listed layers together, (n,), and those of the other head, (n * k,)."""
    if torch.is_grad_enabled():
        flat = *weights.own, *weights.other, *weights.listed
        return _Terms.apply(asked, *flat)  # type: ignore[no-any-return, no-untyped-call]
    found = Pass.of(asked, weights.arrays(), keep=False)
    return found.own, found.other


class Pass(NamedTuple):
    """The terms that `compute_terms` returns, with what their gradient needs."""

    own: Tensor
    other: Tensor
    asked: Arrays
    weights: Arrays
    kept: tuple[Any, ...]

    @classmethod
    def of(cls, asked: Asked, weights: Arrays, *, keep: bool = True) -> "Pass":
        """Compute terms in as many threads as there are; whole blocks are always looked at by one of them."""
        arrays = asked.arrays()
        kept = tuple(_room(head, keep * len(rows[0])) for head, rows in zip(weights[:2], arrays[:2], strict=True))
        result = torch.empty(len(asked.own.values)), torch.empty(len(asked.other.values))
        into, size, blocks = tuple(each.numpy() for each in result), len(result[0]), _blocks(kept)
        pairs = max(blocks)

        def work(part: slice) -> None:
            score_terms(pairs * part.start, min(pairs * part.stop, size), blocks, arrays, weights, kept, into)

        compiled.in_parts(-(-size // pairs), work, few=max(1, FEW // pairs))
        return cls(*result, arrays, weights, kept)

    def add_loss_gradient(self, label: Tensor, size: int, into: Arrays) -> None:
        """Add the gradient of weights, of the link loss of pairs with a label (n,), summed and divided by `size`."""
        given = loss_gradient(self.own.numpy(), self.other.numpy(), label.numpy(), np.float32(1 / size))
        self.add_gradient(given, into)

    def add_gradient(self, given: tuple[Any, ...], into: Arrays) -> None:
        """Add the gradient of weights, given that of the two kinds of terms; it does not depend on the threads."""
        size, blocks = len(self.own), _blocks(self.kept)
        parts = range(0, max(1, size), MANY)
        found = [into, *(tuple(tuple(np.zeros_like(each) for each in some) for some in into) for _ in parts[1:])]

        def work(place: int) -> None:
            part = parts[place], min(parts[place] + MANY, size)
            differentiate_terms(*part, blocks, given, self.asked, self.weights, self.kept, found[place])

        compiled.run_all([partial(work, place) for place in range(len(parts))])
        for more in found[1:]:
            for total, some in zip(into, more, strict=True):
                for each, part in zip(total, some, strict=True):
                    each += part


def _arrays(weights: Sequence[Tensor]) -> Arrays:
    """Divide a flat list of weights into those of `Weights`, as arrays."""
    flat, size = tuple(each.detach().numpy() for each in weights), len(HeadWeights._fields)
    return flat[:size], flat[size : 2 * size], flat[2 * size :]


def _room(head: Any, size: int) -> Any:
    """Return room for what the gradient of a head needs of so many rows, in whole blocks."""
    first, second = head[2], head[4]
    rows = -(-size // _block(len(first))) * _block(len(first))
    return np.empty((4 if len(second) else 2, rows, len(first)), np.float32)


def _blocks(kept: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the rows of a block of each head."""
    return tuple(_block(each.shape[2]) for each in kept)


def _block(units: int) -> int:
    """Return the rows of a block of a head with so many hidden units, a power of 2."""
    return max(1, BLOCK >> (units - 1).bit_length())


class _Terms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, asked: Asked, *weights: Tensor) -> tuple[Tensor, Tensor]:
        ctx.found = Pass.of(asked, _arrays(weights))
        return ctx.found.own, ctx.found.other

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradient: Tensor) -> tuple[Tensor | None, ...]:
        into = tuple(tuple(np.zeros_like(each) for each in some) for some in ctx.found.weights)
        ctx.found.add_gradient(tuple(each.contiguous().numpy() for each in gradient), into)
        return None, *(torch.from_numpy(each) for some in into for each in some)
