"""How much networks and vectors count in a knowledge graph: as much as rankings of an edge's other end say.

There people ask for the other end of an edge, among all nodes. What tells pairs with many links from pairs with few, as
networks do best, says little about that, but much about all pairs together. So factors are fitted to rankings of both
ends of validation edges, among the nodes that vectors rank highest and random ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Bools, Floats, Ints
from banditplex.backend.packing import contains
from banditplex.nn.vectors import FORMULA, Vectors
from banditplex.training.calibration import SPREAD, Asked, MemberModel, Sample
from banditplex.training.data import TrainingData
from banditplex.training.priors import fit_with_priors

EDGES = 600  # validation edges that are ranked, at most
HIGHEST, RANDOM = 128, 64
"""Nodes that an end is ranked among: those that vectors rank highest, and random ones, which stand for the others."""
AT_ONCE = 100  # edges whose ends are compared with all nodes at once
SHARES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Of the factor of networks by cross-entropy, in which low ranks count more than in the mean reciprocal rank."""


class Rankings(NamedTuple):
    """By how much P parts score n * 2 * K pairs, with one end replaced, above validation edges."""

    place: Ints  # (n,): which of the validation edges
    above: Floats  # (P, n, 2, K)
    weight: Floats  # (n, 2, K): how many nodes each stands for; 0 if it makes a known edge

    @classmethod
    def of(
        cls, data: TrainingData, models: Sequence[MemberModel], vectors: Vectors, rng: np.random.Generator
    ) -> "Rankings":
        """Choose candidates, and let each part score them, without what it has learnt of validation edges."""
        edges = data.validation_edges
        place = np.sort(rng.permutation(len(edges))[:EDGES])
        ends, instance = edges.pairs[place], edges.instance[place]
        random = rng.integers(0, data.full_mx.num_nodes, (len(place), 2, RANDOM))
        asked = [torch.from_numpy(each).to(data.device) for each in (ends, data.targets[instance], random)]
        parts = zip(*(torch.split(each, AT_ONCE) for each in asked), strict=True)
        found = zip(*(candidates(vectors, *part) for part in parts), strict=True)
        pairs, weight = (torch.cat(each).cpu().numpy() for each in found)
        every = pairs.reshape(-1, 2)
        pool, above = Asked.of(data, Sample(np.repeat(instance, weight[0].size), every, np.ones(len(every)))), []
        for model in models:
            links, scored = pool.score(model)
            above.append(scored.score.reshape(weight.shape) - links.score[place][:, None, None])
        return cls(place, np.stack(above), weight)

    def weigh(self, start: Floats, some: Bools | None = None) -> Floats:
        """Return the factors (P,), 0 or above, with which edges rank highest; `some` (n,): of a part of the rankings.

        They have the least cross-entropy of the edge among all nodes, by which vectors were learnt: a priori these, the
        last part, count 1, and the others 0. The search begins at `start`. Then others than vectors are reduced to
        the share that has the highest mean reciprocal rank.
        """
        chosen = slice(None) if some is None else some
        above, weight = self.above[:, chosen], self.weight[chosen]

        def loss(beta: Floats) -> tuple[float, Floats]:
            score = np.where(weight > 0, np.tensordot(beta, above, 1), -np.inf)
            top = np.maximum(score.max(2), 0.0)
            each = weight * np.exp(score - top[..., None])
            total = np.exp(-top) + each.sum(2)
            gradient = np.tensordot(above, each / total[..., None], 3)
            return float((np.log(total) + top).sum()), np.asarray(gradient)

        size = len(above)
        limits, number = (np.zeros(size), np.full(size, np.inf)), np.full(size, 2.0 * len(weight))
        centre = np.eye(1, size, size - 1)[0]
        found = fit_with_priors(loss, centre, np.full(size, SPREAD**-2), number, limits, start)
        reduced = [np.append(share * found[:-1], found[-1]) for share in SHARES]
        return max(reduced, key=lambda beta: self.mean_reciprocal_rank(beta, some))

    def mean_reciprocal_rank(self, factors: Floats, some: Bools | None = None) -> float:
        """Return that of edges, by the sum of P parts times `factors`; `some` (n,): of a part of the rankings."""
        chosen = slice(None) if some is None else some
        score = np.tensordot(factors, self.above[:, chosen], 1)
        higher = ((score > 0) + 0.5 * (score == 0)) * self.weight[chosen]
        return float((1 / (1 + higher.sum(2))).mean())


@torch.no_grad()
def candidates(vectors: Vectors, ends: Tensor, target: Tensor, random: Tensor) -> tuple[Tensor, Tensor]:
    """Return pairs (n, 2, K, 2) with one end of edges (n, 2) in targets (n,) replaced, and their weights (n, 2, K).

    The nodes are those that vectors rank highest, then `random` ones (n, 2, R), which stand for the rest. Those that
    make a known edge or a loop have weight 0.
    """
    node, layer, size = vectors.node[0, -1], vectors.layer[0, -1, target], len(ends)
    source, destination = (node[each] for each in ends.unbind(1))
    asked = torch.stack([FORMULA.towards(destination, FORMULA.inverse(layer)), FORMULA.towards(source, layer)], 1)
    every = torch.arange(len(node), device=node.device).expand(size, 2, -1)
    other = unknown(vectors, ends, target, every)
    highest = min(HIGHEST, len(node))
    first = (asked @ node.T).masked_fill_(~other, -torch.inf).topk(highest, 2).indices
    rest = ~(random.unsqueeze(3) == first.unsqueeze(2)).any(3) * (len(node) / random.shape[2])
    chosen = torch.cat([first, random], 2)
    weight = torch.cat([torch.ones_like(rest[..., :1]).expand(size, 2, highest), rest], 2) * other.gather(2, chosen)
    return replaced(ends, chosen), weight.double()


def unknown(vectors: Vectors, ends: Tensor, target: Tensor, nodes: Tensor) -> Tensor:
    """Return which nodes (n, 2, K), in the place of an end, make neither a known edge nor a loop."""
    pairs = replaced(ends, nodes).flatten(0, 2)
    known = contains(vectors.edges, vectors.keys(pairs, target.repeat_interleave(nodes[0].numel())))
    return ~(known | (pairs[:, 0] == pairs[:, 1])).view(nodes.shape)


def replaced(ends: Tensor, nodes: Tensor) -> Tensor:
    """Return pairs (n, 2, K, 2): edges (n, 2) with nodes (n, 2, K) in the place of their first, or second, end."""
    pairs = ends.view(-1, 1, 1, 2).repeat(1, 2, nodes.shape[2], 1)
    pairs[:, 0, :, 0], pairs[:, 1, :, 1] = nodes.unbind(1)
    return pairs
