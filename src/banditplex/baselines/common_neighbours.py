"""Networks of the neighbours that two nodes share: NCN, NCN over all layers, and Neo-GNN."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.backend import Neighbours, find_common, ranges
from banditplex.baselines.base import BASELINES, add_one_graph, parameters
from banditplex.baselines.convolution import Encoder, PairHead, perceptron
from banditplex.baselines.neural import NetworkData, NeuralBaseline, OneGraphBaseline, PairNetwork, visible_link
from banditplex.nn import Block, HiddenEdges, PackedGraph

AT_ONCE = 1 << 18
"""Pairs times layers in a step of NCN over all layers, if several targets share it."""


class CommonNeighbourNetwork(PairNetwork):
    """The network of `NCN`."""

    def __init__(self, data: NetworkData, method: "NCN") -> None:
        super().__init__(data, method)
        self.encoder = Encoder(data, self.sees, method.width, method.depth, method.dropout)
        self.head = PairHead(method.width, method.width, method.dropout)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        block, z, u, v = self.encoder(graph, pairs, layer, hidden)
        return self.head(z[u], z[v], common_sums(block, z, pairs, layer))


@parameters
class NCN(OneGraphBaseline):
    """Neural common neighbour (Wang, Yang and Zhang, ICLR 2024).

    With embeddings z from graph convolutions, the logit of a pair is
    MLP(z_u * z_v, sum over common neighbours w of z_w).

    Differs from the original: width 64, not 256, and weight decay, as layers are small; <w, z_u * z_v> is added to the
    logit (see `PairHead`); vectors of nodes are learnt where there are no node features; early stopping. As in the
    original, edges of a batch are hidden from the convolutions.
    """

    network = CommonNeighbourNetwork
    weight_decay = 1.0

    width: int = 64
    depth: int = 2
    dropout: float = 0.5
    patience: int = 50
    batch_size: int = 256


def common_sums(block: Block, x: Tensor, pairs: Tensor, layer: Tensor) -> Tensor:
    """Return the sums (P, width) of x (V, width) over the common neighbours of pairs (P, 2) in layers (P,).

    Neighbours are those in the graph of the block, hidden or not: no common neighbour needs the pair's own edge.
    """
    lists = block.graph.both
    which, arc, _ = find_common(lists, *lists.rows(layer.repeat(2), pairs.T.reshape(-1)).chunk(2))
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


class OverlapNetwork(PairNetwork):
    """The network of `NeoGNN`."""

    chunk = 1024

    def __init__(self, data: NetworkData, method: "NeoGNN") -> None:
        super().__init__(data, method)
        self.hops, self.beta = method.hops, method.beta
        self.encoder = Encoder(data, self.sees, method.width, method.depth, method.dropout)
        self.of_features = PairHead(method.width, 0, method.dropout)
        self.of_edge, self.of_node, self.of_overlap = (perceptron(1, size, 1) for size in (8, 128, 128))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        _, z, u, v = self.encoder(graph, pairs, layer, hidden)
        features = self.of_features(z[u], z[v])
        linked = visible_link(graph, pairs, target, layer, self.visibility)
        which, degree, product = overlaps(graph.both, pairs, layer, linked, self.hops, self.beta)
        per_edge = self.of_edge(z.new_ones(1, 1))
        weight = self.of_node(torch.log1p(degree.to(z.dtype).unsqueeze(1) * F.softplus(per_edge))).squeeze(1)
        total = z.new_zeros(len(pairs)).index_add(0, which, product.to(z.dtype) * weight**2)
        structure = self.of_overlap(torch.log1p(total).unsqueeze(1)).squeeze(1)
        self._parts = structure, features
        share = torch.sigmoid(self.alpha)
        both = share * torch.sigmoid(structure) + (1 - share) * torch.sigmoid(features)
        return torch.logit(both, eps=1e-7)

    def loss(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the sum of the losses of both scores and of their mixture."""
        each = [super(OverlapNetwork, self).loss(part, label) for part in (logits, *self._parts)]
        return torch.stack(each).sum()


@parameters
class NeoGNN(OneGraphBaseline):
    """Neighbourhood-overlap-aware graph network (Yun et al., NeurIPS 2021).

    The structural weight of a node is s_k = f_node(sum over its edges of f_edge(1)). With M = sum over l = 1, ..., hops
    of beta^(l - 1) A^l, the structural score of a pair is g(sum over k of M_uk s_k M_vk s_k), and its feature score
    MLP(z_u * z_v) with embeddings z from graph convolutions. The probability of an edge is
    alpha sigmoid(structural) + (1 - alpha) sigmoid(features), with alpha learnt. The loss is the sum of the losses of
    all three.

    Differs from the original: f_node and g see log(1 + x) of their arguments; width 64, not 256, and weight decay;
    <w, z_u * z_v> is added to the feature score (see `PairHead`); paths never use the pair's own edge; early stopping.
    """

    network = OverlapNetwork
    weight_decay = 1.0

    width: int = 64
    depth: int = 2
    dropout: float = 0.5
    hops: int = 2
    beta: float = 0.1
    patience: int = 40
    batch_size: int = 256


@torch.no_grad()
def overlaps(
    lists: Neighbours, pairs: Tensor, layer: Tensor, linked: Tensor, hops: int, beta: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the nodes k with M_uk M_vk > 0 of pairs (P, 2) in layers (P,): the pair, the degree of k, M_uk M_vk.

    M = sum over l = 1, ..., hops of beta^(l - 1) A^l, where A lacks the pair's own edge unless it is `linked` (P,).
    """
    size, which = lists.num_nodes, torch.arange(len(pairs), device=pairs.device)
    u, v = (_walks(lists, pairs, layer, linked, end, hops, beta) for end in (0, 1))
    place = torch.searchsorted(u[0], v[0]).clamp(max=max(len(u[0]) - 1, 0))
    hit = torch.nonzero(u[0][place] == v[0]).squeeze(1) if len(u[0]) else place[:0]
    key, product = v[0][hit], u[1][place[hit]] * v[1][hit]
    which, node = key // size, key % size
    degree = lists.row_degree[lists.rows(layer[which], node)]
    own = lists.find(lists.rows(layer, pairs[:, 0]), pairs[:, 1])[0] & ~linked
    at_end = (node == pairs[which, 0]) | (node == pairs[which, 1])
    return which, degree - (at_end & own[which]).long(), product


def _walks(
    lists: Neighbours, pairs: Tensor, layer: Tensor, linked: Tensor, end: int, hops: int, beta: float
) -> tuple[Tensor, Tensor]:
    """Return M from one end of each pair: keys pair * num_nodes + node, sorted, and values."""
    size = lists.num_nodes
    key = torch.arange(len(pairs), device=pairs.device) * size + pairs[:, end]
    value = torch.ones(len(key), dtype=torch.float64, device=key.device)
    keys, values = [], []
    for hop in range(hops):
        which, node = key // size, key % size
        row = lists.rows(layer[which], node)
        place, arc = ranges(lists.indptr[row], lists.row_degree[row])
        start, stop, of = node[place], lists.neighbour[arc], which[place]
        ends = pairs[of]
        own = ((start == ends[:, 0]) & (stop == ends[:, 1])) | ((start == ends[:, 1]) & (stop == ends[:, 0]))
        kept = torch.nonzero(~own | linked[of]).squeeze(1)
        key, value = _add_up((of * size + stop)[kept], value[place[kept]])
        keys.append(key)
        values.append(value * beta**hop)
    return _add_up(torch.cat(keys), torch.cat(values))


def _add_up(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct keys, sorted, and the sum of the values of each."""
    distinct, place = torch.unique(key, return_inverse=True)
    return distinct, value.new_zeros(len(distinct)).index_add_(0, place, value)


add_one_graph("ncn", NCN)
BASELINES.add("ncn-all", NCNAll)
add_one_graph("neo-gnn", NeoGNN)
