"""NCN over all layers: common neighbours of a pair in every layer, weighted by attention."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import GCN, NodeInput, Propagation, block_of, perceptron
from banditplex.baselines.ncn import common_sums
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.baselines.seen import visible_link
from banditplex.nn import HiddenEdges, PackedGraph

AT_ONCE = 1 << 18
"""Pairs times layers in a step, if several targets share it."""


class NCNAll(NeuralBaseline):
    """Neural common neighbour over all layers, in the manner of ML-Link (Zangari et al., WWW 2024).

    All layers are embedded by the same convolutions, from one vector per node. What layer l says of a pair is
    h_l = relu(W (z_u * z_v, sum over common neighbours w in l of z_w, whether l shows the pair) + e_l). The logit in
    layer t is MLP(h_t, sum over all l of a_l h_l), where the a_l are the softmax over layers of <q_t, h_l> + b_tl.

    Differs from ML-Link: attention is over the layers of one pair; theirs is averaged over the pairs that are scored
    together, so a score depends on the others. The pair's own edge is hidden where `hide` says so. Neighbours are
    those within a layer, not across layers.

    Parameters
    ----------
    width, depth, dropout
        Of the convolutions.
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    def __init__(
        self, *, width: int = 32, depth: int = 2, dropout: float = 0.1, epochs: int = 100, patience: int = 20,
        batch_size: int = 64, learning_rate: float = 0.003, device: str = "auto", hide: str | None = None,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.depth, self.dropout, self.epochs, self.patience = width, depth, dropout, epochs, patience
        self.batch_size, self.learning_rate, self.device, self.hide = batch_size, learning_rate, device, hide
        self.seed = seed

    def _step_targets(self) -> int:
        return max(1, AT_ONCE // (self.batch_size * self.mx_.num_layers))

    def _network(self, data: NetworkData) -> PairNetwork:
        return AllLayersNetwork(data, self.width, self.depth, self.dropout)


class AllLayersNetwork(PairNetwork):
    """The network of `NCNAll`."""

    sees = "all"

    def __init__(self, data: NetworkData, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        num_layers, self.visibility = data.mx.num_layers, data.visibility
        self.chunk = max(1, (1 << 16) // num_layers)
        self.input = NodeInput(data.full_graph("all"), data.features(), width, per_layer=False)
        self.encoder = GCN(width, depth, dropout)
        self.of_pair = nn.Linear(2 * width + 1, width)
        self.of_layer = nn.Parameter(torch.zeros(num_layers, width))
        self.query = nn.Parameter(torch.randn(num_layers, width) * width**-0.5)
        self.prior = nn.Parameter(torch.zeros(num_layers, num_layers))
        self.last = perceptron(2 * width, width, 1, dropout=dropout)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        every = torch.arange(graph.num_layers, device=pairs.device)
        layer = every.repeat(len(pairs))
        each, own = (part.repeat_interleave(len(every), 0) for part in (pairs, target))
        block, u, v = block_of(graph, each, layer, hidden)
        x = self.input(block)
        z = self.encoder(x, Propagation.of(block, x.dtype))
        shown = visible_link(graph, each, own, layer, self.visibility).to(x.dtype).unsqueeze(1)
        said = torch.cat([z[u] * z[v], common_sums(block, z, each, layer), shown], 1)
        said = F.relu(self.of_pair(said).view(len(pairs), len(every), -1) + self.of_layer)
        weight = torch.softmax((said @ self.query[target].unsqueeze(2)).squeeze(2) + self.prior[target], 1)
        mixed = (weight.unsqueeze(2) * said).sum(1)
        mine = said[torch.arange(len(pairs), device=pairs.device), target]
        return self.last(torch.cat([mine, mixed], 1)).squeeze(1)  # type: ignore[no-any-return]


BASELINES.add("ncn-all", NCNAll)
