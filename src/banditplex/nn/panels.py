"""Panels: for each target layer, the other layers that are pooled with it into one graph.

A pool is to a few layers what the union is to all of them. Layers that share communities or positions with the target,
but hardly an edge, say little one by one and much together: common neighbours, paths and positions across them. Targets
with the same pool share it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Ints


@dataclass(frozen=True, eq=False)
class Panels:
    """The layers chosen for each target."""

    layers: Mapping[int, tuple[int, ...]]  # of each target layer; those that help most come first

    @classmethod
    def none(cls, targets: Sequence[int]) -> "Panels":
        """Return targets for which no layer was chosen."""
        return cls({int(target): () for target in targets})

    @property
    def empty(self) -> bool:
        """Whether no layer was chosen for any target."""
        return not any(self.layers.values())

    @property
    def targets(self) -> Ints:
        """The target layers, sorted."""
        return np.array(sorted(self.layers), np.int64)

    def rows(self) -> list[tuple[int, int, float]]:
        """Return target, layer and weight in the pool of every layer that was chosen; all in a pool weigh the same."""
        return [(target, layer, 1 / (1 + len(chosen))) for target, chosen in self.layers.items() for layer in chosen]

    def pools(self) -> tuple[list[tuple[int, ...]], dict[int, int]]:
        """Return the distinct pools, as sorted layers, and the number of the pool of each target."""
        pool_of = {target: tuple(sorted((target, *chosen))) for target, chosen in self.layers.items()}
        pools = list(dict.fromkeys(pool_of.values()))
        number = {pool: place for place, pool in enumerate(pools)}
        return pools, {target: number[pool] for target, pool in pool_of.items()}

    def first(self, layers: Ints, count: int) -> tuple[Ints, Ints]:
        """Return the first `count` of layers (T, n), those of panels before others, and how many may be used (T,).

        Targets without a panel may use any of them, others those of their panels.
        """
        outside = np.array([~np.isin(row, chosen) for row, chosen in zip(layers, self.layers.values(), strict=True)])
        order = np.argsort(outside, axis=1, kind="stable")[:, :count]
        most = [min(count, len(chosen) or count) for chosen in self.layers.values()]
        return np.take_along_axis(layers, order, 1), np.array(most)


def flatten(pools: Sequence[tuple[int, ...]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the layers of all pools, one after the other, and the number of the pool of each."""
    layer = torch.tensor([each for pool in pools for each in pool], device=device)
    return layer, torch.repeat_interleave(torch.tensor([len(pool) for pool in pools], device=device))
