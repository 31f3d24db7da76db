"""Vectors of nodes that all layers share, and each layer multiplies by its own (ComplEx).

The score of a pair (u, v) in a layer is that of `nn/relations.py`: the real part of <e_u, w, conjugate of e_v>, with
complex vectors. It finds what counts of neighbours and paths miss: which kinds of nodes a layer links. Such vectors
memorise the edges that they were learnt from. So pairs are divided into folds, and a pair is scored by vectors that
were learnt without the pairs of its fold, be they edges or not.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from banditplex.multiplex import Multiplex
from banditplex.nn.relations import FORMULAS

DIMENSION = 32
FORMULA = FORMULAS["complex"]
FOLDS = 8
SETS, FEW_NODES, FEW_EDGES = 3, 2_000, 20_000
"""Sets of vectors, whose scores are averaged, of a multiplex with not more nodes and fewer edges; others have one."""
LOOKED_UP_AT_ONCE = 1 << 14
"""Pairs that are scored at once."""


class Folds(NamedTuple):
    """Divides the pairs of nodes in layers into folds, both directions alike, in each of S sets.

    Nodes and layers are in as many groups; the sum of the groups of both nodes and of the layer says the fold. So, of
    the pairs of a node in a layer, those with the nodes of one group are in a fold.
    """

    node: Tensor  # (S, N): the group of each node
    layer: Tensor  # (S, L): the group of each layer; 0 if a pair is in the same fold in all layers

    @classmethod
    def draw(cls, mx: Multiplex, generator: torch.Generator, *, everywhere: bool) -> "Folds":
        """Draw groups of the same size; `everywhere` puts a pair into the same fold in all layers."""

        def groups(size: int) -> Tensor:
            return torch.stack([torch.randperm(size, generator=generator) for _ in range(num_sets(mx))]) % FOLDS

        node, layer = groups(mx.num_nodes), groups(mx.num_layers)
        return cls(node, torch.zeros_like(layer) if everywhere else layer)

    def of(self, number: int | Tensor, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        """Return the fold of each pair in the set of a number."""
        return (self.node[number, source] + self.node[number, destination] + self.layer[number, layer]) % FOLDS


def num_sets(mx: Multiplex) -> int:
    """Return how many sets of vectors there are for a multiplex."""
    return SETS if mx.num_nodes <= FEW_NODES and mx.num_edges < FEW_EDGES else 1


class Vectors(nn.Module):
    """A term of the logits of pairs: the mean score of S sets of vectors, times a factor of the target layer.

    In undirected layers the score is the mean of both directions. The term is 0 where a node is not known.
    """

    node: Tensor  # (S, FOLDS, N, 2 * DIMENSION): real parts, then imaginary ones
    layer: Tensor  # (S, FOLDS, L, 2 * DIMENSION)
    node_group: Tensor  # (S, N)
    layer_group: Tensor  # (S, L)
    usual: Tensor  # (L,): the mean score of pairs in each target, which is subtracted
    factor: Tensor  # (L,)

    def __init__(self, num_nodes: int, num_layers: int, sets: int, *, directed: bool) -> None:
        super().__init__()
        self.directed = directed
        for name, size in (("node", num_nodes), ("layer", num_layers)):
            setattr(self, name, nn.Parameter(torch.zeros(sets, FOLDS, size, 2 * DIMENSION)))
            self.register_buffer(f"{name}_group", torch.zeros(sets, size, dtype=torch.int64))
        self.register_buffer("usual", torch.zeros(num_layers))
        self.register_buffer("factor", torch.zeros(num_layers))
        self.place: Tensor | None = None  # (N',): which node each node of another graph is; -1: none

    @classmethod
    def like(cls, mx: Multiplex) -> "Vectors":
        """Return some for the nodes and layers of a multiplex; all numbers are 0."""
        return cls(mx.num_nodes, mx.num_layers, num_sets(mx), directed=mx.directed)

    @property
    def folds(self) -> Folds:
        """How pairs are divided."""
        return Folds(self.node_group, self.layer_group)

    def in_graph(self, place: Tensor) -> "Vectors":
        """Return the same for another graph, whose nodes are those at `place` (N',), -1 if they are new."""
        other = copy.copy(self)
        other.place = place if self.place is None else torch.where(place >= 0, self.place[place], -1)
        return other

    def forward(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the terms (n,) of pairs (n, 2) in target layers (n,)."""
        return self.factor[target] * self.score(pairs, target)

    def score(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return how far the mean scores (n,) of all sets are above the usual ones; 0 where a node is not known."""
        known = None
        if self.place is not None:
            pairs = self.place[pairs]
            known, pairs = (pairs >= 0).all(1), pairs.clamp(min=0)
        parts = zip(torch.split(pairs, LOOKED_UP_AT_ONCE), torch.split(target, LOOKED_UP_AT_ONCE), strict=True)
        found = torch.cat([self.usual[:0], *(self._mean(*part) for part in parts)]) - self.usual[target]
        return found if known is None else torch.where(known, found, 0.0)

    def _mean(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the mean scores of all sets, and of both directions in undirected layers."""
        source, destination = pairs.unbind(1)
        total = self.usual.new_zeros(len(pairs))
        for number, (node, layer) in enumerate(zip(self.node, self.layer, strict=True)):
            fold = self.folds.of(number, source, destination, target)
            first, second, relation = node[fold, source], node[fold, destination], layer[fold, target]
            total += FORMULA.score(first, relation, second)
            if not self.directed:
                total += FORMULA.score(second, relation, first)
        return total / (len(self.node) * (1 if self.directed else 2))
