"""Several networks as one: the logit of a pair is the mean of theirs; other terms may be put beside them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from banditplex.nn.beside import Beside
from banditplex.nn.encoder import Encoder
from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.known import Known
from banditplex.nn.model import Described, Logits, MultiplexModel
from banditplex.pairs.visibility import Visibility


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
        mean = Logits(own, other, None, None)
        return mean if self.beside is None else self.beside(mean, pairs, target, layers, described)


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
