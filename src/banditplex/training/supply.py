"""The pairs of an epoch: all training edges, each with one negative, and what all layers together say of them.

Evidence on a pair does not change while the model trains, so it is computed once. Each edge therefore has a few
negatives of its own, drawn once, which take turns. Without evidence, or if there is too much of it to be kept,
negatives are drawn anew in every epoch.
"""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from banditplex.nn.known import Known, look_up
from banditplex.rng import stream
from banditplex.training.data import TrainingData

TURNS = 4
"""Negatives of each edge, if evidence is kept."""
MOST = 1 << 26
"""Pairs whose evidence is kept at most; each takes some 170 bytes."""


class Supply:
    """Edges and negatives of every epoch."""

    def __init__(self, data: TrainingData, seed: int) -> None:
        self._data, self._seed = data, seed

    def epoch(self, number: int, order: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Return edges and negatives (2, E, 2) of an epoch in the given order, and their places (2, E) for `known`."""
        data = self._data
        if not data.visibility.evidence or (1 + TURNS) * len(data.train_edges) > MOST:
            both = data.train_edges.pairs, data.negatives.draw_tensor(self._target, rng)  # sorted by target
            return torch.stack([each.index_select(0, order) for each in both]), None
        places = torch.stack([order, order + (1 + number % TURNS) * len(data.train_edges)])
        return self._kept[0][places], places

    def known(self, places: Tensor) -> Known:
        """Return what is known of the pairs at places (n,)."""
        return self._kept[1].take(places)

    @cached_property
    def _target(self) -> Tensor:
        """The target layer of each edge, (E,)."""
        layers = torch.from_numpy(self._data.targets).to(self._data.device)
        return layers.index_select(0, self._data.train_edges.instance)

    @cached_property
    def _kept(self) -> tuple[Tensor, Known]:
        """The edges, then `TURNS` negatives of each, as pairs (n, 2), and what is known of them."""
        data, rng = self._data, stream(self._seed, "kept negatives")
        turns = [data.negatives.draw_tensor(self._target, rng) for _ in range(TURNS)]
        pairs = torch.cat([data.train_edges.pairs, *turns])
        return pairs, look_up(data.train_graph, pairs, self._target.repeat(1 + TURNS), data.visibility)
