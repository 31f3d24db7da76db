"""How much networks and vectors count in a knowledge graph: as much as rankings of an edge's other end say.

There people ask for the other end of an edge, among all nodes. What tells pairs with many links from pairs with few, as
networks do best, says little about that, but much about all pairs together. So factors are fitted to rankings of both
ends of some validation edges, among all nodes: networks rank a few nodes high that vectors rank low, and a sample would
miss them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from banditplex.arrays import Bools, Floats, Ints
from banditplex.backend.packing import contains
from banditplex.nn.vectors import Vectors
from banditplex.training.calibration import SPREAD, Asked, MemberModel, Sample
from banditplex.training.data import TrainingData
from banditplex.training.priors import fit_with_priors

PAIRS = 500_000  # of edges with one end replaced, at most
SHARES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Of the factor of networks by cross-entropy, in which low ranks count more than in the mean reciprocal rank."""

LATER = 0.5
"""Share of what networks then count: vectors learn validation edges afterwards, and say more.

Filtered MRR of valid triples, whole and half, in two knowledge graphs of 3,078 and 3,570 nodes: .553 and .574, .538 and
.556; without networks .569 and .546.
"""


class Rankings(NamedTuple):
    """By how much P parts score the pairs of validation edges with one end replaced by each of N nodes above them."""

    place: Ints  # (n,): which of the validation edges
    above: Floats  # (P, n, 2, N)
    counts: Bools  # (n, 2, N): whether it makes neither a known edge nor a loop

    @classmethod
    def of(
        cls, data: TrainingData, models: Sequence[MemberModel], vectors: Vectors, rng: np.random.Generator
    ) -> "Rankings":
        """Choose edges, and let each part score the pairs, without what it has learnt of validation edges."""
        edges, size = data.validation_edges, data.full_mx.num_nodes
        place = np.sort(rng.permutation(len(edges))[: max(1, PAIRS // (2 * size))])
        ends, instance = edges.pairs[place], edges.instance[place]
        pairs = np.broadcast_to(ends[:, None, None], (len(place), 2, size, 2)).copy()
        pairs[:, 0, :, 0] = pairs[:, 1, :, 1] = np.arange(size)
        every, of = pairs.reshape(-1, 2), np.repeat(instance, 2 * size)
        asked, target = (torch.from_numpy(each).to(data.device) for each in (every, data.targets[of]))
        known = contains(vectors.edges, vectors.keys(asked, target)).cpu().numpy()
        counts = ~(known | (every[:, 0] == every[:, 1])).reshape(pairs.shape[:3])
        pool, above = Asked.of(data, Sample(of, every, np.ones(len(every)))), []
        for model in models:
            links, scored = pool.score(model)
            above.append(scored.score.reshape(counts.shape) - links.score[place][:, None, None])
        return cls(place, np.stack(above), counts)

    def weigh(self, start: Floats | None = None, some: Bools | None = None) -> Floats:
        """Return the factors (P,), 0 or above, with which edges rank highest; `some` (n,): of a part of the rankings.

        They have the least cross-entropy of the edge among all nodes, by which vectors were learnt: a priori these, the
        last part, count 1, and the others 0. The search begins at `start`; None: at what holds a priori. Then others
        than vectors are reduced to the share that has the highest mean reciprocal rank, and by `LATER`.
        """
        chosen = slice(None) if some is None else some
        above, counts = self.above[:, chosen], self.counts[chosen]

        def loss(beta: Floats) -> tuple[float, Floats]:
            score = np.where(counts, np.tensordot(beta, above, 1), -np.inf)
            top = np.maximum(score.max(2), 0.0)
            each = np.exp(score - top[..., None])
            total = np.exp(-top) + each.sum(2)
            gradient = np.tensordot(above, each / total[..., None], 3)
            return float((np.log(total) + top).sum()), np.asarray(gradient)

        size = len(above)
        limits, number = (np.zeros(size), np.full(size, np.inf)), np.full(size, 2.0 * len(counts))
        centre = np.eye(1, size, size - 1)[0]
        found = fit_with_priors(loss, centre, np.full(size, SPREAD**-2), number, limits, start)
        reduced = [np.append(share * found[:-1], found[-1]) for share in SHARES]
        best = max(reduced, key=lambda beta: self.mean_reciprocal_rank(beta, some))
        return np.append(LATER * best[:-1], best[-1])

    def mean_reciprocal_rank(self, factors: Floats, some: Bools | None = None) -> float:
        """Return that of edges, by the sum of P parts times `factors`; `some` (n,): of a part of the rankings."""
        chosen = slice(None) if some is None else some
        score = np.tensordot(factors, self.above[:, chosen], 1)
        higher = ((score > 0) + 0.5 * (score == 0)) * self.counts[chosen]
        return float((1 / (1 + higher.sum(2))).mean())
