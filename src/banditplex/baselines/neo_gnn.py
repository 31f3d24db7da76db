"""Neo-GNN: overlapping neighbourhoods of several hops with learnt weights of nodes."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.baselines.base import BASELINES
from banditplex.baselines.convolution import GCN, NodeInput, PairHead, Propagation, block_of, perceptron
from banditplex.baselines.neural import NetworkData, OneGraphBaseline, PairNetwork
from banditplex.baselines.seen import visible_link
from banditplex.nn import HiddenEdges, Neighbours, PackedGraph
from banditplex.nn.graph import ranges


class NeoGNN(OneGraphBaseline):
    """Neighbourhood-overlap-aware graph network (Yun et al., NeurIPS 2021).

    The structural weight of a node is s_k = f_node(sum over its edges of f_edge(1)). With M = sum over l = 1, ..., hops
    of beta^(l - 1) A^l, the structural score of a pair is g(sum over k of M_uk s_k M_vk s_k), and its feature score
    MLP(z_u * z_v) with embeddings z from graph convolutions. The probability of an edge is
    alpha sigmoid(structural) + (1 - alpha) sigmoid(features), with alpha learnt. The loss is the sum of the losses of
    all three.

    Differs from the original: f_node and g see log(1 + x) of their arguments; width 64, not 256, and weight decay;
    <w, z_u * z_v> is added to the feature score (see `PairHead`); paths never use the pair's own edge; early stopping.

    Parameters
    ----------
    width, depth, dropout
        Of the convolutions.
    hops, beta
        Of the neighbourhoods.
    graph
        "target" or "union".
    epochs, patience, batch_size, learning_rate, device, hide, seed
        See `NeuralBaseline`.
    """

    weight_decay = 1.0

    def __init__(
        self, *, width: int = 64, depth: int = 2, dropout: float = 0.5, hops: int = 2, beta: float = 0.1,
        graph: str = "target", epochs: int = 100, patience: int = 40, batch_size: int = 256,
        learning_rate: float = 0.01, device: str = "auto", hide: str | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.width, self.depth, self.dropout, self.hops, self.beta = width, depth, dropout, hops, beta
        self.graph, self.epochs, self.patience, self.batch_size = graph, epochs, patience, batch_size
        self.learning_rate, self.device, self.hide, self.seed = learning_rate, device, hide, seed

    def _network(self, data: NetworkData) -> PairNetwork:
        return OverlapNetwork(data, self._sees(), self.width, self.depth, self.dropout, self.hops, self.beta)


class OverlapNetwork(PairNetwork):
    """The network of `NeoGNN`."""

    chunk = 1024

    def __init__(
        self, data: NetworkData, sees: str, width: int, depth: int, dropout: float, hops: int, beta: float
    ) -> None:
        super().__init__()
        self.sees, self.hops, self.beta, self.visibility = sees, hops, beta, data.visibility
        self.input = NodeInput(data.full_graph(sees), data.features(), width, per_layer=sees == "target")
        self.encoder = GCN(width, depth, dropout)
        self.of_features = PairHead(width, 0, dropout)
        self.of_edge, self.of_node, self.of_overlap = (perceptron(1, size, 1) for size in (8, 128, 128))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        block, u, v = block_of(graph, pairs, layer, hidden)
        x = self.input(block)
        z = self.encoder(x, Propagation.of(block, x.dtype))
        features = self.of_features(z[u], z[v])
        linked = visible_link(graph, pairs, target, layer, self.visibility)
        which, degree, product = overlaps(graph.both, pairs, layer, linked, self.hops, self.beta)
        per_edge = self.of_edge(x.new_ones(1, 1))
        weight = self.of_node(torch.log1p(degree.to(x.dtype).unsqueeze(1) * F.softplus(per_edge))).squeeze(1)
        total = x.new_zeros(len(pairs)).index_add(0, which, product.to(x.dtype) * weight**2)
        structure = self.of_overlap(torch.log1p(total).unsqueeze(1)).squeeze(1)
        self._parts = structure, features
        share = torch.sigmoid(self.alpha)
        both = share * torch.sigmoid(structure) + (1 - share) * torch.sigmoid(features)
        return torch.logit(both, eps=1e-7)

    def loss(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the sum of the losses of both scores and of their mixture."""
        each = [super(OverlapNetwork, self).loss(part, label) for part in (logits, *self._parts)]
        return torch.stack(each).sum()


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


BASELINES.add("neo-gnn", NeoGNN)
BASELINES.add("neo-gnn-union", partial(NeoGNN, graph="union"))
