"""Several networks as one: the logit of a pair is the mean of theirs."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from banditplex.nn.encoder import Encoder
from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.model import Logits, MultiplexModel
from banditplex.pairs.visibility import Visibility


class Ensemble(nn.Module):
    """The mean of networks of the same shape, which see the same of a pair."""

    def __init__(self, members: Sequence[MultiplexModel]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def visibility(self) -> Visibility:
        """What is hidden of a pair."""
        return members_of(self)[0].visibility

    @property
    def encoder(self) -> Encoder | None:
        """The first member's encoder, if members have any."""
        return members_of(self)[0].encoder

    def forward(
        self,
        graph: PackedGraph,
        features: Tensor | None,
        pairs: Tensor,
        target: Tensor,
        layers: Tensor,
        hidden: HiddenEdges,
    ) -> Logits:
        """Score pairs (P, 2) of target layers (P,) with layers (P, k); structure is looked at once for all members."""
        described = members_of(self)[0].describe(graph, pairs, target, layers)
        asked = graph, features, pairs, target, layers, hidden, described
        found = [member.score(*asked) for member in members_of(self)]
        own, other = (torch.stack([getattr(each, name) for each in found]).mean(0) for name in ("own", "other"))
        return Logits(own, other, None, None)


Network = MultiplexModel | Ensemble


def joined(members: Sequence[MultiplexModel]) -> Network:
    """Return networks as one."""
    return members[0] if len(members) == 1 else Ensemble(members)


def members_of(network: Network) -> list[MultiplexModel]:
    """Return the networks that were joined."""
    if isinstance(network, MultiplexModel):
        return [network]
    return [member for member in network.members if isinstance(member, MultiplexModel)]
