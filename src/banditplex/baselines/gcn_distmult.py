"""GCN + DistMult: convolutions over the union of all layers, a bilinear decoder per layer."""

import torch
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import GCN, NodeInput, Propagation, block_of
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.nn import HiddenEdges, PackedGraph


class GCNDistMult(NeuralBaseline):
    """Graph convolutions on the union of all layers and DistMult (as in Lv et al., KDD 2021: HGB).

    With embeddings z from convolutions over the union, the logit of a pair in layer t is
    sum over i of z_ui r_ti z_vi + c_t. HGB found this simple model ahead of networks made for many edge types.

    Differs from HGB: node vectors are learnt, one per node, where there are no node features; a pair's own edge is
    hidden from the convolutions unless another layer shows it; a constant per layer.

    Parameters
    ----------
    width, depth, dropout
        Of the convolutions.
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    targets_per_step = 1 << 20
    weight_decay = 1e-4

    def __init__(
        self, *, width: int = 64, depth: int = 2, dropout: float = 0.5, epochs: int = 300, patience: int = 40,
        batch_size: int = 1024, learning_rate: float = 0.01, device: str = "auto", hide: str | None = None,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.depth, self.dropout, self.epochs, self.patience = width, depth, dropout, epochs, patience
        self.batch_size, self.learning_rate, self.device, self.hide = batch_size, learning_rate, device, hide
        self.seed = seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return UnionNetwork(data, self.width, self.depth, self.dropout)


class DistMult(nn.Module):
    """The bilinear decoder: sum over i of z_ui r_ti z_vi + c_t for target layer t."""

    def __init__(self, num_layers: int, width: int) -> None:
        super().__init__()
        self.relation = nn.Parameter(1 + 0.1 * torch.randn(num_layers, width))
        self.constant = nn.Parameter(torch.zeros(num_layers))

    def forward(self, u: Tensor, v: Tensor, target: Tensor) -> Tensor:
        """Return the logits (P,) of pairs with embeddings u and v, (P, width) each."""
        return (u * self.relation[target] * v).sum(1) + self.constant[target]


class UnionNetwork(PairNetwork):
    """The network of `GCNDistMult`."""

    sees = "union"

    def __init__(self, data: NetworkData, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.input = NodeInput(data.full_graph("union"), data.features(), width, per_layer=False)
        self.encoder = GCN(width, depth, dropout)
        self.decoder = DistMult(data.mx.num_layers, width)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        block, u, v = block_of(graph, pairs, self.layer(graph, target), hidden)
        x = self.input(block)
        z = self.encoder(x, Propagation.of(block, x.dtype))
        return self.decoder(z[u], z[v], target)  # type: ignore[no-any-return]


BASELINES.add("gcn-distmult", GCNDistMult)
