"""Several networks as one: the logit of a pair is the mean of theirs; a regression may be put beside them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from banditplex.nn.encoder import Encoder
from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.known import Known
from banditplex.nn.model import Described, Logits, MultiplexModel
from banditplex.nn.regression import Columns, Regression
from banditplex.pairs.visibility import Visibility


class Ensemble(nn.Module):
    """The mean of networks of the same shape, which see the same of a pair, and linear terms beside it."""

    def __init__(self, members: Sequence[MultiplexModel], regression: Regression | None = None) -> None:
        super().__init__()
        self.members, self.regression = nn.ModuleList(members), regression

    @property
    def visibility(self) -> Visibility:
        """What is hidden of a pair."""
        return members_of(self)[0].visibility

    @property
    def encoder(self) -> Encoder | None:
        """The first member's encoder, if members have any."""
        return members_of(self)[0].encoder

    def describe(
        self, graph: PackedGraph, pairs: Tensor, target: Tensor, layers: Tensor, known: Known | None = None
    ) -> Described:
        """Return what all members see of pairs, looked at once; see `MultiplexModel.describe`."""
        return members_of(self)[0].describe(graph, pairs, target, layers, known)

    def score(
        self,
        graph: PackedGraph,
        features: Tensor | None,
        pairs: Tensor,
        target: Tensor,
        layers: Tensor,
        hidden: HiddenEdges,
        described: Described,
    ) -> Logits:
        """Score pairs (P, 2) of target layers (P,) with layers (P, k), given what `describe` returns of them."""
        asked = graph, features, pairs, target, layers, hidden, described
        found = [member.score(*asked) for member in members_of(self)]
        own, other = (torch.stack([getattr(each, name) for each in found]).mean(0) for name in ("own", "other"))
        if self.regression is not None:
            seen = Columns(described[0].values, described[1].values.view(*layers.shape, described[1].values.shape[1]))
            factor, linear = self.regression.factor[target], self.regression(seen, target, layers)
            own, other = factor * own + linear[0], factor.unsqueeze(1) * other + linear[1]
        return Logits(own, other, None, None)


Network = MultiplexModel | Ensemble


def joined(members: Sequence[MultiplexModel], regression: Regression | None = None) -> Network:
    """Return networks as one, with a regression beside them if it is given."""
    return members[0] if len(members) == 1 and regression is None else Ensemble(members, regression)


def network_factor(network: Network, target: int) -> float:
    """Return what the terms of the members are multiplied by in a target layer: 1 without a regression beside them."""
    regression = None if isinstance(network, MultiplexModel) else network.regression
    return 1.0 if regression is None else float(regression.factor[target])


def members_of(network: Network) -> list[MultiplexModel]:
    """Return the networks that were joined."""
    if isinstance(network, MultiplexModel):
        return [network]
    return [member for member in network.members if isinstance(member, MultiplexModel)]
