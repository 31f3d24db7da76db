"""The network: the logit of a pair is a term that is always on plus one term for each drawn layer.

The first term sees the pair in its target layer and, if `visibility` allows it, what all layers together say of it
(`evidence`): as columns beside those of the target layer, and as a weight for each layer that has the pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.nn.bags import sum_bags
from banditplex.nn.compiled import both
from banditplex.nn.elsewhere import FetchedBlock
from banditplex.nn.embedding import embed, gather
from banditplex.nn.encoder import Convolution, Encoder
from banditplex.nn.evidence import num_evidence
from banditplex.nn.graph import Block, HiddenEdges, PackedGraph
from banditplex.nn.kernels import take
from banditplex.nn.known import Known, Lists, lists_of
from banditplex.nn.neighbour_sampling import Fanout
from banditplex.nn.pair_features import PairFeatures, compute_pair_features, num_features, other_features
from banditplex.nn.silu import silu
from banditplex.pairs.visibility import Visibility

MAX_OTHER = 16
"""Hidden units of the terms of drawn layers at most."""
WIDE = 32
"""Hidden units from which on the heads have two hidden layers."""


Described = tuple[PairFeatures, PairFeatures, Lists | None]
"""Pairs in their target layers and in drawn layers, and the layers that have them."""


@dataclass(frozen=True, eq=False)
class Logits:
    """The terms of the logits of P pairs with k drawn layers each; the logit is own + the sum of other."""

    own: Tensor  # (P,) target layer and evidence
    other: Tensor  # (P, k)
    block: Block | FetchedBlock | None
    embedding: Tensor | None  # (V, width), of the vertices of the block

    @property
    def total(self) -> Tensor:
        """The logit of each pair, (P,)."""
        return self.own + self.other.sum(1)


class MultiplexModel(nn.Module):
    """Scores pairs of target layers from k other layers each, at a cost that depends on k alone.

    Target and drawn layers are looked at in detail: their structure (`pair_features`) and, if `width` > 0, the
    embeddings of their nodes. `hidden_units` and `rank` size the two heads. `visibility` says what is hidden of a pair.
    """

    def __init__(
        self,
        *,
        num_nodes: int,
        num_layers: int,
        num_node_features: int,
        visibility: Visibility,
        width: int,
        depth: int,
        conv: Convolution,
        hidden_units: int,
        rank: int,
        max_node_embeddings: int,
    ) -> None:
        super().__init__()
        self.visibility, self.width, directed = visibility, width, visibility.directed
        self.encoder = None
        if width:
            self.encoder = Encoder(
                num_nodes=num_nodes, num_layers=num_layers, num_features=num_node_features,
                width=width, depth=depth, conv=conv,
                max_node_embeddings=max_node_embeddings,
            )  # fmt: skip
        own, other = num_features(visibility)
        self.listed = Listed(num_layers, directed) if visibility.evidence else None
        self.own = Head(own + num_evidence(visibility), width, hidden_units, num_layers, None, directed)
        self.other = Head(other, width, min(hidden_units, MAX_OTHER), num_layers, rank, directed)

    def forward(
        self,
        graph: PackedGraph,
        features: Tensor | None,
        pairs: Tensor,
        target: Tensor,
        layers: Tensor,
        hidden: HiddenEdges,
        asked: tuple[Tensor, Tensor] | None = None,
        fanout: Fanout | None = None,
        known: Known | None = None,
    ) -> Logits:
        """Score pairs (P, 2) of target layers (P,) with drawn layers (P, k).

        `features` are node features (num_nodes, F). The encoder does not see `hidden` edges; structural features follow
        `visibility`. `asked`, layers (m,) and nodes (m,), names further embeddings wanted, of layers that are encoded
        anyway. `fanout` limits the neighbours seen in large layers by an encoder that averages over neighbours.
        What is `known` of the pairs is looked up if it is not given.
        """
        described = self.describe(graph, pairs, target, layers, known)
        return self.score(graph, features, pairs, target, layers, hidden, described, asked, fanout)

    def score(
        self,
        graph: PackedGraph,
        features: Tensor | None,
        pairs: Tensor,
        target: Tensor,
        layers: Tensor,
        hidden: HiddenEdges,
        described: Described,
        asked: tuple[Tensor, Tensor] | None = None,
        fanout: Fanout | None = None,
    ) -> Logits:
        """Score pairs as `forward` does, given what `describe` returns."""
        own, other, lists = described
        block = embedding = None
        ends: Sequence[Tensor | None] = (None, None)
        between: Sequence[Tensor | None] = (None, None)
        if self.encoder is not None:
            block, embedding = embed(self.encoder, graph, features, (own, other), hidden, asked, fanout)
            ends, between = gather(block, embedding, own, other)
        from_target = target.repeat_interleave(layers.shape[1])

        def rest() -> Tensor:  # one number per pair, then the terms of drawn layers
            terms = self.other(other, from_target, ends[1], between[1]) if len(from_target) else own.values[:0, 0]
            listed = self.listed(target, lists) if self.listed is not None and lists is not None else terms[:0]
            return torch.cat([listed, terms])

        logit, terms = both(lambda: self.own(own, target, ends[0], between[0]), rest)
        if len(terms) > layers.numel():
            logit = logit + terms[: len(pairs)]
        return Logits(logit, terms[len(terms) - layers.numel() :].view_as(layers), block, embedding)

    def describe(
        self, graph: PackedGraph, pairs: Tensor, target: Tensor, layers: Tensor, known: Known | None = None
    ) -> Described:
        """Return the inputs of the two heads, for pairs in their target layers and in drawn layers, and the lists."""
        if known is None:
            known = Known.of(graph, pairs, target, self.visibility)
        lists = known.lists
        if lists is None and self.listed is not None:
            lists = lists_of(graph, pairs, target)
        if self.encoder is None:
            own = PairFeatures.without_lists(known.values, pairs, target, known.row)
            return own, other_features(graph, pairs, known.row, layers, self.visibility, listed=False), lists
        own, other = compute_pair_features(graph, pairs, target, layers, self.visibility)
        return replace(own, values=known.values), other, lists


class Head(nn.Module):
    """The term of one layer in the logit of a pair.

    logit = linear(x) + net(x) + <x, c> + interaction(embeddings), where x are the normalised structural features, net
    is a small network, and c belongs to the layer (target head) or is the low-rank product a[target] b[layer] (other
    head). All four start at 0.
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self, num_inputs: int, width: int, hidden_units: int, num_layers: int, rank: int | None, directed: bool
    ) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_inputs))
        self.register_buffer("scale", torch.ones(num_inputs))
        self.linear = _zero(nn.Linear(num_inputs, 1))
        self.net = Residual(num_inputs, hidden_units)
        shape = (num_layers, num_inputs + 1) if rank is None else (num_layers, rank, num_inputs + 1)
        self.of_layer = nn.Parameter(torch.zeros(shape))
        self.of_target = None if rank is None else nn.Parameter(0.3 + 0.3 * torch.randn(num_layers, rank))
        self.interaction = PairInteraction(width, hidden_units, directed) if width else None

    def forward(self, features: PairFeatures, target: Tensor, ends: Tensor | None, between: Tensor | None) -> Tensor:
        """Return one number per (pair, layer), (n,), given the target of each (n,).

        `ends` (2n, width) and `between` (m, width) are embeddings of the pairs' nodes and of their common neighbours.
        """
        x = (features.values - self.mean) / self.scale
        correction = take(self.of_layer, features.layer)
        if self.of_target is not None:
            correction = (take(self.of_target, target).unsqueeze(2) * correction).sum(1)
        logit = (self.linear(x) + self.net(x)).squeeze(1) + (F.pad(x, (0, 1), value=1.0) * correction).sum(1)
        if self.interaction is None or ends is None or between is None:
            return logit  # type: ignore[no-any-return]
        return logit + self.interaction(features, ends, between)  # type: ignore[no-any-return]

    @torch.no_grad()
    def normalise(self, values: Tensor) -> None:
        """Take mean and scale of the inputs from a sample (n, F).

        Inputs that hardly vary are not blown up: edges that are added later would move them by many deviations.
        """
        self.mean.copy_(values.mean(0))
        self.scale.copy_(values.std(0, unbiased=False).clamp(min=0.02))


class Residual(nn.Module):
    """A small network: h = silu(first(x)), then last(h + silu(second(h))); it starts at 0.

    With fewer than `WIDE` hidden units there is no second layer: it pays on large data sets alone.
    """

    def __init__(self, num_inputs: int, hidden_units: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_inputs, hidden_units)
        self.second = nn.Linear(hidden_units, hidden_units) if hidden_units >= WIDE else None
        self.last = _zero(nn.Linear(hidden_units, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return one number per row, (n, 1)."""
        hidden = silu(self.first(x))
        if self.second is not None:
            hidden = hidden + silu(self.second(hidden))
        return self.last(hidden)  # type: ignore[no-any-return]


class Listed(nn.Module):
    """The term of the n layers that have the pair: the sum of their weights, divided by sqrt(n + 1).

    The weight of a layer is the low-rank product a[target] b[layer]. In directed layers an edge the other way has a
    weight of its own. All weights start at 0.
    """

    def __init__(self, num_layers: int, directed: bool, rank: int = 8) -> None:
        super().__init__()
        self.of_layer = nn.Parameter(torch.zeros(num_layers * (1 + directed), rank))
        self.of_target = nn.Parameter(0.3 + 0.3 * torch.randn(num_layers, rank))

    def forward(self, target: Tensor, lists: Lists) -> Tensor:
        """Return one number per pair, (n,), given targets (n,) and lists of n pairs."""
        total = sum_bags(self.of_layer, lists.places, lists.start)
        return (total * take(self.of_target, target)).sum(1) * (torch.diff(lists.start) + 1).rsqrt()

    def each(self, size: int, target: Tensor, which: Tensor, layer: Tensor, reverse: Tensor) -> Tensor:
        """Return the parts of the sums that `forward` returns, one for each entry of the lists."""
        weight = self.of_layer[layer + reverse * len(self.of_target)] * self.of_target[target[which]]
        return weight.sum(1) * (torch.bincount(which, minlength=size) + 1).rsqrt()[which]


class PairInteraction(nn.Module):
    """The part of a term that comes from embeddings of the pair and of its common neighbours.

    net(z_u * z_v, sum over common neighbours w of message(z_w) / sqrt(degree of w)); directed layers have one
    projection for sources and one for destinations.
    """

    def __init__(self, width: int, hidden_units: int, directed: bool) -> None:
        super().__init__()
        self.source = nn.Linear(width, width)
        self.destination = nn.Linear(width, width) if directed else self.source
        self.message = nn.Linear(width, width)
        self.net = nn.Sequential(nn.Linear(2 * width, hidden_units), nn.SiLU(), _zero(nn.Linear(hidden_units, 1)))

    def forward(self, features: PairFeatures, ends: Tensor, between: Tensor) -> Tensor:
        """Return one number per (pair, layer), (n,), given embeddings as `Head` is."""
        if self.destination is self.source:
            at_u, at_v = self.source(ends).chunk(2)
        else:
            at_u, at_v = self.source(ends[: len(ends) // 2]), self.destination(ends[len(ends) // 2 :])
        messages = self.message(between) * torch.rsqrt(features.degree).unsqueeze(1)
        common = torch.zeros_like(at_u).index_add(0, features.which, messages)
        return self.net(torch.cat([at_u * at_v, common], 1)).squeeze(1)  # type: ignore[no-any-return]


def _zero(linear: nn.Linear) -> nn.Linear:
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
