"""R-GCN: convolutions with weights per layer, as a practitioner takes them from PyTorch Geometric."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import NodeInput
from banditplex.baselines.gcn_distmult import DistMult
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork
from banditplex.nn import HiddenEdges, PackedGraph


class RGCN(NeuralBaseline):
    """Relational graph convolutions and DistMult (Schlichtkrull et al., ESWC 2018); layers are the relations.

    h_i = relu(W_0 h_i + sum over layers l of the mean over the neighbours j of i in l of W_l h_j), with
    W_l = sum over b of a_lb V_b, `bases` of them; DistMult decodes. The convolution is PyG's RGCNConv.

    Differs from the original: a pair's own edge is hidden from the convolutions; as many negatives as edges; dropout
    of vectors, not of edges; edges of directed layers go both ways, as one relation.

    Parameters
    ----------
    width, depth, bases, dropout
        Of the convolutions.
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    targets_per_step = 1 << 20
    weight_decay = 0.01

    def __init__(
        self, *, width: int = 64, depth: int = 2, bases: int = 2, dropout: float = 0.4, epochs: int = 200,
        patience: int = 30, batch_size: int = 1024, learning_rate: float = 0.01, device: str = "auto",
        hide: str | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.depth, self.bases, self.dropout = width, depth, bases, dropout
        self.epochs, self.patience, self.batch_size = epochs, patience, batch_size
        self.learning_rate, self.device, self.hide, self.seed = learning_rate, device, hide, seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return RelationalNetwork(data, self.width, self.depth, self.bases, self.dropout)


class RelationalNetwork(PairNetwork):
    """The network of `RGCN`."""

    sees = "all"

    def __init__(self, data: NetworkData, width: int, depth: int, bases: int, dropout: float) -> None:
        super().__init__()
        from torch_geometric.nn import RGCNConv

        num_layers, self.dropout = data.mx.num_layers, dropout
        self.input = NodeInput(data.full_graph("all"), data.features(), width, per_layer=False)
        self.convs = nn.ModuleList([RGCNConv(width, width, num_layers, num_bases=bases) for _ in range(depth)])
        self.decoder = DistMult(num_layers, width)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        every = torch.arange(graph.num_layers, device=pairs.device)
        block = graph.block(every, torch.zeros_like(every), hidden)
        arcs, relation = block.node[block.edge_index], block.layer[block.edge_index[0]]
        x = self.input.of(torch.arange(graph.num_nodes, device=pairs.device), graph.num_nodes)
        for place, conv in enumerate(self.convs):
            x = F.relu(x) if place else x
            x = conv(F.dropout(x, self.dropout, self.training), arcs, relation)
        return self.decoder(x[pairs[:, 0]], x[pairs[:, 1]], target)  # type: ignore[no-any-return]


BASELINES.add("rgcn", RGCN)
