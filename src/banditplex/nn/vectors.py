"""Vectors of nodes that all layers share, and each layer multiplies by its own (ComplEx).

The score of a pair (u, v) in a layer is that of `nn/relations.py`: the real part of <e_u, w, conjugate of e_v>, with
complex vectors. It finds what counts of neighbours and paths miss: which kinds of nodes a layer links. Such vectors
memorise the edges that they were learnt from. So pairs are divided into folds, and a pair is scored by vectors that
were learnt without the pairs of its fold, be they edges or not.

In a large multiplex, one such set of vectors is poor: the candidates of a node are scored by several models, which
differ by chance. There the edges of a fold are unknown pairs like others to its vectors, and one more model is learnt
from all edges. Pairs that are no known edges are unknown to that as well, and are scored by it: all by the same. Of
long vectors, this model learns validation edges last, and says before what it is worth: those of a fold know far fewer
edges.
"""

import copy
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import compile_loop, in_parts
from banditplex.backend.packing import EdgeTensors, contains
from banditplex.backend.random_numbers import random_integers
from banditplex.multiplex import Multiplex
from banditplex.nn.keys import known_keys, pair_keys
from banditplex.nn.relations import FORMULAS
from banditplex.pairs.visibility import Visibility

DIMENSION = 32
FORMULA = FORMULAS["complex"]
FOLDS, FOLDS_ALONE, FOLDS_LONG = 8, 3, 2
"""Folds of each of several sets, of one set alone, and of one of long vectors: each costs time.

One set alone has one more model, the last, which learns all edges.
"""
SETS, FEW_NODES, FEW_EDGES = 3, 2_000, 20_000
"""Sets of vectors, whose scores are averaged, of a multiplex with not more nodes and fewer edges; others have one."""
MORE, MORE_NODES, MORE_EDGES = 8, 5_000, 100_000
"""One set alone has so many times the numbers per vector, up to so many nodes and edges."""
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
            return torch.stack([torch.randperm(size, generator=generator) for _ in range(shape_of(mx)[0])]) % FOLDS

        node, layer = groups(mx.num_nodes), groups(mx.num_layers)
        return cls(node, torch.zeros_like(layer) if everywhere else layer)


def shape_of(mx: Multiplex) -> tuple[int, int, int]:
    """Return how many sets of vectors a multiplex has, how many models in a set, and numbers in a vector."""
    if mx.num_nodes <= FEW_NODES and mx.num_edges < FEW_EDGES:
        return SETS, FOLDS, 2 * DIMENSION
    more = mx.num_nodes <= MORE_NODES and mx.num_edges <= MORE_EDGES
    return 1, 1 + (FOLDS_LONG if more else FOLDS_ALONE), 2 * DIMENSION * (MORE if more else 1)


class Vectors(nn.Module):
    """A term of the logits of pairs: the mean score of S sets of vectors, times a factor of the target layer.

    In undirected layers the score is the mean of both directions. The term is 0 where a node is not known.
    """

    node: Tensor  # (S, M, N, D): of M models, each without a fold; real parts, then imaginary ones
    layer: Tensor  # (S, M, L, D)
    node_group: Tensor  # (S, N)
    layer_group: Tensor  # (S, L)
    usual: Tensor  # (L,): the mean score of pairs in each target, which is subtracted
    factor: Tensor  # (L,)
    seed: Tensor  # of the folds of one set alone
    edges: Tensor  # (E,): sorted keys of known edges, if there is one set; the training graph has them: not saved

    def __init__(self, mx: Multiplex, visibility: Visibility) -> None:
        """Make some for the nodes and layers of a multiplex; all numbers are 0."""
        super().__init__()
        self.visibility, self.num_nodes, shape = visibility, mx.num_nodes, shape_of(mx)
        for name, size in (("node", mx.num_nodes), ("layer", mx.num_layers)):
            setattr(self, name, nn.Parameter(torch.zeros(*shape[:2], size, shape[2])))
            self.register_buffer(f"{name}_group", torch.zeros(shape[0], size, dtype=torch.int64))
        self.register_buffer("usual", torch.zeros(mx.num_layers))
        self.register_buffer("factor", torch.zeros(mx.num_layers))
        self.register_buffer("seed", torch.zeros((), dtype=torch.int64))
        edges = known_keys(EdgeTensors.of(mx, "cpu"), visibility) if self.alone else torch.zeros(0, dtype=torch.int64)
        self.register_buffer("edges", edges, persistent=False)
        self.place: Tensor | None = None  # (N',): which node each node of another graph is; -1: none

    @property
    def alone(self) -> bool:
        """Whether there is one set."""
        return len(self.node) == 1

    @property
    def long(self) -> bool:
        """Whether vectors have more numbers than usual; then there is one set."""
        return self.node.shape[3] > 2 * DIMENSION

    @property
    def ranked(self) -> bool:
        """Whether rankings of an edge's ends say how much they count, as in a knowledge graph."""
        return self.long and self.visibility.directed

    def fold(self, pairs: Tensor, layer: Tensor) -> Tensor:
        """Return the folds (S, n) of pairs (n, 2) in their layers (n,)."""
        if self.alone:
            return (random_integers(self.keys(pairs, layer), int(self.seed)) % (self.node.shape[1] - 1)).unsqueeze(0)
        return (self.node_group[:, pairs].sum(2) + self.layer_group[:, layer]) % FOLDS

    def keys(self, pairs: Tensor, layer: Tensor) -> Tensor:
        """Return the keys (n,) of pairs (n, 2) in their layers (n,), as known `edges` have them."""
        return pair_keys(layer, pairs[:, 0], pairs[:, 1], self.num_nodes, self.visibility)

    def in_graph(self, place: Tensor) -> "Vectors":
        """Return the same for another graph, whose nodes are those at `place` (N',), -1 if they are new."""
        other = copy.copy(self)
        other.place = place if self.place is None else torch.where(place >= 0, self.place[place], -1)
        return other

    def forward(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Return the terms (n,) of pairs (n, 2) in target layers (n,)."""
        return self.factor[target] * self.score(pairs, target)

    def score(self, pairs: Tensor, target: Tensor, *, held_out: bool = False) -> Tensor:
        """Return how far the mean scores (n,) of all sets are above the usual ones; 0 where a node is not known.

        Validation edges that are `held_out` are scored without knowing them, and pairs to compare with them likewise;
        with long vectors, as long as the last model has not learnt them.
        """
        known = None
        if self.place is not None:
            pairs = self.place[pairs]
            known, pairs = (pairs >= 0).all(1), pairs.clamp(min=0)
        parts = zip(torch.split(pairs, LOOKED_UP_AT_ONCE), torch.split(target, LOOKED_UP_AT_ONCE), strict=True)
        found = torch.cat([self.usual[:0], *(self._mean(*part, held_out) for part in parts)]) - self.usual[target]
        return found if known is None else torch.where(known, found, 0.0)

    def _mean(self, pairs: Tensor, target: Tensor, held_out: bool) -> Tensor:
        """Return the mean scores of all sets, and of both directions in undirected layers."""
        total, models, last = self.usual.new_zeros(len(pairs)), self.fold(pairs, target), self.node.shape[1] - 1
        if self.long and held_out:
            models = torch.full_like(models, last)
        elif self.alone and not held_out:
            models = torch.where(contains(self.edges, self.keys(pairs, target)), models, last)
        for node, layer, model in zip(self.node, self.layer, models, strict=True):
            total += scores(node, layer, model, pairs, target, directed=self.visibility.directed)
        return total / len(self.node)


@offer
def scores(node: Tensor, layer: Tensor, model: Tensor, pairs: Tensor, target: Tensor, *, directed: bool) -> Tensor:
    """Return the scores (n,) of pairs (n, 2) in targets (n,) by models (n,) of a set, (M, N, D) and (M, L, D).

    If layers have no directions, they are the means of both.
    """
    first, second, relation = node[model, pairs[:, 0]], node[model, pairs[:, 1]], layer[model, target]
    found = FORMULA.score(first, relation, second)
    return found if directed else (found + FORMULA.score(second, relation, first)) / 2


@scores.faster(on_cpu)
def _scores(node: Tensor, layer: Tensor, model: Tensor, pairs: Tensor, target: Tensor, *, directed: bool) -> Tensor:
    found = node.detach().new_empty(len(pairs))
    vectors, asked = (node.detach().numpy(), layer.detach().numpy()), (model.numpy(), pairs.numpy(), target.numpy())

    def work(part: slice) -> None:
        _multiply(*vectors, *(each[part] for each in asked), directed, found.numpy()[part])

    in_parts(len(pairs), work)
    return found


@partial(compile_loop, reorder=True)
def _multiply(node: Any, layer: Any, model: Any, pair: Any, target: Any, directed: Any, found: Any) -> None:
    half = node.shape[2] // 2
    for i in range(len(pair)):
        u, v, w = node[model[i], pair[i, 0]], node[model[i], pair[i, 1]], layer[model[i], target[i]]
        total = found.dtype.type(0)
        for c in range(half):  # in the mean of both directions, imaginary parts of the layer's numbers cancel
            total += w[c] * (u[c] * v[c] + u[half + c] * v[half + c])
        if directed:
            for c in range(half):
                total += w[half + c] * (u[c] * v[half + c] - u[half + c] * v[c])
        found[i] = total
