"""Learns the vectors of `nn/rotations.py` from the edges of all layers, for all folds at once.

The loss is logistic, of edges against random pairs; steps are those of Adagrad, with one rate per row. All that is
random in a step is a hash of the edge and the step. So the vectors of a fold depend on the edges of the other folds
alone, on a CPU to the last bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from banditplex.backend.choice import on_cpu
from banditplex.backend.compiling import compile_loop, find_place, in_parts
from banditplex.backend.packing import EdgeTensors, contains
from banditplex.backend.random_numbers import BITS, new_seed, random_integer, random_integers
from banditplex.nn.known import Known
from banditplex.nn.relations import MARGIN, TINY
from banditplex.nn.rotations import DIMENSION, FOLDS, Folds, Rotations, Vectors
from banditplex.rng import stream
from banditplex.training.config import MANY_EDGES
from banditplex.training.data import TrainingData

STEPS = 60
RATE = 0.3
"""Learning rate of the first step; it falls to 0."""
NEGATIVES = 3
"""Random pairs per edge; those that are edges, or in the fold, are left out."""
BATCH = 1_024
"""Edges of a fold in a step, about, where there are more."""
MOST_NODES = 2_000
"""With more nodes there are no rotations: they are many numbers, and seldom help in sparse layers."""
USUAL = 256
"""Random pairs of a layer whose mean score is the usual one."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MemberRotations:
    """The vectors that were learnt on the graph of a member; `logits_of_targets` scores pairs as a network does."""

    rotations: Rotations
    number: int
    data: TrainingData

    @torch.no_grad()
    def logits_of_targets(self, pairs: Ints, instance: Ints, known: Known | None = None) -> Floats:
        """Return the scores (n,) of pairs (n, 2) in the targets number (n,)."""
        device, targets = self.data.device, self.data.targets[instance]
        asked, target = (torch.from_numpy(np.ascontiguousarray(each)).to(device) for each in (pairs, targets))
        score = self.rotations.score_by(self.number, asked, target) - self.rotations.usual[target]
        found: Floats = score.cpu().numpy().astype(np.float64)
        return found


def can_learn(data: TrainingData) -> bool:
    """Say whether there may be rotations: for not too many nodes and edges, where negatives are any pairs of nodes."""
    few = data.full_mx.num_nodes <= MOST_NODES and data.full_mx.num_edges < MANY_EDGES
    return few and not data.negatives.only_host


@torch.no_grad()
def learn_all(members: Sequence[TrainingData], seed: int) -> Rotations:
    """Return one set of vectors for each member, learnt from its graph; factors are 0."""
    data, rng = members[0], stream(seed, "rotations")
    mx, device = data.full_mx, data.device
    rotations = Rotations.like(mx, len(members), data.visibility).to(device)
    for number, member in enumerate(members):
        first = new_seed(rng) // 2  # of as many seeds as there are steps, and more
        vectors = learn(EdgeTensors.of(member.train_mx, device), rotations.folds(number), first)
        rotations.node[number], rotations.angle[number] = vectors
    target = torch.arange(mx.num_layers, device=device).repeat_interleave(USUAL)
    drawn = random_integers(torch.arange(2 * len(target), device=device), new_seed(rng)) % mx.num_nodes
    rotations.usual.copy_(rotations.score(drawn.view(-1, 2), target).view(-1, USUAL).mean(1))
    data.group.copy_first(rotations.state_dict().values())
    return rotations


def learn(edges: EdgeTensors, folds: Folds, seed: int) -> Vectors:
    """Return the vectors of each fold, learnt from the edges of all other folds."""
    examples, begin = Examples(edges, folds), torch.Generator().manual_seed(seed)
    vectors = Vectors(
        *(
            torch.randn(size, generator=begin).div(DIMENSION**0.5).to(edges.layer.device).expand(FOLDS, *size).clone()
            for size in ((edges.num_nodes, 2, DIMENSION), (edges.num_layers, DIMENSION))
        )
    )
    squares = [each.new_zeros(each.shape[:2]) for each in vectors]
    for step in range(STEPS):
        gradients = descent(vectors, examples.draw(seed + 2 * step))
        for value, square, gradient in zip(vectors, squares, gradients, strict=True):
            square += gradient.square().flatten(2).mean(2)
            rate = RATE * (1 - step / STEPS) * (square + TINY).rsqrt()
            value -= rate.view(*rate.shape, *[1] * (value.dim() - 2)) * gradient
    return vectors


class Drawn(NamedTuple):
    """Edges of a step, sorted by fold, each with negatives."""

    fold: Tensor  # (n,)
    layer: Tensor  # (n,)
    source: Tensor  # (n, 1 + NEGATIVES), of the edge, then of its negatives
    destination: Tensor  # (n, 1 + NEGATIVES)
    weight: Tensor  # (n, NEGATIVES), of the negatives: their sum is 1 for each edge, or 0 if all are left out


class Examples:
    """The edges that each fold learns from; an undirected edge counts in both directions."""

    def __init__(self, edges: EdgeTensors, folds: Folds) -> None:
        edges = edges.keep(~edges.is_loop)
        source, destination, layer = edges.source, edges.destination, edges.layer
        if not edges.directed:
            source, destination = torch.cat([source, destination]), torch.cat([destination, source])
            layer = layer.repeat(2)
        self._folds = folds
        self._known = torch.sort(self._key(source, destination, layer)).values
        others = torch.arange(FOLDS, device=layer.device).unsqueeze(1) != folds.of(source, destination, layer)
        self._fold, edge = torch.nonzero(others, as_tuple=True)
        self._source, self._destination, self._layer = source[edge], destination[edge], layer[edge]
        key = self._key(self._source, self._destination, self._layer)
        self._number = key * FOLDS + self._fold  # of each edge in each fold
        self._share = BATCH / torch.bincount(self._fold, minlength=FOLDS)[self._fold]

    def _key(self, source: Tensor, destination: Tensor, layer: Tensor) -> Tensor:
        return (layer * self._folds.num_nodes + source) * self._folds.num_nodes + destination

    def draw(self, seed: int) -> Drawn:
        """Return the edges of a step with random pairs as negatives; the next number is taken as a seed, too."""
        if on_cpu(self._number):
            return self._draw_compiled(seed)
        at = torch.nonzero(random_integers(self._number, seed) < self._share * 2.0**BITS).squeeze(1)
        fold, layer, num_nodes = self._fold[at], self._layer[at], self._folds.num_nodes
        number = self._number[at].unsqueeze(1) * NEGATIVES + torch.arange(NEGATIVES, device=at.device)
        drawn = random_integers(number, seed + 1) % num_nodes**2
        u, v, of = drawn // num_nodes, drawn % num_nodes, layer.unsqueeze(1)
        linked = contains(self._known, self._key(u, v, of).flatten()).view_as(u)
        weight = (~(linked | (u == v) | (self._folds.of(u, v, of) == fold.unsqueeze(1)))).float()
        source = torch.cat([self._source[at].unsqueeze(1), u], 1)
        destination = torch.cat([self._destination[at].unsqueeze(1), v], 1)
        return Drawn(fold, layer, source, destination, weight / weight.sum(1, keepdim=True).clamp(min=1))

    def _draw_compiled(self, seed: int) -> Drawn:
        """Return the same, to the bit, without a list of numbers for edges that are not drawn."""
        number, limit = self._number.numpy(), (self._share * 2.0**BITS).numpy()
        at = np.empty(len(number), np.int64)
        at = at[: _choose(number, limit, seed, at)]
        ends = np.empty((2, len(at), 1 + NEGATIVES), np.int64)
        weight = torch.empty(len(at), NEGATIVES)
        edges = [each.numpy() for each in (self._fold, self._layer, self._source, self._destination, self._known)]
        folds = self._folds.num_nodes, self._folds.everywhere, self._folds.seed, FOLDS
        _draw(at, number, *edges, *folds, seed + 1, ends, weight.numpy())
        chosen = torch.from_numpy(at)
        source, destination = torch.from_numpy(ends)
        return Drawn(self._fold[chosen], self._layer[chosen], source, destination, weight)


@compile_loop
def _choose(number: Any, limit: Any, seed: Any, at: Any) -> Any:
    """Write the places of the edges of a step, and return how many there are."""
    count = 0
    for i in range(len(number)):
        if np.float32(random_integer(number[i], seed)) < limit[i]:
            at[count] = i
            count += 1
    return count


@compile_loop
def _draw(
    at: Any, number: Any, fold: Any, layer: Any, source: Any, destination: Any, known: Any, num_nodes: Any,
    everywhere: Any, fold_seed: Any, num_folds: Any, seed: Any, ends: Any, weight: Any,
) -> None:  # fmt: skip
    """Write the ends of the edges at some places and of their negatives, and the weights of these."""
    negatives = weight.shape[1]
    for n in range(len(at)):
        edge = at[n]
        ends[0, n, 0], ends[1, n, 0], kept = source[edge], destination[edge], 0
        for j in range(negatives):
            drawn = random_integer(number[edge] * negatives + j, seed) % num_nodes**2
            u, v = drawn // num_nodes, drawn % num_nodes
            key = (layer[edge] * num_nodes + u) * num_nodes + v
            place = find_place(key, 0, len(known), known)
            linked = place < len(known) and known[place] == key
            pair = min(u, v) * num_nodes + max(u, v)
            pair = pair if everywhere else layer[edge] * num_nodes**2 + pair
            good = not linked and u != v and random_integer(pair, fold_seed) % num_folds != fold[edge]
            ends[0, n, 1 + j], ends[1, n, 1 + j], weight[n, j] = u, v, good
            kept += good
        for j in range(negatives):
            weight[n, j] /= max(kept, 1)


def descent(vectors: Vectors, drawn: Drawn) -> Sequence[Tensor]:
    """Return the gradients of the loss of a step, in the shape of the vectors."""
    if not on_cpu(drawn.fold):
        return by_torch(vectors, drawn)
    bounds = torch.searchsorted(drawn.fold, torch.arange(FOLDS + 1))
    gradients = [torch.zeros_like(each) for each in vectors]
    tensors = bounds, *drawn[1:], vectors.node, vectors.angle.cos(), vectors.angle.sin(), *gradients
    arrays = [each.contiguous().numpy() for each in tensors]
    in_parts(FOLDS, lambda part: _descent(part.start, part.stop, *arrays, MARGIN, TINY), few=1)
    return gradients


def by_torch(vectors: Vectors, drawn: Drawn) -> Sequence[Tensor]:
    """Return the same on any device."""
    leaves = Vectors(*(each.detach().requires_grad_() for each in vectors))
    with torch.enable_grad():
        fold, layer = (each.unsqueeze(1).expand_as(drawn.source) for each in drawn[:2])
        score = leaves.score(fold, drawn.source, drawn.destination, layer)
        loss = softplus(-score[:, 0]) + (drawn.weight * softplus(score[:, 1:])).sum(1)
        return torch.autograd.grad(loss.sum(), leaves)


@compile_loop
def _descent(
    low: Any, high: Any, bounds: Any, layer: Any, source: Any, destination: Any, weight: Any, node: Any, cos: Any,
    sin: Any, by_node: Any, by_angle: Any, margin: Any, tiny: Any,
) -> None:  # fmt: skip
    size = cos.shape[2]
    real, imaginary, across, up, length = np.empty((5, size), np.float32)
    for fold in range(low, high):
        for edge in range(bounds[fold], bounds[fold + 1]):
            c, s, by_turn = cos[fold, layer[edge]], sin[fold, layer[edge]], by_angle[fold, layer[edge]]
            for j in range(source.shape[1]):
                share = np.float32(-1.0) if j == 0 else weight[edge, j - 1]
                if share == 0:
                    continue
                x, y = node[fold, source[edge, j]], node[fold, destination[edge, j]]
                by_x, by_y = by_node[fold, source[edge, j]], by_node[fold, destination[edge, j]]
                for i in range(size):
                    real[i] = x[0, i] * c[i] - x[1, i] * s[i]
                    imaginary[i] = x[0, i] * s[i] + x[1, i] * c[i]
                    across[i], up[i] = real[i] - y[0, i], imaginary[i] - y[1, i]
                    length[i] = np.sqrt(across[i] * across[i] + up[i] * up[i] + np.float32(tiny))
                score = margin
                for i in range(size):
                    score -= length[i]
                pull = np.float32(-share / (1 + np.exp(-score if j else score)))
                for i in range(size):
                    factor = pull / length[i]
                    a, b = factor * across[i], factor * up[i]
                    by_x[0, i] += a * c[i] + b * s[i]
                    by_x[1, i] += b * c[i] - a * s[i]
                    by_y[0, i] -= a
                    by_y[1, i] -= b
                    by_turn[i] += b * real[i] - a * imaginary[i]
