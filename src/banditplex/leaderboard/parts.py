"""What methods are fitted to and tested on: the same for all methods, and drawn from the seed alone."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from banditplex.evaluation.split import HARD_EACH, FixedSplit, Split, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.hard_negatives import hard_negatives
from banditplex.pairs.negatives import own_negatives
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks, stream

SHARE = 0.2
"""Share of the edges held out for the test and, of the other edges, for tuning."""
RANKED, LEAST_RANKED = 500, 5
"""Held-out edges that are ranked, in all layers together; at least so many of each layer."""


class Part(NamedTuple):
    """Test pairs with labels, and held-out edges with negatives of their own, by the name of the negatives."""

    test: Split
    ranked: dict[str, Split]


@dataclass(frozen=True)
class Parts:
    """Makes the parts of a multiplex, or of a split that comes with the data."""

    full: Multiplex
    hide: str
    fixed: FixedSplit | None = None

    def for_tuning(self, seed: int) -> Part:
        """Return validation edges: a share of the training graph of `for_test`, which has no test pairs."""
        if self.fixed is not None:
            return Part(replace(self.fixed.valid, hide=self.fixed.hide), {})
        return Part(self.split(seed).validation(SHARE, seed), {})

    def for_test(self, seed: int) -> Part:
        """Return the test pairs; edges to rank have random and hard negatives, unless the split is fixed."""
        data = self.split(seed)
        if self.fixed is not None:
            return Part(data, {})
        data.check(self.full)
        return Part(data, _ranked(data, self.full, stream(seed, "ranked")))

    def split(self, seed: int) -> Split:
        """Return the training graph and the labelled test pairs of a seed; `hide` is what methods must not see."""
        if self.fixed is not None:
            return replace(self.fixed.test, hide=self.fixed.hide)
        return split(self.full, hide=self.hide, share=SHARE, seed=seed)


def _ranked(data: Split, full: Multiplex, rng: np.random.Generator) -> dict[str, Split]:
    """Return some held-out edges of each layer, each with as many random and as many hard negatives of its own."""
    edges = data.label == 1
    layer, pairs = data.layer[edges], data.pairs[edges]
    some = random_ranks(layer, rng)[0] < max(RANKED // len(np.unique(layer)), LEAST_RANKED)
    layer, pairs = layer[some], pairs[some]
    known = Visibility.of_split(data.hide, full).negative_pairs(full)
    each = int(min(HARD_EACH, known.num_free()[np.unique(layer)].min()))
    drawn = {
        "random": own_negatives(full, layer, each, known, rng),
        "hard": hard_negatives(data.train, layer, pairs, each, known, rng),
    }
    chosen = replace(data, layer=layer, pairs=pairs, label=np.ones(len(layer), np.int64))
    ranked = {name: replace(chosen, negatives=negatives) for name, negatives in drawn.items()}
    for each_split in ranked.values():
        each_split.check(full)
    return ranked
