"""What may be seen of a pair of nodes whose link is to be predicted: the one place that knows.

A model is asked whether (u, v) is an edge of a target layer, and must not see the answer. How much else it must not see
depends on how it will be used, and is the same in training, validation and prediction (but see `Batch.hidden_edges` for
layer losses that compare embeddings):

| `hide` | hidden in the target layer | hidden in other layers | a negative is a pair without |
|---|---|---|---|
| "edge" | the edge (u, v) | nothing | that edge in the layer |
| "layer" | every edge between u and v: in a directed layer the reverse edge, too | nothing | an edge between u and v in the layer |
| "pair" | every edge between u and v | every edge between u and v | an edge between u and v in any layer |

Where nearly all pairs of nodes are linked in some layer, "pair" would have hardly a negative. In such a *dense* multiplex
a negative of training is a pair without an edge in its layer, and a negative of a split is one of the held-out pairs.
The union of all layers shows an edge if some layer shows it.
Node embeddings come from undirected messages, and folds of vectors are the same for both directions of a pair, so for
them "edge" also hides the reverse edge of the target layer.
"""  # noqa: E501

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs, pair_keys, restrict
from banditplex.pairs.negatives import NegativeSampler
from banditplex.registry import check_choice

HIDE = ("edge", "layer", "pair")
DENSE = 1 / 3  # with fewer pairs that no layer links than this share of the linked ones, a multiplex is dense


@dataclass(frozen=True)
class Visibility:
    """What is hidden of the pairs of a multiplex.

    Parameters: `hide`: "edge", "layer" or "pair"; see the table above. `directed`: whether the multiplex is directed.
    `evidence`: whether all layers may be looked at (`nn/evidence.py`), or target and drawn layers alone. `weighted`:
    whether weights of edges are looked at in structural features. `pooled`: whether the panel of the target is looked
    at as well: some other layers, pooled with the target. `dense`: whether pairs are hidden in every layer, and nearly
    all pairs of nodes are linked in some layer.
    """

    hide: str = "edge"
    directed: bool = False
    evidence: bool = False
    weighted: bool = False
    pooled: bool = False
    dense: bool = False

    def __post_init__(self) -> None:
        check_choice("hide", self.hide, HIDE)

    @classmethod
    def of_training(
        cls, hide: str | None, mx: Multiplex, *, evidence: bool = False, weighted: bool = False, pooled: bool = False
    ) -> "Visibility":
        """Return what training on `mx` hides; None is "edge"."""
        return cls(hide or HIDE[0], mx.directed, evidence, weighted, pooled, hide == HIDE[-1] and is_dense(mx))

    @classmethod
    def of_split(cls, hide: str, mx: Multiplex) -> "Visibility":
        """Return what a split of `mx` hides: all edges between two nodes are held out together."""
        check_hide(hide)
        return cls(hide, mx.directed, dense=hide == HIDE[-1] and is_dense(mx))

    def everywhere(self) -> "Visibility":
        """Return what is hidden if every edge between the two nodes is, in any layer."""
        return replace(self, hide=HIDE[-1])

    # What is hidden of one pair

    @property
    def hides_everywhere(self) -> bool:
        """Whether a pair is hidden in every layer, not in its target layer alone."""
        return self.hide == "pair"

    @property
    def hides_reverse(self) -> bool:
        """Whether the reverse edge is hidden wherever the edge is."""
        return self.directed and self.hide != "edge"

    def hidden_layers(self, table: Any) -> Any:
        """Return the columns of `table` (P, 1 + k), target and drawn layers, that hide a pair from the encoder."""
        return table if self.hides_everywhere else table[:, :1]

    # Negatives, and what is held out together

    @property
    def ordered(self) -> bool:
        """Whether (u, v) and (v, u) are different pairs."""
        return self.directed and not self.hides_reverse

    @property
    def hides_together(self) -> bool:
        """Whether several edges may be hidden together, because they are the same pair."""
        return self.hides_everywhere or self.hides_reverse

    def keys(self, layer: Ints, pairs: Ints, num_nodes: int) -> Ints:
        """Return an integer for each pair (n, 2) in its layer (n,); pairs that are hidden together have the same."""
        layer = np.zeros_like(layer) if self.hides_everywhere else layer
        return pair_keys(layer, pairs, num_nodes, ordered=self.ordered)

    @property
    def of_negatives(self) -> "Visibility":
        """What negatives have no edge in: what is hidden, or their own layer if the multiplex is dense."""
        return replace(self, hide=HIDE[1], dense=False) if self.dense else self

    def known_pairs(self, mx: Multiplex) -> KnownPairs:
        """Return the pairs of which an edge of `mx` is hidden."""
        return KnownPairs(mx, everywhere=self.hides_everywhere, ordered=self.ordered)

    def negative_pairs(self, mx: Multiplex) -> KnownPairs:
        """Return the pairs that must not be drawn as negatives, given the edges of `mx`."""
        return restrict(self.of_negatives.known_pairs(mx), mx)

    def test_negatives(self, mx: Multiplex, train: Multiplex) -> KnownPairs:
        """Return the pairs that are no negatives of a split; if dense, also those that `train` links in any layer."""
        known = self.negative_pairs(mx)
        if self.dense:
            known.add_to_all(train.edge_index.T[train.edge_index[0] != train.edge_index[1]])
        return known

    def negative_sampler(self, mx: Multiplex, *, links_of: Multiplex | None = None) -> NegativeSampler:
        """Return a sampler of negatives, given the edges of `mx`; parameters as for `PairSpace`."""
        everywhere = self.of_negatives.hides_everywhere
        return NegativeSampler(mx, everywhere=everywhere, ordered=self.ordered, links_of=links_of)


def check_hide(hide: str, name: str = "hide", *, fixed: bool = False) -> None:
    """Refuse what a split cannot hide; `fixed`: it comes with the data, perhaps with one direction of a pair alone."""
    if hide == HIDE[0] and not fixed:
        why = "it hides one direction of a pair, for `evaluate` with a split of triples that comes with the data"
        others = ", ".join(HIDE[1:])
        raise InputError(f"Expected {name} to be one of {others}, got {hide!r}: {why} (fixed_split); layer hides both.")
    check_choice(name, hide, HIDE)


def is_dense(mx: Multiplex) -> bool:
    """Return whether hardly a pair of nodes is linked in no layer; types of nodes are not looked at."""
    most = mx.num_nodes * (mx.num_nodes - 1) // 2
    if mx.node_types is not None or most >= (1 + DENSE) * mx.num_edges:  # even if no two edges are of one pair
        return False
    return leaves_few(KnownPairs(mx, everywhere=True, ordered=False))


def leaves_few(known: KnownPairs) -> bool:
    """Return whether pairs that are known everywhere leave too few others."""
    free, every = known.num_free().max(initial=0), known.num_pairs().max(initial=0)
    return bool(free < DENSE * (every - free))
