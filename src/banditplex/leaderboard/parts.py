"""What methods are fitted to and tested on: the same for all methods, and drawn from the seed alone."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.evaluation.split import HARD_EACH, FixedSplit, Split, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.hard_negatives import hard_negatives
from banditplex.pairs.negatives import at_most, own_negatives
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks, stream

SHARE = 0.2  # share of the edges held out for the test and, of the other edges, for tuning
RANKED, LEAST_RANKED = 500, 5  # held-out edges that are ranked, in all layers together; at least so many of each layer


class Part(NamedTuple):
    """Test pairs with labels, and held-out edges to rank.

    `ranked` are some of these with negatives of their own, by the name of the negatives; `triples`, if not None, says
    which edges are known, and `name` which part of it is ranked among all nodes.
    """

    test: Split
    ranked: dict[str, Split]
    triples: FixedSplit | None = None
    name: str = "test"


@dataclass(frozen=True)
class Parts:
    """Makes the parts of a multiplex, or of a split that comes with the data."""

    full: Multiplex
    hide: str
    fixed: FixedSplit | None = None

    def for_tuning(self, seed: int) -> Part:
        """Return validation edges: a share of the training graph of `for_test`, which has no test pairs."""
        if self.fixed is not None:
            return Part(replace(self.fixed.valid, hide=self.fixed.hide), {}, self.triples, "valid")
        return Part(self.split(seed).validation(SHARE, seed), {})

    def for_test(self, seed: int) -> Part:
        """Return the test pairs; edges to rank have random and hard negatives, unless the split is fixed."""
        data = self.split(seed)
        if self.fixed is not None:
            return Part(data, {}, self.triples)
        data.check(self.full)
        return Part(data, _ranked(data, self.full, stream(seed, "ranked")))

    @property
    def triples(self) -> FixedSplit | None:
        """The split that comes with the data, if single edges of it are ranked among all nodes."""
        return self.fixed if self.fixed is not None and self.fixed.of_triples else None

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
    known = Visibility.of_split(data.hide, full).test_negatives(full, data.train)

    def random(rows: Bools, count: int) -> Ints:
        return own_negatives(full, layer[rows], count, known, rng)

    def hard(rows: Bools, count: int) -> Ints:
        return hard_negatives(data.train, layer[rows], pairs[rows], count, known, rng)

    drawn = {draw.__name__: at_most(HARD_EACH, layer, known, draw) for draw in (random, hard)}
    chosen = replace(data, layer=layer, pairs=pairs, label=np.ones(len(layer), np.int64))
    ranked = {name: replace(chosen, negatives=negatives) for name, negatives in drawn.items()}
    for each_split in ranked.values():
        each_split.check(full)
    return ranked
