"""The encoder of layers: convolutions whose weights all layers share, and a small adaptation to each layer."""

import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.errors import InputError
from banditplex.nn.graph import Block
from banditplex.nn.mean import Mean

CONVOLUTIONS = ("sage", "gcn")


class Encoder(nn.Module):
    """Node embeddings of some layers at once, in one space.

    x = input(features or base embedding) + degree(log(1 + degree)); `depth` times x = silu(conv(x)) + x; then
    layer normalisation and, per layer, x * (1 + scale) + shift. Embeddings of different layers are comparable
    because only scale and shift belong to a layer; both start at 0.

    Parameters: `num_features` 0 means that nodes have no features, and a base embedding per node stands in: learnt
    if there are at most `learnt_nodes` nodes, else random (`Sketch`); `conv` "sage" (mean of messages), "gcn", or any
    PyG convolution class built as conv(in, out). Edge weights are message weights, for convolutions that take
    `edge_weight` (both built-in ones do).
    """

    def __init__(
        self,
        *,
        num_nodes: int,
        num_layers: int,
        num_features: int,
        width: int,
        depth: int,
        conv: str | type[nn.Module],
        learnt_nodes: int,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        base = nn.Embedding if num_nodes <= learnt_nodes else Sketch
        self.input: nn.Module = nn.Linear(num_features, width) if num_features else base(num_nodes, width)
        if isinstance(self.input, nn.Embedding | Sketch):
            nn.init.normal_(self.input.weight, std=width**-0.5)
        self.degree = nn.Linear(1, width)
        self.convs = nn.ModuleList([make_convolution(conv, width) for _ in range(depth)])
        self.adapt = nn.Parameter(torch.zeros(num_layers, 2, width))
        self.averages = conv == "sage"  # a sample of the neighbours will do; others may add up, or divide by degrees
        self.reach = depth + (not self.averages)  # steps that the result depends on, degrees of neighbours included
        self.takes_mean, self.takes_weights = (takes(self.convs[0], name) for name in ("mean", "edge_weight"))

    def forward(self, block: Block, features: Tensor | None) -> Tensor:
        """Return the embedding of each vertex of a block, (V, width); `features` (num_nodes, F) if nodes have any."""
        x = self._input(block.node, features) + self.degree(torch.log1p(block.degree).unsqueeze(1))
        arcs, options = self._arcs(block)
        for conv in self.convs:
            x = x + F.silu(conv(x, arcs, **options))
        scale, shift = self.adapt.index_select(0, block.layer).unbind(1)
        return torch.addcmul(shift, F.layer_norm(x, x.shape[1:]), 1 + scale)

    def _input(self, node: Tensor, features: Tensor | None) -> Tensor:
        """Return what the vertices begin with, (V, width)."""
        if isinstance(self.input, nn.Embedding | Sketch):
            return self.input.weight.index_select(0, node)
        assert features is not None
        return self.input(features.index_select(0, node))  # type: ignore[no-any-return]

    def _arcs(self, block: Block) -> tuple[Any, dict[str, Tensor]]:
        """Return what the convolutions are given besides embeddings."""
        if self.takes_mean:
            return Mean.of(block), {}
        return block.edge_index, {
            "edge_weight": block.weight
        } if self.takes_weights and block.weight is not None else {}


class Sketch(nn.Module):
    """A random vector per node that stays as it is.

    The mean over a node's neighbours is then a random projection of its neighbour list: products of such means
    estimate how much two lists share, and there is nothing by which single edges could be learnt by heart (Achlioptas,
    Journal of Computer and System Sciences, 2003).
    """

    weight: Tensor

    def __init__(self, num_nodes: int, width: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.empty(num_nodes, width))


def make_convolution(conv: str | type[nn.Module], width: int) -> nn.Module:
    """Return a convolution from `width` to `width` channels, by name or class."""
    if conv == "gcn":
        from torch_geometric.nn import GCNConv

        return GCNConv(width, width)  # type: ignore[no-any-return]
    if conv == "sage":
        from banditplex.nn.mean_conv import MeanConv

        return MeanConv(width, width)
    if not isinstance(conv, type) or not issubclass(conv, nn.Module):
        known = ", ".join(CONVOLUTIONS)
        raise InputError(f"Expected conv to be one of {known}, or a PyG convolution class, got {conv!r}.")
    return conv(width, width)


def takes(conv: nn.Module, name: str) -> bool:
    """Say whether a convolution's `forward` has a parameter of that name."""
    return name in inspect.signature(conv.forward).parameters
