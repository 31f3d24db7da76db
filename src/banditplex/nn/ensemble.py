"""Several networks as one: the logit of a pair is the mean of theirs; other terms may be put beside them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from banditplex.nn.encoder import Encoder
from banditplex.nn.model import Described, Logits, MultiplexModel
from banditplex.nn.query import Query
from banditplex.nn.regression import Columns, Regression
from banditplex.nn.vectors import Vectors
from banditplex.nn.view import View
from banditplex.pairs.visibility import Visibility


class Beside(nn.Module):
    """Other terms, and the factor of the networks' terms in each target layer."""

    factor: Tensor  # (L,)

    def __init__(self, num_layers: int, regression: Regression | None, vectors: Vectors | None) -> None:
        super().__init__()
        self.register_buffer("factor", torch.ones(num_layers))
        self.regression, self.vectors = regression, vectors

    def forward(self, logits: Logits, query: Query, described: Described) -> Logits:
        """Return the logits of networks together with the other terms."""
        target, layers = query.target, query.layers
        factor = self.factor[target]
        own, other = factor * logits.own, factor.unsqueeze(1) * logits.other
        if self.regression is not None:
            values = described[1].values
            seen = Columns(described[0].values, values.view(*layers.shape, values.shape[1]))
            linear = self.regression(seen, target, layers)
            own, other = own + linear[0], other + linear[1]
        if self.vectors is not None:
            own = own + self.vectors(query.pairs, target)
        return Logits(own, other)

    def in_graph(self, place: Tensor) -> "Beside":
        """Return the same for another graph; `place` as for `Vectors.in_graph`."""
        vectors = None if self.vectors is None else self.vectors.in_graph(place)
        other = Beside(len(self.factor), self.regression, vectors)
        other.factor = self.factor
        return other


class Ensemble(nn.Module):
    """The mean of networks of the same shape, which see the same of a pair, and terms beside it."""

    def __init__(self, members: Sequence[MultiplexModel], beside: Beside | None = None) -> None:
        super().__init__()
        self.members, self.beside = nn.ModuleList(members), beside

    @property
    def visibility(self) -> Visibility:
        """What is hidden of a pair."""
        return members_of(self)[0].visibility

    @property
    def encoder(self) -> Encoder | None:
        """The first member's encoder, if members have any."""
        return members_of(self)[0].encoder

    def forward(self, view: View, query: Query) -> Logits:
        """Score pairs."""
        return self.score(view, query, self.describe(view, query))

    def describe(self, view: View, query: Query) -> Described:
        """Return what all members see of pairs, looked at once; see `MultiplexModel.describe`."""
        return members_of(self)[0].describe(view, query)

    def score(self, view: View, query: Query, described: Described) -> Logits:
        """Score pairs, given what `describe` returns of them."""
        found = [member.score(view, query, described) for member in members_of(self)]
        own, other = (torch.stack([getattr(each, name) for each in found]).mean(0) for name in ("own", "other"))
        mean = Logits(own, other)
        return mean if self.beside is None else self.beside(mean, query, described)


Network = MultiplexModel | Ensemble


def joined(members: Sequence[MultiplexModel], beside: Beside | None = None) -> Network:
    """Return networks as one, with other terms beside them if they are given."""
    return members[0] if len(members) == 1 and beside is None else Ensemble(members, beside)


def beside_of(network: Network) -> Beside | None:
    """Return what is beside the networks that were joined."""
    return network.beside if isinstance(network, Ensemble) else None


def members_of(network: Network) -> list[MultiplexModel]:
    """Return the networks that were joined."""
    if isinstance(network, MultiplexModel):
        return [network]
    return [member for member in network.members if isinstance(member, MultiplexModel)]
