"""The encoder of layers: convolutions whose weights all layers share, and a small adaptation to each layer."""

import inspect

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.errors import InputError
from banditplex.nn.graph import Block

CONVOLUTIONS = ("sage", "gcn")


class Encoder(nn.Module):
    """Node embeddings of some layers at once, in one space.

    x = input(features or base embedding) + degree(log(1 + degree)); `depth` times x = silu(conv(x)) + x; then
    layer normalisation and, per layer, x * (1 + scale) + shift. Embeddings of different layers are comparable
    because only scale and shift belong to a layer; both start at 0.

    Parameters: `num_features` 0 means that nodes have no features, and a base embedding per node is learnt;
    `conv` "sage" (mean of messages), "gcn", or any PyG convolution class built as conv(in, out). Edge weights are
    message weights, for convolutions that take `edge_weight` (both built-in ones do).
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
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.input: nn.Module = nn.Linear(num_features, width) if num_features else nn.Embedding(num_nodes, width)
        if isinstance(self.input, nn.Embedding):
            nn.init.normal_(self.input.weight, std=width**-0.5)
        self.degree = nn.Linear(1, width)
        self.convs = nn.ModuleList([make_convolution(conv, width) for _ in range(depth)])
        self.adapt = nn.Parameter(torch.zeros(num_layers, 2, width))
        self.averages = conv == "sage"  # a sample of the neighbours will do; others may add up, or divide by degrees
        self.reach = depth + (not self.averages)  # steps that the result depends on, degrees of neighbours included
        self.weighted = [takes_weights(module) for module in self.convs]

    def forward(self, block: Block, features: Tensor | None) -> Tensor:
        """Return the embedding of each vertex of a block, (V, width); `features` (num_nodes, F) if nodes have any."""
        arcs = block.edge_index
        x = self.input(block.node if features is None else features[block.node])
        x = x + self.degree(torch.log1p(block.degree).unsqueeze(1))
        for conv, weighted in zip(self.convs, self.weighted, strict=True):
            message = {"edge_weight": block.weight} if weighted and block.weight is not None else {}
            x = x + F.silu(conv(x, arcs, **message))
        scale, shift = self.adapt[block.layer].unbind(1)
        return F.layer_norm(x, x.shape[1:]) * (1 + scale) + shift


def make_convolution(conv: str | type[nn.Module], width: int) -> nn.Module:
    """Return a convolution from `width` to `width` channels, by name or class."""
    from torch_geometric.nn import GCNConv, GraphConv

    if conv == "gcn":
        return GCNConv(width, width)  # type: ignore[no-any-return]
    if conv == "sage":
        return GraphConv(width, width, aggr="mean")  # type: ignore[no-any-return]
    if not isinstance(conv, type) or not issubclass(conv, nn.Module):
        known = ", ".join(CONVOLUTIONS)
        raise InputError(f"Expected conv to be one of {known}, or a PyG convolution class, got {conv!r}.")
    return conv(width, width)


def takes_weights(conv: nn.Module) -> bool:
    """Say whether a convolution's `forward` takes `edge_weight`."""
    return "edge_weight" in inspect.signature(conv.forward).parameters
