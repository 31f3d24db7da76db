"""Vectors of nodes that all layers share, and each layer turns in its own way (RotatE).

Scores are those of `nn/relations.py`. In small and dense layers they find what counts of neighbours and paths miss.
Such vectors memorise the edges that they were learnt from. So pairs are divided into folds, and a pair is scored by
vectors that were learnt without the pairs of its fold, be they edges or not.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.backend.choice import on_cpu
from banditplex.backend.compiling import compile_loop, in_parts
from banditplex.backend.random_numbers import random_integers
from banditplex.multiplex import Multiplex
from banditplex.nn.relations import FORMULAS, MARGIN, TINY
from banditplex.pairs.visibility import Visibility

FOLDS = 8
DIMENSION = 32
CHUNK = 1 << 14
"""Pairs that are scored at once."""


class Vectors(NamedTuple):
    """Vectors of each fold."""

    node: Tensor  # (FOLDS, N, 2, DIMENSION): real and imaginary parts
    angle: Tensor  # (FOLDS, L, DIMENSION)

    def score(self, fold: Tensor, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        """Return the scores of pairs in layers by the vectors of folds; all have the same shape."""
        first, second = (rows(self.node, fold, ends).flatten(-2) for ends in (source, destination))
        return FORMULAS["rotate"].score(first, rows(self.angle, fold, layer), second)

    def score_only(self, fold: Tensor, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        """Return the same for lists (n,), without gradients and in little memory."""
        asked = fold, source, destination, layer
        if not on_cpu(fold):
            parts = zip(*(torch.split(each, CHUNK) for each in asked), strict=True)
            return torch.cat([self.angle.new_zeros(0), *(self.score(*part) for part in parts)])
        found = torch.empty(len(fold))
        tensors = *asked, self.node, self.angle.cos(), self.angle.sin(), found
        arrays = [each.detach().contiguous().numpy() for each in tensors]
        in_parts(len(fold), lambda part: _distances(part.start, part.stop, *arrays, TINY))
        return MARGIN - found


def rows(table: Tensor, fold: Tensor, place: Tensor) -> Tensor:
    """Return table[fold, place], with gradients that are always added up in the same order on a CPU."""
    found = F.embedding(fold * table.shape[1] + place, table.flatten(2).flatten(0, 1))
    return found.view(*fold.shape, *table.shape[2:])


class Folds(NamedTuple):
    """Divides the pairs of nodes in layers into folds, both directions alike."""

    num_nodes: int
    everywhere: bool  # whether a pair is in the same fold in all layers
    seed: int

    def key(self, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        """Return an integer for each pair; pairs that are left out together have the same."""
        pair = torch.minimum(source, destination) * self.num_nodes + torch.maximum(source, destination)
        return pair if self.everywhere else layer * self.num_nodes**2 + pair

    def of(self, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        """Return the fold of each pair."""
        return random_integers(self.key(source, destination, layer), self.seed) % FOLDS


class Rotations(nn.Module):
    """A term of the logits of pairs: the mean score of several sets of vectors, times a factor of the target layer.

    A set divides the pairs into folds of its own, by its number. In undirected layers the score is the mean of both
    directions. The term is 0 where a node is not known.
    """

    node: Tensor  # (S, FOLDS, N, 2, DIMENSION)
    angle: Tensor  # (S, FOLDS, L, DIMENSION)
    usual: Tensor  # (L,): the mean score of pairs in each target, which is subtracted
    factor: Tensor  # (L,)

    def __init__(self, num_sets: int, num_nodes: int, num_layers: int, *, directed: bool, everywhere: bool) -> None:
        super().__init__()
        self.directed, self.everywhere = directed, everywhere
        self.node = nn.Parameter(torch.zeros(num_sets, FOLDS, num_nodes, 2, DIMENSION))
        self.angle = nn.Parameter(torch.zeros(num_sets, FOLDS, num_layers, DIMENSION))
        self.register_buffer("usual", torch.zeros(num_layers))
        self.register_buffer("factor", torch.zeros(num_layers))
        self.place: Tensor | None = None  # (N',): which node each node of another graph is; -1: none

    @classmethod
    def like(cls, mx: Multiplex, num_sets: int, visibility: Visibility) -> "Rotations":
        """Return some for the nodes and layers of a multiplex; all numbers are 0."""
        sizes = num_sets, mx.num_nodes, mx.num_layers
        return cls(*sizes, directed=mx.directed, everywhere=visibility.hides_everywhere)

    def folds(self, number: int) -> Folds:
        """Return the folds of a set."""
        return Folds(self.node.shape[2], self.everywhere, number)

    def in_graph(self, place: Tensor) -> "Rotations":
        """Return the same for another graph, whose nodes are those at `place` (N',), -1 if they are new."""
        other = copy.copy(self)
        other.place = place if self.place is None else torch.where(place >= 0, self.place[place], -1)
        return other

    def forward(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the terms (n,) of pairs (n, 2) in target layers (n,)."""
        if self.place is None:
            return self.factor[target] * (self.score(pairs, target) - self.usual[target])
        pairs = self.place[pairs]
        known = (pairs >= 0).all(1)
        score = self.score(pairs.clamp(min=0), target)
        return self.factor[target] * torch.where(known, score - self.usual[target], 0.0)

    def score(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the mean scores (n,) of all sets."""
        return torch.stack([self.score_by(number, pairs, target) for number in range(len(self.node))]).mean(0)

    def score_by(self, number: int, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the scores (n,) by one set."""
        vectors, folds = Vectors(self.node[number], self.angle[number]), self.folds(number)
        source, destination = pairs.unbind(1)
        fold = folds.of(source, destination, target)
        score = vectors.score_only(fold, source, destination, target)
        return score if self.directed else (score + vectors.score_only(fold, destination, source, target)) / 2


@compile_loop
def _distances(
    low: Any, high: Any, fold: Any, source: Any, destination: Any, layer: Any, node: Any, cos: Any, sin: Any,
    result: Any, tiny: Any,
) -> None:  # fmt: skip
    size = cos.shape[2]
    length = np.empty(size, np.float32)
    for n in range(low, high):
        x, y = node[fold[n], source[n]], node[fold[n], destination[n]]
        c, s = cos[fold[n], layer[n]], sin[fold[n], layer[n]]
        for i in range(size):
            across = x[0, i] * c[i] - x[1, i] * s[i] - y[0, i]
            up = x[0, i] * s[i] + x[1, i] * c[i] - y[1, i]
            length[i] = np.sqrt(across * across + up * up + np.float32(tiny))
        result[n] = 0
        for i in range(size):
            result[n] += length[i]
