"""The parts of a logit: the term of one layer, and the term of the layers that have the pair."""

import torch
from torch import Tensor, nn

from banditplex.backend import HeadWeights, Rows
from banditplex.nn.pair_features import PairFeatures

WIDE = 32  # hidden units from which on the heads have two hidden layers


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

    def rows(self, features: PairFeatures, target: Tensor, slots: int) -> Rows:
        """Return what the term is computed from, with `slots` layers of each pair."""
        return Rows(features.values, self.mean, self.scale, features.layer, target, slots)

    def weights(self) -> HeadWeights:
        """Return the weights, as backends read them."""
        net, none = self.net, self.mean[:0]
        nothing, linear = (none.view(0, 1), none), (self.linear.weight, self.linear.bias)
        first, last = ((each.weight, each.bias) for each in (net.first, net.last))
        second = nothing if net.second is None else (net.second.weight, net.second.bias)
        if self.of_target is None:
            return HeadWeights(*linear, *first, *second, *last, self.of_layer.unsqueeze(1), none.view(0, 1))
        return HeadWeights(*linear, *first, *second, *last, self.of_layer, self.of_target)

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


class Listed(nn.Module):
    """The term of the n layers that have the pair: the sum of their weights, divided by sqrt(n + 1).

    The weight of a layer is the low-rank product a[target] b[layer]. In directed layers an edge the other way has a
    weight of its own. All weights start at 0.
    """

    def __init__(self, num_layers: int, directed: bool, rank: int = 8) -> None:
        super().__init__()
        self.of_layer = nn.Parameter(torch.zeros(num_layers * (1 + directed), rank))
        self.of_target = nn.Parameter(0.3 + 0.3 * torch.randn(num_layers, rank))

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
        self.destination = nn.Linear(width, width) if directed else None
        self.message = nn.Linear(width, width)
        self.net = nn.Sequential(nn.Linear(2 * width, hidden_units), nn.SiLU(), _zero(nn.Linear(hidden_units, 1)))

    def forward(self, features: PairFeatures, ends: Tensor, between: Tensor) -> Tensor:
        """Return one number per (pair, layer), (n,), given embeddings as `Head` is."""
        if self.destination is None:
            at_u, at_v = self.source(ends).chunk(2)
        else:
            at_u, at_v = self.source(ends[: len(ends) // 2]), self.destination(ends[len(ends) // 2 :])
        messages = self.message(between) * torch.rsqrt(features.degree).unsqueeze(1)
        common = torch.zeros_like(at_u).index_add(0, features.which, messages)
        return self.net(torch.cat([at_u * at_v, common], 1)).squeeze(1)


def _zero(linear: nn.Linear) -> nn.Linear:
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
