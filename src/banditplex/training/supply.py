"""The pairs of an epoch: all training edges, each with one negative, and what all layers together say of them.

Evidence on a pair does not change while the model trains, so it is computed once. Each edge therefore has a few
negatives of its own, drawn once, which take turns. Without evidence, negatives are drawn anew in every epoch.
"""

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.nn.known import Known, look_up
from banditplex.rng import stream
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
TURNS = 4
"""Negatives of each edge, if there is evidence."""


class Supply:
    """Edges and negatives of every epoch."""

    def __init__(self, data: TrainingData, seed: int) -> None:
        self._data, self._seed = data, seed

    def epoch(self, number: int, order: Ints, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Return edges and negatives (2, E, 2) of an epoch in the given order, and their places (2, E) for `known`."""
        data, edges = self._data, self._data.train_edges
        if not data.visibility.evidence:
            negatives = data.negatives.draw(data.targets[edges.instance[order]], rng)
            return torch.from_numpy(np.stack([edges.pairs[order], negatives])).to(data.device), None
        at = torch.from_numpy(order).to(data.device)
        places = torch.stack([at, at + (1 + number % TURNS) * len(edges)])
        return self._kept[0][places], places

    def known(self, places: Tensor) -> Known:
        """Return what is known of the pairs at places (n,)."""
        return self._kept[1].take(places)

    @cached_property
    def _kept(self) -> tuple[Tensor, Known]:
        """The edges, then `TURNS` negatives of each, as pairs (n, 2), and what is known of them."""
        data, edges = self._data, self._data.train_edges
        target = data.targets[edges.instance]
        negatives = data.negatives.draw(np.tile(target, TURNS), stream(self._seed, "kept negatives"))
        pairs = torch.from_numpy(np.concatenate([edges.pairs, negatives])).to(data.device)
        of_pairs = torch.from_numpy(np.tile(target, 1 + TURNS)).to(data.device)
        return pairs, look_up(data.train_graph, pairs, of_pairs, data.visibility)
