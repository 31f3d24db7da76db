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

SHARE = 0.4
"""Of what networks count by cross-entropy.

Low ranks have more say in it than in the mean reciprocal rank, and vectors learn validation edges afterwards. On valid
triples of three knowledge graphs of 3,078 to 3,570 nodes, two fits each, this share has a filtered MRR at most .003
below that of the best one. The best are .3 to .7; without networks it is .003 to .03 lower.
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
        than vectors are reduced to `SHARE`.
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
        return np.append(SHARE * found[:-1], found[-1])
