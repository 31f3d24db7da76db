"""The batches of an epoch: which edges share a step, and a step's pairs as one flat list. Vectorised."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.nn import HiddenEdges
from banditplex.nn.hidden_edges import hide_pairs
from banditplex.nn.relevance import Relevance
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks

Ints = NDArray[np.int64]
TARGETS, STEPS = 32, 512
"""Targets that share a step, unless an epoch would have more steps than this."""
MIN_BATCHES = 4
"""At most a quarter of a small target's edges is in one batch, and so hidden from the encoder."""


@dataclass(frozen=True)
class Examples:
    """Edges of the targets, sorted by target."""

    instance: Ints  # (E,) which target
    pairs: Ints  # (E, 2) node indices
    position: Ints  # (E,) which edge of the multiplex

    def __len__(self) -> int:
        return len(self.instance)

    def of(self, instance: int) -> Ints:
        """Return the pairs of one target."""
        first, last = np.searchsorted(self.instance, [instance, instance + 1])
        return self.pairs[first:last]

    def take(self, which: NDArray[np.bool_]) -> "Examples":
        """Return the examples selected by a mask (E,)."""
        return Examples(self.instance[which], self.pairs[which], self.position[which])


@dataclass(frozen=True)
class Plan:
    """The edges of an epoch in the order of its steps; step s has edges start[s] to start[s + 1]."""

    order: Ints  # (E,) positions in the examples
    start: Ints  # (steps + 1,)


@dataclass(frozen=True, eq=False)
class Batch:
    """The pairs of one step: P pairs, half of them edges, of B targets with k drawn layers each."""

    instances: Ints  # (B,) policy instance of each target, sorted
    table: Ints  # (B, 1 + k) target layer and drawn layers
    row: Tensor  # (P,) which of the B targets a pair belongs to
    pairs: Tensor  # (P, 2) node indices
    label: Tensor  # (P,) 1 = edge, 0 = negative
    layers: Tensor  # (P, 1 + k) target layer and drawn layers of each pair

    @classmethod
    def of(cls, instance: Ints, pairs: Tensor, instances: Ints, table: Ints) -> "Batch":
        """Lay out edges and negatives `pairs` (2, E, 2) of targets `instance` (E,), sorted, as one flat list."""
        row = torch.from_numpy(np.searchsorted(instances, instance)).to(pairs.device).repeat(2)
        label = torch.zeros(len(row), device=pairs.device)
        label[: len(instance)] = 1
        layers = torch.from_numpy(table).to(pairs.device)[row]
        return cls(instances, table, row, pairs.reshape(-1, 2), label, layers)

    @property
    def target(self) -> Ints:
        """The target layers, (B,)."""
        return self.table[:, 0]

    @property
    def drawn(self) -> Ints:
        """The drawn layers, (B, k)."""
        return self.table[:, 1:]

    @property
    def encoded(self) -> Ints:
        """All layers that the step encodes, sorted, (S,)."""
        return np.unique(self.table)

    def hidden_edges(self, visibility: Visibility, relevance: Relevance) -> HiddenEdges:
        """Return the step's pairs as edges that the encoder must not see, as in validation and prediction.

        Where embeddings of two layers are compared, neither may show the pair: it is hidden in both.
        """
        if relevance.is_free:
            every = torch.from_numpy(self.encoded).to(self.pairs.device)
            return hide_pairs(self.pairs, every.expand(len(self.pairs), -1))
        compared = "embeddings" in relevance.needs
        return hide_pairs(self.pairs, self.layers if compared else visibility.hidden_layers(self.layers))

    def every_embedding(self) -> tuple[Tensor, Tensor]:
        """Return each (layer, node) of encoded layers and nodes of the batch, as layers (m,) and nodes (m,)."""
        layers, nodes = torch.from_numpy(self.encoded).to(self.pairs.device), torch.unique(self.pairs)
        return layers.repeat_interleave(len(nodes)), nodes.repeat(len(layers))


def plan_epoch(
    instance: Ints, *, batch_edges: int, targets_per_step: int, rng: np.random.Generator, max_rounds: int | None = None
) -> Plan:
    """Divide the edges of each target into batches at random and put batches of different targets into steps.

    A target comes at most once in a step, and in at most `max_rounds` steps: batches of large targets grow. The b-th
    batches of all targets that have so many come in random order, `targets_per_step` to a step; 0: `TARGETS`, or as
    many as it takes for about `STEPS` steps.
    """
    rank, size = random_ranks(instance, rng)
    batches = np.minimum(size, np.maximum(-(-size // batch_edges), MIN_BATCHES))
    if max_rounds is not None:
        batches = np.minimum(batches, max_rounds)
    batch = rank * batches[instance] // size[instance]
    job_instance = np.repeat(np.arange(len(size)), batches)
    job_batch = np.arange(len(job_instance)) - np.repeat(np.cumsum(batches) - batches, batches)
    targets_per_step = targets_per_step or max(TARGETS, -(-len(job_batch) // STEPS))
    order = np.lexsort((rng.permutation(len(size))[job_instance], job_batch))
    waves = np.bincount(job_batch)
    steps = -(-waves // targets_per_step)
    wave = job_batch[order]
    place = np.arange(len(order)) - (np.cumsum(waves) - waves)[wave]
    step = np.empty(len(order), np.int64)
    step[order] = (np.cumsum(steps) - steps)[wave] + place // targets_per_step
    edge_step = step[(np.cumsum(batches) - batches)[instance] + batch]
    edge_order = np.lexsort((instance, edge_step))
    return Plan(edge_order, np.searchsorted(edge_step[edge_order], np.arange(steps.sum() + 1)))
