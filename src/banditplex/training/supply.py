"""The pairs of an epoch: all training edges, each with one negative, and what all layers together say of them.

Evidence on a pair does not change while the model trains, so it is computed once. Each edge therefore has a few
negatives of its own, drawn once, which take turns. Without evidence, negatives are drawn anew in every epoch.
"""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from banditplex.rng import stream
from banditplex.training.data import TrainingData

TURNS = 4
"""Negatives of each edge, if there is evidence."""
CHUNK = 1 << 15
"""Pairs whose evidence is computed at once."""


class Supply:
    """Edges and negatives of every epoch."""

    def __init__(self, data: TrainingData, seed: int) -> None:
        self._data, self._seed = data, seed

    def epoch(self, number: int, order: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Return edges and negatives (2, E, 2) of an epoch in the given order, and the evidence on them (2, E, F)."""
        data = self._data
        if not data.visibility.evidence:
            both = data.train_edges.pairs, data.negatives.draw_tensor(self._target, rng)  # sorted by target
            return torch.stack([each.index_select(0, order) for each in both]), None
        turns = 0, 1 + number % TURNS
        pairs, evidence = (torch.stack([kept[turn].index_select(0, order) for turn in turns]) for kept in self._kept)
        return pairs, evidence

    @cached_property
    def _target(self) -> Tensor:
        """The target layer of each edge, (E,)."""
        layers = torch.from_numpy(self._data.targets).to(self._data.device)
        return layers.index_select(0, self._data.train_edges.instance)

    @cached_property
    def _kept(self) -> tuple[Tensor, Tensor]:
        """The edges and their negatives (1 + TURNS, E, 2), and the evidence on them (1 + TURNS, E, F)."""
        data, rng = self._data, stream(self._seed, "kept negatives")
        turns = [data.negatives.draw_tensor(self._target, rng) for _ in range(TURNS)]
        pairs = torch.stack([data.train_edges.pairs, *turns])
        found = evidence_on(data, pairs.view(-1, 2), self._target.repeat(1 + TURNS))
        return pairs, found.view(*pairs.shape[:2], found.shape[1])


def evidence_on(data: TrainingData, pairs: Tensor, target: Tensor) -> Tensor:
    """Return the evidence (n, F) on pairs (n, 2) of targets (n,) in the training graph, in chunks."""
    evidence = data.train_graph.evidence
    assert evidence is not None
    parts = zip(torch.split(pairs, CHUNK), torch.split(target, CHUNK), strict=True)
    return torch.cat([evidence.columns(*part) for part in parts])
