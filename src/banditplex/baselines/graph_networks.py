"""Graph convolutions of one embedding per node: GCN + DistMult, R-GCN and VGAE."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES, add_one_graph, parameters
from banditplex.baselines.convolution import DistMult, Encoder, NodeInput, Propagation, block_of
from banditplex.baselines.neural import NetworkData, NeuralBaseline, OneGraphBaseline, PairNetwork
from banditplex.nn import HiddenEdges, PackedGraph


class UnionNetwork(PairNetwork):
    """The network of `GCNDistMult`."""

    sees = "union"

    def __init__(self, data: NetworkData, method: "GCNDistMult") -> None:
        super().__init__(data, method)
        self.encoder = Encoder(data, "union", method.width, method.depth, method.dropout)
        self.decoder = DistMult(data.mx.num_layers, method.width)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        _, z, u, v = self.encoder(graph, pairs, self.layer(graph, target), hidden)
        return self.decoder(z[u], z[v], target)


@parameters
class GCNDistMult(NeuralBaseline):
    """Graph convolutions on the union of all layers and DistMult (as in Lv et al., KDD 2021: HGB).

    With embeddings z from convolutions over the union, the logit of a pair in layer t is
    sum over i of z_ui r_ti z_vi + c_t. HGB found this simple model ahead of networks made for many edge types.

    Differs from HGB: node vectors are learnt, one per node, where there are no node features; a pair's own edge is
    hidden from the convolutions unless another layer shows it; a constant per layer.
    """

    network = UnionNetwork
    targets_per_step = 1 << 20
    weight_decay = 1e-4

    width: int = 64
    depth: int = 2
    dropout: float = 0.5
    epochs: int = 300
    patience: int = 40
    batch_size: int = 1024


class RelationalNetwork(PairNetwork):
    """The network of `RGCN`."""

    sees = "all"

    def __init__(self, data: NetworkData, method: "RGCN") -> None:
        super().__init__(data, method)
        from torch_geometric.nn import RGCNConv

        num_layers, width, self.dropout = data.mx.num_layers, method.width, method.dropout
        self.input = NodeInput(data, "all", width)
        convs = [RGCNConv(width, width, num_layers, num_bases=method.bases) for _ in range(method.depth)]
        self.convs = nn.ModuleList(convs)
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
        return self.decoder(x[pairs[:, 0]], x[pairs[:, 1]], target)


@parameters
class RGCN(NeuralBaseline):
    """Relational graph convolutions and DistMult (Schlichtkrull et al., ESWC 2018); layers are the relations.

    h_i = relu(W_0 h_i + sum over layers l of the mean over the neighbours j of i in l of W_l h_j), with
    W_l = sum over b of a_lb V_b, `bases` of them; DistMult decodes. The convolution is PyG's RGCNConv.

    Differs from the original: a pair's own edge is hidden from the convolutions; as many negatives as edges; dropout
    of vectors, not of edges; edges of directed layers go both ways, as one relation.
    """

    network = RelationalNetwork
    targets_per_step = 1 << 20
    weight_decay = 0.01

    width: int = 64
    depth: int = 2
    bases: int = 2
    dropout: float = 0.4
    epochs: int = 200
    patience: int = 30
    batch_size: int = 1024


class VariationalNetwork(PairNetwork):
    """The network of `VGAE`."""

    def __init__(self, data: NetworkData, method: "VGAE") -> None:
        super().__init__(data, method)
        width, latent = method.width, method.latent
        self.input = NodeInput(data, self.sees, width)
        self.mean, self.log_std = nn.Linear(width, latent, bias=False), nn.Linear(width, latent, bias=False)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs; in training, of embeddings drawn at random."""
        block, u, v = block_of(graph, pairs, self.layer(graph, target), hidden)
        x = self.input(block)
        propagate = Propagation.of(block, x.dtype)
        x = F.relu(propagate(x))
        z = propagate(self.mean(x))
        if self.training:
            log_std = propagate(self.log_std(x)).clamp(max=10)
            self._divergence = divergence(z, log_std) / len(z)
            z = z + torch.randn_like(z) * torch.exp(log_std)
        return (z[u] * z[v]).sum(1)

    def loss(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss of the pairs plus the divergence from the prior."""
        return super().loss(logits, label) + self._divergence


@parameters
class VGAE(OneGraphBaseline):
    """Variational graph auto-encoder (Kipf and Welling, NIPS workshop on Bayesian deep learning, 2016).

    P is the normalised adjacency matrix with self loops. H = relu(P X W), z ~ N(P H W_mean, exp(P H W_log_std)^2), and
    the logit of a pair is <z_u, z_v>. The loss is that of the pairs plus KL(q(z) || N(0, I)) / num_nodes, per node.
    Scores use the means.

    Differs from the original: pairs come in mini-batches of edges and as many negatives, not as a whole matrix with
    weights; a pair's own edge is hidden from the encoder (the original reconstructs the edges that it sees); early
    stopping.
    """

    network = VariationalNetwork

    width: int = 32
    latent: int = 16
    epochs: int = 200
    patience: int = 50
    batch_size: int = 512


def divergence(mean: Tensor, log_std: Tensor) -> Tensor:
    """Return the mean over rows of KL(N(mean, exp(log_std)^2) || N(0, I)).

    >>> divergence(torch.tensor([[1.0, 2.0]]), torch.zeros(1, 2))
    tensor(2.5000)
    """
    return 0.5 * (mean**2 + torch.exp(2 * log_std) - 1 - 2 * log_std).sum(1).mean()


BASELINES.add("gcn-distmult", GCNDistMult)
BASELINES.add("rgcn", RGCN)
add_one_graph("vgae", VGAE)
