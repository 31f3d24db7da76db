"""The batches of an epoch: which edges share a step, and a step's pairs as one flat list. Vectorised."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Bools, Ints
from banditplex.backend import ranges
from banditplex.backend.random_numbers import BITS, new_seed, random_integers
from banditplex.nn import HiddenEdges
from banditplex.nn.query import Vertices
from banditplex.nn.relevance import Relevance
from banditplex.pairs.visibility import Visibility
from banditplex.training.config import AUTO, MAX_ROUNDS

TARGETS, STEPS = 32, 512  # targets that share a step, unless an epoch would have more steps than this
GPU_PAIRS, ENCODED_PAIRS = 1 << 18, 3 << 20
"""Pairs of a step from which on a GPU has no time to spare, without and with an encoder (measured on an H200) ..."""
GPU_STEPS, ENCODED_STEPS = 128, 64  # ... unless an epoch would have fewer steps than this
ENCODED_BYTES = 640
"""Memory of a pair per unit of an encoder's width (measured at 64, two hops); a step has a third of that of a GPU."""
MIN_BATCHES = 4  # at most a quarter of a small target's edges is in one batch, and so hidden from the encoder
SHUFFLE = 32  # bits of the random numbers by which edges are shuffled; of equal numbers, the earlier edge comes first


@dataclass(frozen=True)
class Examples:
    """Edges of the targets, sorted by target."""

    instance: Ints  # (E,) which target
    pairs: Ints  # (E, 2) node indices

    def __len__(self) -> int:
        return len(self.instance)

    def of(self, instance: int) -> Ints:
        """Return the pairs of one target."""
        first, last = np.searchsorted(self.instance, [instance, instance + 1])
        return self.pairs[first:last]


@dataclass(frozen=True, eq=False)
class TargetEdges:
    """Edges of the targets on the device, sorted by target."""

    size: Ints  # (T,) how many edges each target has
    instance: Tensor  # (n,) which target
    pairs: Tensor  # (n, 2) node indices

    def __len__(self) -> int:
        """Return the number of edges of all targets."""
        return len(self.pairs)

    def of(self, instance: int) -> Ints:
        """Return the pairs of one target."""
        last = int(self.size[: instance + 1].sum())
        return self.pairs[last - int(self.size[instance]) : last].cpu().numpy()

    def take(self, at: Tensor) -> "TargetEdges":
        """Return the edges at positions (n,), which are in order."""
        instance = self.instance.index_select(0, at)
        size = torch.bincount(instance, minlength=len(self.size)).cpu().numpy()
        return TargetEdges(size, instance, self.pairs.index_select(0, at))

    def to_host(self) -> Examples:
        """Return the same edges as arrays."""
        return Examples(self.instance.cpu().numpy(), self.pairs.cpu().numpy())


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of an epoch: each has one batch of each of some targets. The edges are ordered when they are needed.

    Batches are listed in the order of the steps and, within a step, of their targets. Step s has batches first[s] to
    first[s + 1] and edges start[s] to start[s + 1].
    """

    size: Ints  # (T,) edges of each target
    instance: Ints  # (J,) target of each batch
    begin: Ints  # (J,) where the batch begins among the edges of all targets, shuffled within each target
    length: Ints  # (J,) its edges
    first: Ints  # (steps + 1,)
    seed: int

    @property
    def start(self) -> Ints:
        """Where each step starts, (steps + 1,)."""
        return np.append(0, np.cumsum(self.length))[self.first]

    def edges(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return all edges in the order of the steps: places among the edges (E,), and which of the step's targets."""
        place = np.arange(len(self.instance)) - np.repeat(self.first[:-1], np.diff(self.first))  # of batches in steps
        begin, length, batch, size = (
            torch.from_numpy(each).to(device) for each in (self.begin, self.length, place, self.size)
        )
        number = torch.repeat_interleave(size)
        number <<= SHUFFLE
        number += random_integers(torch.arange(len(number), device=device), self.seed) >> (BITS - SHUFFLE)
        shuffled = torch.sort(number, stable=True).indices
        which, at = ranges(begin, length)
        return shuffled.index_select(0, at), batch.index_select(0, which)

    def steps(self) -> Iterator[tuple[slice, Ints]]:
        """Yield the edges of each step, as `edges` returns them, and its targets (B,), sorted."""
        start = self.start
        for low, high, a, b in zip(start[:-1], start[1:], self.first[:-1], self.first[1:], strict=True):
            yield slice(int(low), int(high)), self.instance[a:b]


@dataclass(frozen=True, eq=False)
class Batch:
    """The pairs of one step: P pairs, half of them edges, of B targets with k drawn layers each."""

    instances: Ints  # (B,) policy instance of each target, sorted
    table: Ints  # (B, 1 + k) target layer and drawn layers
    row: Tensor  # (P,) which of the B targets a pair belongs to
    pairs: Tensor  # (P, 2) node indices
    label: Tensor  # (P,) 1 = edge, 0 = negative
    layers: Tensor  # (P, 1 + k) target layer and drawn layers of each pair
    whole: "Batch | None" = None  # the step that this is a part of, if other processes have the rest of it

    @classmethod
    def of(cls, row: Tensor, pairs: Tensor, instances: Ints, table: Ints) -> "Batch":
        """Lay out edges and negatives `pairs` (2, E, 2) of targets instances[row] (E,) as one flat list."""
        label = torch.zeros(2 * len(row), device=row.device)
        label[: len(row)] = 1
        row = torch.cat([row, row])
        layers = torch.from_numpy(np.ascontiguousarray(table)).to(row.device).index_select(0, row)
        return cls(instances, table, row, pairs.reshape(-1, 2), label, layers)

    def part(self, mine: Bools | None) -> "Batch":
        """Return the batch of some of all targets (T,), in which `whole` is this batch; itself for None."""
        if mine is None:
            return self
        here = mine[self.instances]
        chosen = torch.from_numpy(here).to(self.row.device)
        at = torch.nonzero(chosen[self.row]).squeeze(1)
        row = (torch.cumsum(chosen, 0) - 1)[self.row[at]]
        of_pairs = self.pairs[at], self.label[at], self.layers[at]
        return Batch(self.instances[here], self.table[here], row, *of_pairs, whole=self)

    @property
    def count(self) -> int:
        """The number of pairs that means are taken over."""
        return len(self.row if self.whole is None else self.whole.row)

    def mean(self, values: Tensor) -> Tensor:
        """Return the share of this batch in the mean over all pairs of the step, of values (P,) of its pairs."""
        return values.mean() if self.whole is None else values.sum() / self.count

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
        return np.unique(self.table if self.whole is None else self.whole.table)

    def hidden_edges(self, visibility: Visibility, relevance: Relevance) -> HiddenEdges:
        """Return the step's pairs as edges that the encoder must not see, as in validation and prediction.

        Where embeddings of two layers are compared, neither may show the pair: it is hidden in both.
        """
        if self.whole is not None:
            return self.whole.hidden_edges(visibility, relevance)
        if relevance.is_free:
            every = torch.from_numpy(self.encoded).to(self.pairs.device)
            return HiddenEdges.of(self.pairs, every.expand(len(self.pairs), -1))
        compared = "embeddings" in relevance.needs
        return HiddenEdges.of(self.pairs, self.layers if compared else visibility.hidden_layers(self.layers))

    def every_embedding(self) -> Vertices:
        """Return each (layer, node) of encoded layers and nodes of the batch."""
        layers, nodes = torch.from_numpy(self.encoded).to(self.pairs.device), torch.unique(self.pairs)
        return Vertices(layers.repeat_interleave(len(nodes)), nodes.repeat(len(layers)))


class StepSize(NamedTuple):
    """How large steps should be on a device: pairs, edges and negatives, unless an epoch would have too few steps."""

    pairs: int = 0
    least_steps: int = 1

    @classmethod
    def on(cls, device: torch.device, width: int) -> "StepSize":
        """Return the size for a network whose encoder has some width (0: it has none)."""
        if device.type != "cuda":
            return cls()
        if not width:
            return cls(GPU_PAIRS, GPU_STEPS)
        memory = torch.cuda.get_device_properties(device).total_memory // 3
        return cls(min(ENCODED_PAIRS, memory // (ENCODED_BYTES * width)), ENCODED_STEPS)


ANY_SIZE = StepSize()


def plan_epoch(
    size: Ints, *, batch_edges: int, targets_per_step: int | str, rng: np.random.Generator,
    max_rounds: int = MAX_ROUNDS, step_size: StepSize = ANY_SIZE,
) -> Plan:  # fmt: skip
    """Divide the edges of targets, `size` (T,) each, into batches at random and put batches of targets into steps.

    A target comes at most once in a step, and in at most `max_rounds` steps: batches of large targets grow. The b-th
    batches of all targets that have so many come in random order, `targets_per_step` to a step; "auto": `TARGETS`, or
    as many as it takes for about `STEPS` steps, or for `step_size`.
    """
    batches = np.minimum(np.minimum(size, np.maximum(-(-size // batch_edges), MIN_BATCHES)), max_rounds)
    instance = np.repeat(np.arange(len(size)), batches)
    batch = np.arange(len(instance)) - np.repeat(np.cumsum(batches) - batches, batches)
    share, parts = size[instance], batches[instance]
    low, high = -(-batch * share // parts), -(-(batch + 1) * share // parts)
    together = TARGETS if targets_per_step == AUTO else int(targets_per_step)
    if targets_per_step == AUTO:
        fill = min(step_size.pairs * len(batch) // max(1, 2 * int(size.sum())), len(batch) // step_size.least_steps)
        most = int(np.count_nonzero(size))
        even = -(-most // -(-most // max(1, fill)))  # steps of equal size rather than full ones and a rest
        together = max(TARGETS, -(-len(batch) // STEPS), even)
    order = np.lexsort((rng.permutation(len(size))[instance], batch))
    waves = np.bincount(batch)
    steps = -(-waves // together)
    wave = batch[order]
    place = np.arange(len(order)) - (np.cumsum(waves) - waves)[wave]
    step = (np.cumsum(steps) - steps)[wave] + place // together
    order = order[np.lexsort((instance[order], step))]
    first = np.append(0, np.cumsum(np.bincount(step)))
    begin = (np.cumsum(size) - size)[instance] + low
    return Plan(size, instance[order], begin[order], (high - low)[order], first, new_seed(rng))
