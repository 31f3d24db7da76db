"""The network: the logit of a pair is a term that is always on plus one term for each drawn layer.

The first term sees the pair in its target layer and, if `visibility` allows it, what all layers together say of it
(`evidence`): as columns beside those of the target layer, and as a weight for each layer that has the pair.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from banditplex.backend import NO_WEIGHTS, Asked, ListedWeights, Lists, Pass, Weights, compute_terms
from banditplex.nn.embedding import embed, gather
from banditplex.nn.encoder import Convolution, Encoder
from banditplex.nn.evidence import num_evidence
from banditplex.nn.graph import Block
from banditplex.nn.heads import Head, Listed
from banditplex.nn.known import Known
from banditplex.nn.pair_features import PairFeatures, num_features, other_features, with_lists
from banditplex.nn.query import Query
from banditplex.nn.view import View
from banditplex.pairs.visibility import Visibility

MAX_OTHER = 16  # hidden units of the terms of drawn layers at most
RANK = 2  # rank of the correction for each pair of target and drawn layer: whether it helps, and in which way
Described = tuple[PairFeatures, PairFeatures, Lists | None]
"""Pairs in their target layers and in drawn layers, and the layers that have them."""


@dataclass(frozen=True, eq=False)
class Logits:
    """The terms of the logits of P pairs with k drawn layers each; the logit is own + the sum of other."""

    own: Tensor  # (P,) target layer and evidence
    other: Tensor  # (P, k)
    block: Block | None = None
    embedding: Tensor | None = None  # (V, width), of the vertices of the block
    found: Pass | None = None  # what the gradient needs, if it is not computed by autograd

    @cached_property
    def total(self) -> Tensor:
        """The logit of each pair, (P,)."""
        return self.own + self.other.sum(1)

    @property
    def terms(self) -> Tensor:
        """All terms, (P, 1 + k)."""
        return torch.cat([self.own.unsqueeze(1), self.other], 1)


class MultiplexModel(nn.Module):
    """Scores pairs of target layers from k other layers each, at a cost that depends on k alone.

    Target and drawn layers are looked at in detail: their structure (`pair_features`) and, if `width` > 0, the
    embeddings of their nodes. `hidden_units` sizes the two heads. `visibility` says what is hidden of a pair.
    """

    def __init__(
        self, *, num_nodes: int, num_layers: int, num_node_features: int, visibility: Visibility, width: int,
        depth: int, conv: Convolution, hidden_units: int,
    ) -> None:  # fmt: skip
        super().__init__()
        self.visibility, self.width, directed = visibility, width, visibility.directed
        self.encoder = None
        if width:
            self.encoder = Encoder(
                num_nodes=num_nodes, num_layers=num_layers, num_features=num_node_features,
                width=width, depth=depth, conv=conv,
            )  # fmt: skip
        own, other = num_features(visibility)
        self.listed = Listed(num_layers, directed) if visibility.evidence else None
        self.own = Head(own + num_evidence(visibility), width, hidden_units, num_layers, None, directed)
        self.other = Head(other, width, min(hidden_units, MAX_OTHER), num_layers, RANK, directed)

    def forward(self, view: View, query: Query) -> Logits:
        """Score pairs."""
        return self.score(view, query, self.describe(view, query))

    def score(self, view: View, query: Query, described: Described) -> Logits:
        """Score pairs as `forward` does, given what `describe` returns."""
        embedded = None if self.encoder is None else embed(self.encoder, view, query, described[:2])
        logit, terms = self.terms(described, query.target, query.layers.shape[1], embedded)
        return Logits(logit, terms.view_as(query.layers), *(embedded or ()))

    def terms(
        self, described: Described, target: Tensor, k: int, embedded: tuple[Block, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the terms (P,) and (P * k,) of pairs in target layers and in drawn layers, with embeddings, if any."""
        own, other, _ = described
        logit, terms = compute_terms(self.asked(described, target, k), self.weights())
        if embedded is None or self.own.interaction is None or self.other.interaction is None:
            return logit, terms
        ends, between = gather(*embedded, own, other)
        logit = logit + self.own.interaction(own, ends[0], between[0])
        return logit, terms + self.other.interaction(other, ends[1], between[1]) if k else terms

    def asked(self, described: Described, target: Tensor, k: int) -> Asked:
        """Return what all terms are computed from."""
        own, other, lists = described
        rows = self.own.rows(own, target, 1), self.other.rows(other, target, k)
        return Asked(*rows, Lists(target.new_zeros(len(target) + 1), target[:0]) if lists is None else lists)

    def weights(self) -> Weights:
        """Return the weights of all terms."""
        listed = NO_WEIGHTS if self.listed is None else ListedWeights(self.listed.of_layer, self.listed.of_target)
        return Weights(self.own.weights(), self.other.weights(), listed)

    def describe(self, view: View, query: Query) -> Described:
        """Return the inputs of the two heads, for pairs in their target layers and in drawn layers, and the lists."""
        graph, pairs, target, layers = view.graph, query.pairs, query.target, query.layers
        known = Known.of(view, pairs, target) if query.known is None else query.known
        lists = known.lists
        if lists is None and view.evidence is not None:
            lists = view.evidence.lists_of(pairs, target)
        if self.encoder is None:
            own = PairFeatures.without_lists(known.values, pairs, target, known.row)
            return own, known.in_layers(view, pairs, target, layers), lists
        own = with_lists(graph, known.values, pairs, target, known.row)
        return own, other_features(graph, pairs, known.row, layers, view.visibility, listed=True), lists
