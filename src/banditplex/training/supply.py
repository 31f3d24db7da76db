"""The pairs of an epoch: all training edges, each with one negative, and what all layers together say of them.

Evidence on a pair does not change while the model trains, so it is computed once. Each edge therefore has a few
negatives of its own, drawn once, which take turns. Without evidence, negatives are drawn anew in every epoch.
"""

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.rng import stream
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
TURNS = 4
"""Negatives of each edge, if there is evidence."""
CHUNK = 1 << 15
"""Pairs whose evidence is computed at once."""


class Supply:
    """Edges and negatives of every epoch."""

    def __init__(self, data: TrainingData, seed: int) -> None:
        self._data, self._seed = data, seed

    def epoch(self, number: int, order: Ints, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Return edges and negatives (2, E, 2) of an epoch in the given order, and the evidence on them (2, E, F)."""
        data = self._data
        if not data.visibility.evidence:
            edges = data.train_edges
            negatives = data.negatives.draw(data.targets[edges.instance[order]], rng)
            return torch.from_numpy(np.stack([edges.pairs[order], negatives])).to(data.device), None
        at, turn = torch.from_numpy(order).to(data.device), 1 + number % TURNS
        pairs, evidence = self._kept
        return torch.stack([pairs[0, at], pairs[turn, at]]), torch.stack([evidence[0, at], evidence[turn, at]])

    @cached_property
    def _kept(self) -> tuple[Tensor, Tensor]:
        """The edges and their negatives (1 + TURNS, E, 2), and the evidence on them (1 + TURNS, E, F)."""
        data, edges = self._data, self._data.train_edges
        target = data.targets[edges.instance]
        negatives = data.negatives.draw(np.tile(target, TURNS), stream(self._seed, "kept negatives"))
        pairs = np.concatenate([edges.pairs[None], negatives.reshape(TURNS, -1, 2)])
        asked, layer = (
            torch.from_numpy(each).to(data.device) for each in (pairs.reshape(-1, 2), np.tile(target, 1 + TURNS))
        )
        found = evidence_on(data, asked, layer)
        return asked.view(pairs.shape), found.view(1 + TURNS, len(edges), found.shape[1])


def evidence_on(data: TrainingData, pairs: Tensor, target: Tensor) -> Tensor:
    """Return the evidence (n, F) on pairs (n, 2) of targets (n,) in the training graph, in chunks."""
    evidence = data.train_graph.evidence
    assert evidence is not None
    parts = zip(torch.split(pairs, CHUNK), torch.split(target, CHUNK), strict=True)
    return torch.cat([evidence.columns(*part) for part in parts])
