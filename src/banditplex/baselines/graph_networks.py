"""Networks of all layers: GCN + DistMult on their union, common neighbours in each, mean or attention of our terms.

Their parts, what nodes start from and graph convolution with normalised sums over neighbours, come first.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.backend import find_common
from banditplex.bandits.arms import to_layer
from banditplex.baselines.base import BASELINES, choice, parameters
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork, visible_link
from banditplex.nn import Block, HiddenEdges, PackedGraph
from banditplex.nn.embedding import embed
from banditplex.nn.mean import Mean
from banditplex.nn.query import Query
from banditplex.nn.view import View
from banditplex.rng import stream
from banditplex.training.config import Config
from banditplex.training.setup import build_network, normalise


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
        if isinstance(self.features, Tensor):
            return self.linear(self.features[block.node])
        if not self.per_layer:
            return self.vectors(block.node)
        row = torch.searchsorted(self.row_key, block.key)
        return self.vectors(torch.where(self.row_key[row] == block.key, row, len(self.row_key) - 1))


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


AT_ONCE = 1 << 18  # pairs times layers in a step of NCN over all layers, if several targets share it


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


def common_sums(block: Block, x: Tensor, pairs: Tensor, layer: Tensor) -> Tensor:
    """Return the sums (P, width) of x (V, width) over the common neighbours of pairs (P, 2) in layers (P,).

    Neighbours are those in the graph of the block, hidden or not: no common neighbour needs the pair's own edge.
    """
    lists = block.graph.both
    which, arc, _ = find_common(lists, *lists.rows_of(pairs, layer))
    vertex = block.vertex(layer[which], lists.neighbour[arc], lists.arc_row[arc])
    return x.new_zeros(len(pairs), x.shape[1]).index_add(0, which, x[vertex])


class AllLayersNetwork(PairNetwork):
    """The network of `NCNAll`."""

    sees = "all"

    def __init__(self, data: NetworkData, method: "NCNAll") -> None:
        super().__init__(data, method)
        num_layers, width = data.mx.num_layers, method.width
        self.chunk = max(1, (1 << 16) // num_layers)
        self.encoder = Encoder(data, "all", width, method.depth, method.dropout)
        self.of_pair = nn.Linear(2 * width + 1, width)
        self.of_layer = nn.Parameter(torch.zeros(num_layers, width))
        self.query = nn.Parameter(torch.randn(num_layers, width) * width**-0.5)
        self.prior = nn.Parameter(torch.zeros(num_layers, num_layers))
        self.last = perceptron(2 * width, width, 1, dropout=method.dropout)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        every = torch.arange(graph.num_layers, device=pairs.device)
        layer = every.repeat(len(pairs))
        each, own = (part.repeat_interleave(len(every), 0) for part in (pairs, target))
        block, z, u, v = self.encoder(graph, each, layer, hidden)
        shown = visible_link(graph, each, own, layer, self.visibility).to(z.dtype).unsqueeze(1)
        said = torch.cat([z[u] * z[v], common_sums(block, z, each, layer), shown], 1)
        said = F.relu(self.of_pair(said).view(len(pairs), len(every), -1) + self.of_layer)
        weight = torch.softmax((said @ self.query[target].unsqueeze(2)).squeeze(2) + self.prior[target], 1)
        mixed = (weight.unsqueeze(2) * said).sum(1)
        mine = said[torch.arange(len(pairs), device=pairs.device), target]
        return self.last(torch.cat([mine, mixed], 1)).squeeze(1)


@parameters
class NCNAll(NeuralBaseline):
    """Neural common neighbour over all layers, in the manner of ML-Link (Zangari et al., WWW 2024).

    All layers are embedded by the same convolutions, from one vector per node. What layer l says of a pair is
    h_l = relu(W (z_u * z_v, sum over common neighbours w in l of z_w, whether l shows the pair) + e_l). The logit in
    layer t is MLP(h_t, sum over all l of a_l h_l), where the a_l are the softmax over layers of <q_t, h_l> + b_tl.

    Differs from ML-Link: attention is over the layers of one pair; theirs is averaged over the pairs that are scored
    together, so a score depends on the others. The pair's own edge is hidden where `hide` says so. Neighbours are
    those within a layer, not across layers.
    """

    network = AllLayersNetwork

    width: int = 32
    depth: int = 2
    dropout: float = 0.1
    learning_rate: float = 0.003

    def _step_targets(self) -> int:
        return max(1, AT_ONCE // (self.batch_size * self.mx_.num_layers))


BASELINES.add("gcn-distmult", GCNDistMult)
BASELINES.add("ncn-all", NCNAll)


KINDS = ("mean", "attention")


class AggregationNetwork(PairNetwork):
    """The network of `Aggregation`."""

    sees = "all"
    features: Tensor | None

    def __init__(self, data: NetworkData, method: "Aggregation") -> None:
        super().__init__(data, method)
        num_layers, width = data.mx.num_layers, method.width
        self.exact, self.chunk = not width, max(1, (1 << 17) // num_layers)
        network = build_network(data.mx, np.arange(num_layers), Config(width=width), data.visibility)
        self.model = network.to(data.device)
        normalise(self.model, data.data, stream(data.seed, "normalise"))
        self.prior = nn.Parameter(torch.zeros(num_layers, num_layers)) if method.kind == "attention" else None
        self.of_features = nn.Parameter(torch.zeros(len(self.model.other.mean)))
        self.register_buffer("features", data.features() if width else None, persistent=False)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        model, others = self.model, graph.num_layers - 1
        layers = to_layer(target.unsqueeze(1), torch.arange(others, device=pairs.device).expand(len(pairs), -1))
        view = View(graph, model.visibility, features=self.features)
        query = Query(pairs, target, layers, hidden=hidden)
        own, other, _ = model.describe(view, query)
        embedded = None if model.encoder is None else embed(model.encoder, view, query, (own, other))
        logit, terms = model.terms((own, other, None), target, others, embedded)
        if not others:
            return logit
        terms = terms.view(len(pairs), others)
        if self.prior is None:
            return logit + terms.mean(1)
        values = (other.values - model.other.mean) / model.other.scale
        scores = (values @ self.of_features).view(len(pairs), others) + self.prior[target].gather(1, layers)
        return logit + (torch.softmax(scores, 1) * terms).sum(1)


@parameters
class Aggregation(NeuralBaseline):
    """The terms of `LinkPredictor` for the target layer and all other layers, without a policy.

    logit = own + sum over other layers l of a_l other_l, where own and other_l are the two heads of `MultiplexModel`,
    which see structural features of the pair in the layer and, if `width` > 0, embeddings of its nodes. "mean": a_l is
    1 / (num_layers - 1). "attention": a_l is the softmax over layers of b_tl + <w, features of the pair in l>. This is
    what the paper compares sampling with: every layer is looked at in every step. Directions of edges count.
    """

    network = AggregationNetwork
    weight_decay = 0.1
    ordered = True

    kind: str = choice(*KINDS, kw_only=False)
    width: int = 0  # of node embeddings; 0: structural features only


for _kind in KINDS:
    BASELINES.add(_kind, partial(Aggregation, kind=_kind))
