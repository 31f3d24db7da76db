"""Parts of networks: what nodes start from, and graph convolution with normalised sums over neighbours."""

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.neural import NetworkData
from banditplex.nn import Block, HiddenEdges, PackedGraph
from banditplex.nn.mean import Mean


class NodeInput(nn.Module):
    """The input vector of each vertex of a block: a linear map of node features, or else a vector that is learnt.

    Learnt vectors belong to nodes or, if targets are seen, to each active node of each layer; nodes without an edge in
    a layer share one vector. This is the first weight matrix of a convolution whose features are the identity matrix.
    """

    row_key: Tensor

    def __init__(self, data: NetworkData, sees: str, width: int) -> None:
        super().__init__()
        graph, features, self.per_layer = data.graph(sees, full=True), data.features(), sees == "target"
        self.register_buffer("row_key", graph.both.row_key, persistent=False)
        self.register_buffer("features", features, persistent=False)
        if features is None:
            self.vectors = nn.Embedding(len(self.row_key) if self.per_layer else graph.num_nodes, width)
            nn.init.normal_(self.vectors.weight, std=width**-0.5)
        else:
            self.linear = nn.Linear(features.shape[1], width)

    def forward(self, block: Block) -> Tensor:
        """Return the input vectors (V, width) of the vertices of a block."""
        return self.of(block.key, block.graph.num_nodes)

    def of(self, key: Tensor, num_nodes: int) -> Tensor:
        """Return the input vectors (V, width) of keys layer * num_nodes + node (V,)."""
        if isinstance(self.features, Tensor):
            return self.linear(self.features[key % num_nodes])
        if not self.per_layer:
            return self.vectors(key % num_nodes)
        row = torch.searchsorted(self.row_key, key)
        return self.vectors(torch.where(self.row_key[row] == key, row, len(self.row_key) - 1))


@dataclass(frozen=True, eq=False)
class Propagation:
    """Multiplies vectors of the vertices of a block by D^-1/2 (A + I) D^-1/2, where D has the degrees of A + I."""

    mean: Mean
    degree: Tensor  # (V, 1)
    root: Tensor  # (V, 1), 1 / sqrt(degree + 1)

    @classmethod
    def of(cls, block: Block, dtype: torch.dtype) -> "Propagation":
        """Prepare the propagation over a block."""
        degree = block.degree.to(dtype).unsqueeze(1)
        mean = Mean.of(block)
        plain = replace(mean, weight=None, share=mean.share.to(dtype), symmetric=True)
        return cls(plain, degree, (degree + 1).rsqrt())

    def __call__(self, x: Tensor) -> Tensor:
        """Return the propagated vectors, (V, width)."""
        scaled = x * self.root
        return (self.mean(scaled) * self.degree + scaled) * self.root


class GCN(nn.Module):
    """Graph convolutions (Kipf and Welling, ICLR 2017) x = relu(P x W), the last one linear; the input is X W."""

    def __init__(self, width: int, depth: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(width, width) for _ in range(depth - 1)])
        self.dropout = dropout

    def forward(self, x: Tensor, propagate: Propagation) -> Tensor:
        """Return the embeddings (V, width) of vertices with input vectors x (V, width)."""
        x = propagate(F.dropout(x, self.dropout, self.training))
        for linear in self.linears:
            x = propagate(linear(F.dropout(F.relu(x), self.dropout, self.training)))
        return x


def block_of(graph: PackedGraph, pairs: Tensor, layer: Tensor, hidden: HiddenEdges) -> tuple[Block, Tensor, Tensor]:
    """Return the layers (P,) as a block without hidden edges, and the vertices of both nodes of pairs (P, 2)."""
    layers, nodes = layer.repeat(2), pairs.T.reshape(-1)
    rows = graph.both.rows(layers, nodes)
    block = graph.block(layers, nodes, hidden, rows)
    u, v = block.vertex(layers, nodes, rows).chunk(2)
    return block, u, v


class Encoder(nn.Module):
    """Embeds the nodes of pairs by graph convolutions over a layer, or over the union, without hidden edges."""

    def __init__(self, data: NetworkData, sees: str, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.input = NodeInput(data, sees, width)
        self.convolutions = GCN(width, depth, dropout)

    def forward(
        self, graph: PackedGraph, pairs: Tensor, layer: Tensor, hidden: HiddenEdges
    ) -> tuple[Block, Tensor, Tensor, Tensor]:
        """Return the block of layers (P,), its embeddings (V, width), and the vertices of both nodes of pairs."""
        block, u, v = block_of(graph, pairs, layer, hidden)
        x = self.input(block)
        return block, self.convolutions(x, Propagation.of(block, x.dtype)), u, v


def perceptron(*widths: int, dropout: float = 0.0) -> nn.Sequential:
    """Return linear maps between widths, with ReLU (and dropout) between them."""
    parts: list[nn.Module] = []
    for one, two in pairwise(widths):
        parts += [nn.Linear(one, two), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*parts[:-2])


class DistMult(nn.Module):
    """The bilinear decoder: sum over i of z_ui r_ti z_vi + c_t for target layer t."""

    def __init__(self, num_layers: int, width: int) -> None:
        super().__init__()
        self.relation = nn.Parameter(1 + 0.1 * torch.randn(num_layers, width))
        self.constant = nn.Parameter(torch.zeros(num_layers))

    def forward(self, u: Tensor, v: Tensor, target: Tensor) -> Tensor:
        """Return the logits (P,) of pairs with embeddings u and v, (P, width) each."""
        return (u * self.relation[target] * v).sum(1) + self.constant[target]
