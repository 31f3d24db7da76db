"""What an epoch goes through: the edges of the targets, in batches, and which batches share a step. Vectorised."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditplex.multiplex import Multiplex
from banditplex.pairs.known import pair_keys

Ints = NDArray[np.int64]
MIN_BATCHES = 4
"""At most a quarter of a small target's edges is in one batch, and so hidden from the encoder."""


@dataclass(frozen=True)
class Examples:
    """Edges of the targets, sorted by target."""

    instance: Ints  # (E,) which target
    pairs: Ints  # (E, 2) node indices
    place: Ints  # (E,) which edge of the multiplex


@dataclass(frozen=True)
class Plan:
    """The edges of an epoch in the order of its steps; step s has edges start[s] to start[s + 1]."""

    order: Ints  # (E,) positions in the examples
    start: Ints  # (steps + 1,)


def edges_of(mx: Multiplex, targets: Ints) -> Examples:
    """Return all edges of the target layers, self loops left out."""
    size = mx.layer_sizes[targets]
    which = np.repeat(np.arange(len(targets)), size)
    place = np.arange(len(which)) + np.repeat(mx.layer_offsets[targets] - (np.cumsum(size) - size), size)
    pairs = mx.edge_index[:, place].T
    keep = pairs[:, 0] != pairs[:, 1]
    return Examples(which[keep], np.ascontiguousarray(pairs[keep]), place[keep])


def divide(examples: Examples, share: float, rng: np.random.Generator) -> tuple[Examples, Examples]:
    """Divide at random into training and validation edges; each target gives its share, rounded down."""
    rank, size = _ranks(examples.instance, rng)
    return _part(examples, rank < np.floor(share * size)[examples.instance])


def divide_pairs(
    examples: Examples, share: float, rng: np.random.Generator, *, everywhere: bool
) -> tuple[Examples, Examples]:
    """Divide so that all edges between two nodes, of one target or `everywhere`, go to the same side.

    The share is that of a target's pairs or of all pairs, rounded down. A target that would lose more than twice the
    share of its edges, or all of them, keeps them.
    """
    num_nodes = int(examples.pairs.max(initial=0)) + 1
    group = np.zeros_like(examples.instance) if everywhere else examples.instance
    unit, which = np.unique(pair_keys(group, examples.pairs, num_nodes, ordered=False), return_inverse=True)
    group = unit // num_nodes**2
    rank, size = _ranks(group, rng)
    chosen = rank < np.floor(share * size)[group]
    left, size = np.bincount(examples.instance, ~chosen[which]), np.bincount(examples.instance)
    short = left < np.maximum(1, (1 - 2 * share) * size)
    chosen[which[short[examples.instance]]] = False
    return _part(examples, chosen[which])


def divide_given(
    negatives: Mapping[int, Ints], share: float, rng: np.random.Generator
) -> tuple[dict[int, Ints], dict[int, Ints]]:
    """Divide lists of pairs (n, 2) at random into those for training and for validation, at least one each.

    A list of one pair is for both.
    """
    train, held = {}, {}
    for layer, pairs in negatives.items():
        mixed = rng.permutation(pairs)
        count = min(max(1, int(share * len(pairs))), len(pairs) - 1)
        train[layer], held[layer] = mixed[count:], mixed[:count] if count else mixed
    return train, held


def _part(examples: Examples, aside: NDArray[np.bool_]) -> tuple[Examples, Examples]:
    train, held = (
        Examples(examples.instance[part], examples.pairs[part], examples.place[part]) for part in (~aside, aside)
    )
    return train, held


def plan_epoch(
    instance: Ints, *, batch_edges: int, targets_per_step: int, rng: np.random.Generator, max_rounds: int | None = None
) -> Plan:
    """Divide the edges of each target into batches at random and put batches of different targets into steps.

    A target comes at most once in a step, and in at most `max_rounds` of them: batches of large targets grow. The
    b-th batches of all targets that have so many come in a random order, `targets_per_step` to a step.
    """
    rank, size = _ranks(instance, rng)
    batches = np.minimum(size, np.maximum(-(-size // batch_edges), MIN_BATCHES))
    if max_rounds is not None:
        batches = np.minimum(batches, max_rounds)
    batch = rank * batches[instance] // size[instance]
    job_instance = np.repeat(np.arange(len(size)), batches)
    job_batch = np.arange(len(job_instance)) - np.repeat(np.cumsum(batches) - batches, batches)
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


def _ranks(instance: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return a random rank of each edge among those of its target, and the number of edges of each target."""
    size = np.bincount(instance)
    order = np.lexsort((rng.random(len(instance)), instance))
    rank = np.empty(len(instance), np.int64)
    rank[order] = np.arange(len(instance)) - (np.cumsum(size) - size)[instance[order]]
    return rank, size
