"""Skip-gram with negative sampling on walks (Mikolov et al. 2013), as products of small matrices.

A walk of length L gives L x L pairs of a centre v_i and a context c_j. The loss of the walk is

    - sum_ij w_ij log s(v_i . c_j) - K sum_i w_i mean_n log s(- v_i . c_n),    w_i = sum_j w_ij

with s the logistic function, K negatives per pair and w_ij = max(0, window + 1 - |i - j|) / window (0 if i = j): the
probability that word2vec, which draws the width of each window from 1 to `window`, takes j as a context of i. The
negatives n are drawn in proportion to degree^.75 in the layer of the walk, and are shared by all centres of a walk.
Short walks of a layer are put one after the other in a group, with w_ij = 0 between them: larger matrices are faster.
Word2vec goes through the pairs one by one with a decreasing learning rate; here a mini-batch of walks makes one step,
with row-wise Adagrad: a row of a table moves by rate * gradient / root of the sum of its mean squared gradients.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Bools, Floats, Ints
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from banditplex.pairs.known import contains


@dataclass(frozen=True, eq=False)
class WalkGraph:
    """Neighbour lists of all layers side by side: one row for each node of each layer that has a neighbour there.

    Layers are undirected, without weights and self loops; no row links two layers, so a walk stays in its layer.
    """

    num_nodes: int
    offsets: Ints  # (num_layers + 1,): rows of layer l are offsets[l] to offsets[l + 1] - 1
    nodes: Ints  # (rows,), sorted within a layer
    indptr: Ints  # (rows + 1,)
    neighbours: Ints  # rows, sorted within each list

    @classmethod
    def of(cls, mx: Multiplex) -> "WalkGraph":
        """Return the walk graph of a multiplex; the directions of its edges are ignored."""
        graph = PackedGraph.from_multiplex(replace(mx, weight=None))
        nodes = graph.both.row_key[:-1] % max(mx.num_nodes, 1)
        arrays = graph.layer_rows, nodes, graph.both.indptr[:-1], graph.both.arc_row[:-1]
        return cls(mx.num_nodes, *(each.numpy() for each in arrays))

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.nodes)

    @cached_property
    def layer(self) -> Ints:
        """The layer of each row."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def degree(self) -> Ints:
        """Number of neighbours of each row; at least 1."""
        return np.diff(self.indptr)

    @cached_property
    def _arcs(self) -> Ints:
        return np.repeat(np.arange(self.num_rows), self.degree) * self.num_rows + self.neighbours

    def rows(self, nodes: Ints, layer: int) -> Ints:
        """Return the row of each node in a layer; `num_rows` for nodes without a neighbour there."""
        start, stop = self.offsets[layer : layer + 2]
        place = start + np.searchsorted(self.nodes[start:stop], nodes)
        found = (place < stop) & (self.nodes[np.minimum(place, max(stop - 1, 0))] == nodes if stop > start else False)
        return np.where(found, place, self.num_rows)

    def linked(self, first: Ints, second: Ints) -> Bools:
        """Return whether rows are neighbours."""
        return contains(self._arcs, first * self.num_rows + second)

    def step(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return a uniform neighbour of each row."""
        return self.neighbours[self.indptr[rows] + (rng.random(len(rows)) * self.degree[rows]).astype(np.int64)]


def walk(
    graph: WalkGraph, start: Ints, length: int, rng: np.random.Generator, *, p: float = 1.0, q: float = 1.0
) -> Ints:
    """Return walks (n, length) of rows from `start` (n,); p and q are the return and in-out parameters of node2vec."""
    walks = np.empty((length, len(start)), np.int64)
    walks[0] = start
    largest = max(1 / p, 1.0, 1 / q)
    for step in range(1, length):
        if step == 1 or p == q == 1:
            walks[step] = graph.step(walks[step - 1], rng)
            continue
        before, here = walks[step - 2 : step]
        left = np.arange(len(start))
        while len(left):
            drawn = graph.step(here[left], rng)
            weight = np.where(graph.linked(drawn, before[left]), 1.0, 1 / q)
            weight[drawn == before[left]] = 1 / p
            kept = rng.random(len(left)) * largest < weight
            walks[step, left[kept]] = drawn[kept]
            left = left[~kept]
    return walks.T


SHARED = 4  # a group of walks has this many times as many shared negatives as there are negatives per pair
GROUP = 40  # nodes of a group of walks; longer walks are groups of their own
MAX_TOKENS = 1 << 13  # nodes of all walks in a mini-batch, at most
WALKED_AT_ONCE = 1 << 20  # nodes of all walks in memory, about


class Table:
    """Rows of numbers that are learnt with row-wise Adagrad."""

    def __init__(self, values: Tensor) -> None:
        self.values, self._squares = values, values.new_zeros(len(values))

    def __getitem__(self, rows: Tensor) -> Tensor:
        return self.values[rows]

    def step(self, rows: Tensor, gradient: Tensor, rate: float) -> None:
        """Make a step; the gradients (n, d) of the same row (n,) are added."""
        unique, place = torch.unique(rows, return_inverse=True)
        total = gradient.new_zeros(len(unique), gradient.shape[-1]).index_add_(0, place, gradient)
        squares = self._squares[unique] + (total * total).mean(1)
        self._squares[unique] = squares
        self.values[unique] -= total * (rate / (squares.sqrt() + 1e-10))[:, None]


def random_table(num_rows: int, dimension: int, rng: np.random.Generator, device: torch.device) -> Table:
    """Return a table of numbers between -.5 / dimension and .5 / dimension, as in word2vec."""
    values = (rng.random((num_rows, dimension), dtype=np.float32) - 0.5) / dimension
    return Table(torch.from_numpy(values).to(device))


def window_weights(length: int, window: int) -> Tensor:
    """Return the weights w_ij (length, length) of the pairs of a walk."""
    place = torch.arange(length, dtype=torch.float32)
    distance = (place[:, None] - place).abs()
    return ((window + 1 - distance) / window).clamp(0, 1) * (distance > 0)


def gradients(centre: Tensor, context: Tensor, negative: Tensor, weight: Tensor, num_negatives: int) -> list[Tensor]:
    """Return the gradients of the loss above, summed over walks, by its first three arguments; `weight` is (L, L)."""
    positive = torch.bmm(centre, context.mT.contiguous()).sigmoid_().sub_(1).mul_(weight)
    noise = torch.bmm(centre, negative.mT.contiguous()).sigmoid_()
    noise *= (num_negatives / negative.shape[1] * weight.sum(1))[:, None]
    by_centre = torch.baddbmm(torch.bmm(noise, negative), positive, context)
    return [by_centre, *(torch.bmm(each.mT.contiguous(), centre) for each in (positive, noise))]


class Noise:
    """Draws negatives: rows of a layer in proportion to degree^.75."""

    def __init__(self, graph: WalkGraph) -> None:
        self._ends = np.cumsum(graph.degree**0.75)
        bounds = np.append(0.0, self._ends)[graph.offsets]
        self._low, self._width, self._graph = bounds[:-1], np.diff(bounds), graph

    def draw(self, layer: Ints, count: int, rng: np.random.Generator) -> Ints:
        """Return `count` rows for each layer index, (n, count)."""
        at = self._low[layer][:, None] + rng.random((len(layer), count)) * self._width[layer][:, None]
        rows = np.searchsorted(self._ends, at, side="right")
        return np.minimum(rows, self._graph.offsets[layer + 1][:, None] - 1)


Batch = tuple[Ints, Ints, float]
"""Groups of walks (B, L) and their negatives (B, N), as rows of the walk graph; the learning rate of the step."""


class Walks(NamedTuple):
    """What walks there are: make(starts, length, rng) from every row in random order, `rounds` times."""

    graph: WalkGraph
    make: Callable[[Ints, int, np.random.Generator], Ints]
    length: int
    rounds: int

    @property
    def group(self) -> int:
        """Number of walks in a group."""
        return max(1, GROUP // self.length)

    def weights(self, window: int) -> Tensor:
        """Return the weights w_ij of the pairs of a group."""
        return torch.kron(torch.eye(self.group), window_weights(self.length, window))

    def order(self, rng: np.random.Generator) -> Ints:
        """Return the starts (n, group) in random order; a group is in one layer, the last one of a layer is filled."""
        layer = self.graph.layer
        starts = np.lexsort((rng.random(len(layer)), layer))
        size = np.bincount(layer, minlength=1)
        full = -(-size // self.group) * self.group
        within = np.arange(full.sum()) - np.repeat(np.cumsum(full) - full, full)
        place = np.repeat(np.cumsum(size) - size, full) + within % np.repeat(np.maximum(size, 1), full)
        return rng.permutation(starts[place].reshape(-1, self.group))


def batches(
    walks: Walks, *, num_negatives: int, rate: float, rng: np.random.Generator, max_tokens: int = MAX_TOKENS,
    time_limit: float | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """Yield mini-batches of walks; the rate falls linearly to 0, at the latest after `time_limit` seconds.

    A mini-batch has at most `max_tokens` nodes, and as many as the graph has rows, but at least one group.
    """
    graph, noise, begin, length = walks.graph, Noise(walks.graph), monotonic(), walks.group * walks.length
    size = max(1, min(max_tokens, graph.num_rows) // length)
    for index in range(walks.rounds if graph.num_rows else 0):
        order = walks.order(rng)
        for start in range(0, len(order), max(1, WALKED_AT_ONCE // length)):
            chunk = order[start : start + max(1, WALKED_AT_ONCE // length)]
            made = walks.make(chunk.ravel(), walks.length, rng).reshape(-1, length)
            for at in range(0, len(made), size):
                share = (index + (start + at) / len(order)) / walks.rounds
                if time_limit is not None:
                    share = max(share, (monotonic() - begin) / max(time_limit, 1e-9))
                if share >= 1:
                    return
                some = made[at : at + size]
                negatives = noise.draw(graph.layer[some[:, 0]], SHARED * num_negatives, rng)
                yield some, negatives, rate * (1 - share)


def train(
    steps: Iterator[Batch], weight: Tensor, num_negatives: int, contexts: Table,
    parts: Callable[[Tensor], list[tuple[Table, Tensor]]], vectors: Callable[..., Tensor] = lambda rows: rows,
    index: Tensor | None = None,
) -> None:  # fmt: skip
    """Learn tables from mini-batches whose pairs have weights (L, L).

    `parts` says which rows of which tables the centres of walks (B, L) are made of, and `vectors` makes them (B, L, d).
    `index` is the row of `contexts` of each row of the walk graph; None: the same.
    """
    device = contexts.values.device
    weight = weight.to(device)
    for *drawn, rate in steps:
        walks, negatives = (torch.from_numpy(each).to(device) for each in drawn)
        near, far = (walks, negatives) if index is None else (index[walks], index[negatives])
        tables, rows = zip(*parts(walks), strict=True)
        leaves = [table[some].requires_grad_() for table, some in zip(tables, rows, strict=True)]
        with torch.enable_grad():
            centre = vectors(*leaves)
        by_centre, *others = gradients(centre.detach(), contexts[near], contexts[far], weight, num_negatives)
        moves = *torch.autograd.grad(centre, leaves, by_centre), *others
        every = list(zip((*tables, contexts, contexts), (*rows, near, far), moves, strict=True))
        for table in dict.fromkeys((*tables, contexts)):
            own = [(some.ravel(), move.reshape(some.numel(), -1)) for each, some, move in every if each is table]
            table.step(*map(torch.cat, zip(*own, strict=True)), rate)


def as_numpy(table: Tensor) -> Floats:
    """Return a tensor as an array of float64."""
    return table.detach().cpu().numpy().astype(np.float64)
