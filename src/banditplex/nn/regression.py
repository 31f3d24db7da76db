"""Linear terms beside those of the networks: a logistic regression for each target, on the same columns of a pair."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from banditplex.backend.compiling import map_on_cpu
from banditplex.nn.model import MultiplexModel
from banditplex.nn.query import Query
from banditplex.nn.view import View

REGRESSED_AT_ONCE = 1 << 14  # pairs described at once


class Columns(NamedTuple):
    """What a regression sees of pairs: structural features in their target layers, and in m other layers each."""

    own: Tensor  # (n, F)
    other: Tensor  # (n, m, G)


class Regression(nn.Module):
    """Linear terms of the logits of pairs; weights belong to a target, or to a target and one of its `layers`.

    All weights start at 0.
    """

    layers: Tensor  # (L, m): the other layers that each target looks at; -1: none
    own: Tensor  # (L, F + 1): weights of the columns in the target layer, and a constant
    other: Tensor  # (L, m, G)

    def __init__(self, num_layers: int, num_others: int, num_own: int, num_other: int) -> None:
        super().__init__()
        self.register_buffer("layers", torch.full((num_layers, num_others), -1))
        self.register_buffer("own", torch.zeros(num_layers, num_own + 1))
        self.register_buffer("other", torch.zeros(num_layers, num_others, num_other))

    @classmethod
    def like(cls, model: MultiplexModel, num_others: int) -> "Regression":
        """Return one for the columns that a network sees."""
        return cls(len(model.own.of_layer), num_others, len(model.own.mean), len(model.other.mean))

    def scale(self, targets: Tensor, factor: Tensor) -> None:
        """Multiply the terms of targets (T,) by factors (T,)."""
        self.own[targets] *= factor.unsqueeze(1)
        self.other[targets] *= factor.view(-1, 1, 1)

    def forward(self, seen: Columns, target: Tensor, layers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the terms of target layers (n,) and of other layers (n, k), given what is `seen` of pairs in them.

        Layers that a target does not look at have terms of 0.
        """
        weight = self.own.index_select(0, target)
        own = (seen.own * weight[:, :-1]).sum(1) + weight[:, -1]
        same = layers.unsqueeze(2) == self.layers.index_select(0, target).unsqueeze(1)  # (n, k, m)
        of_layer = same.to(seen.other.dtype) @ self.other.index_select(0, target)
        return own, (seen.other * of_layer).sum(2)


def columns(model: MultiplexModel, view: View, query: Query) -> Columns:
    """Return what a regression sees of pairs in target layers and in other layers."""
    others, num_other = query.layers.shape[1], len(model.other.mean)

    @torch.no_grad()
    def describe(part: Query) -> Columns:
        own, other, _ = model.describe(view, part)
        return Columns(own.values, other.values.view(len(part.pairs), others, num_other))

    none = Columns(model.own.mean.new_zeros(0, len(model.own.mean)), model.own.mean.new_zeros(0, others, num_other))
    parts = [none, *map_on_cpu(describe, list(query.chunks(REGRESSED_AT_ONCE)), view.device)]
    return Columns(*(torch.cat(each) for each in zip(*parts, strict=True)))
