"""Networks of the subgraph around a pair: SEAL, in one graph, and DeePlex, in every layer; both embed it with DGCNN."""

from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from banditplex.backend import Neighbours, ranges
from banditplex.bandits.arms import to_layer
from banditplex.baselines.base import BASELINES, add_one_graph, choice, parameters
from banditplex.baselines.graph_networks import perceptron
from banditplex.baselines.neural import NetworkData, NeuralBaseline, PairNetwork, visible_link
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.rng import stream

FAR = 1 << 20  # a distance above all others: not reached
TABLE = 1 << 23  # up to so many pairs times nodes, vertices are found by a table instead of a search


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The subgraphs of P pairs as one graph: V vertices, sorted by pair and node, and A arcs, two per edge."""

    size: int  # P
    which: Tensor  # (V,) the pair of each vertex
    node: Tensor  # (V,)
    label: Tensor  # (V,) DRNL label
    edge_index: Tensor  # (2, A), sorted by edge_index[1]

    @property
    def counts(self) -> Tensor:
        """Number of vertices of each subgraph, (P,)."""
        return torch.bincount(self.which, minlength=self.size)


@torch.no_grad()
def enclosing_subgraphs(
    lists: Neighbours, pairs: Tensor, layer: Tensor, linked: Tensor, *, hops: int = 1, max_nodes: int | None = None
) -> Subgraphs:
    """Return the subgraph of all nodes within `hops` steps of either node of each pair (P, 2) in its layer (P,).

    The pair's own edge is left out unless `linked` (P,). `max_nodes` bounds the nodes that a hop adds to a subgraph;
    those kept are a random choice that depends on the pair and the nodes alone.
    """
    num_nodes, first = lists.num_nodes, torch.arange(len(pairs), device=pairs.device) * lists.num_nodes
    ends = first.repeat(2) + pairs.T.reshape(-1)
    key = new = torch.sort(ends).values
    for _ in range(hops):
        found = torch.unique(_neighbours(lists, layer, new)[1])
        new = found[_places(key, found, len(pairs) * num_nodes) < 0]
        if max_nodes is not None:
            new = _at_most(new, pairs, num_nodes, max_nodes)
        key = torch.sort(torch.cat([key, new])).values
    here, found = _neighbours(lists, layer, key)  # the neighbours of each vertex: arcs found -> here
    place = _places(key, found, len(pairs) * num_nodes)
    inside = torch.nonzero(place >= 0).squeeze(1)
    arcs = torch.stack([place.index_select(0, inside), here.index_select(0, inside)])
    end_u, end_v = torch.searchsorted(key, ends).chunk(2)
    which = torch.div(key, num_nodes, rounding_mode="floor")
    other_end = torch.full_like(key, -1)  # of both nodes of a pair that is not linked, the other one
    other_end[end_u], other_end[end_v] = end_v.where(~linked, -1), end_u.where(~linked, -1)
    arcs = arcs[:, other_end.index_select(0, arcs[0]) != arcs[1]]
    return Subgraphs(len(pairs), which, key - first[which], drnl(_distances(arcs, end_u, end_v, len(key))), arcs)


def drnl(distance: Tensor) -> Tensor:
    """Return double-radius node labels, given distances (V, 2) to both nodes of the pair.

    With d the sum and m the minimum of the two: 1 + m + (d // 2) (d // 2 + d % 2 - 1); 0 if one is not reached, and 1
    for the two nodes themselves, whose minimum is 0.
    """
    least, total = distance.min(1).values, distance.sum(1)
    half = total // 2
    label = 1 + least + half * (half + total % 2 - 1)
    return torch.where(total >= FAR, 0, label).where(least > 0, 1)


def _distances(arcs: Tensor, end_u: Tensor, end_v: Tensor, size: int) -> Tensor:
    """Return the distances (V, 2) from both nodes of the pair, on paths that avoid the other one."""
    columns = []
    for start, other in ((end_u, end_v), (end_v, end_u)):
        mine = torch.full((size,), FAR, device=arcs.device)
        mine[other] = -1  # never entered, never left
        mine[start], step = 0, 0
        source, destination = arcs[:, mine.index_select(0, arcs[1]) == FAR]
        near = mine.index_select(0, source) == 0
        while bool(near.any()):
            step += 1
            mine[destination[near]] = step
            left = mine.index_select(0, destination) == FAR
            source, destination = source[left], destination[left]
            near = mine.index_select(0, source) == step
        mine[other] = FAR
        columns.append(mine)
    return torch.stack(columns, 1)


def _neighbours(lists: Neighbours, layer: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Return the neighbours of vertices, as keys pair * num_nodes + node: places in `key`, and keys of neighbours."""
    which = torch.div(key, lists.num_nodes, rounding_mode="floor")
    first = which * lists.num_nodes
    row = lists.rows(layer.index_select(0, which), key - first)
    place, arc = ranges(lists.indptr.index_select(0, row), lists.row_degree.index_select(0, row))
    return place, first.index_select(0, place) + lists.neighbour.index_select(0, arc)


def _places(sorted_keys: Tensor, keys: Tensor, size: int) -> Tensor:
    """Return where keys, all below `size`, stand in `sorted_keys`; -1 for those that do not."""
    if size <= TABLE:
        table = torch.full((size,), -1, device=keys.device)
        table[sorted_keys] = torch.arange(len(sorted_keys), device=keys.device)
        return table.index_select(0, keys)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=len(sorted_keys) - 1)
    return place.where(sorted_keys.index_select(0, place) == keys, -1)


def _at_most(key: Tensor, pairs: Tensor, num_nodes: int, most: int) -> Tensor:
    """Return at most `most` of the sorted keys of each pair: those with the least hash of pair and node."""
    which = key // num_nodes
    count = torch.bincount(which, minlength=len(pairs))
    if not len(key) or int(count.max()) <= most:
        return key
    mixed = (pairs[which, 0] * num_nodes + pairs[which, 1]) * 0x2545F491 + key % num_nodes
    for shift, factor in ((31, 0x1CE4E5B9), (29, 0x133111EB), (32, 0x27D4EB2F)):
        mixed = (mixed ^ (mixed >> shift)) * factor
    order = torch.argsort(mixed, stable=True)
    order = order[torch.argsort(which[order], stable=True)]
    rank = torch.arange(len(key), device=key.device) - (torch.cumsum(count, 0) - count)[which[order]]
    return torch.sort(key[order[rank < most]]).values


SAMPLE = 500  # edges, and as many negatives, whose subgraphs say how many vertices sorting keeps
MAX_LABEL = 100  # DRNL labels from here on are one
LEAST = 10  # the fewest vertices that sorting keeps: shorter lists are too short for the convolutions that follow
KERNEL, CHANNELS, DENSE = 5, (16, 32), 128
SHARE = 0.6  # share of the subgraphs that have at most as many vertices as sorting keeps


class SubgraphEncoder(nn.Module):
    """Embeds enclosing subgraphs (Zhang et al., AAAI 2018: DGCNN, as SEAL uses it).

    Vertices start from a vector of their DRNL label, and of node features if there are any. Four convolutions
    H = tanh(D^-1 (A + I) H W) of widths 32, 32, 32, 1 follow; all four outputs are joined. The vertices of a subgraph
    are sorted by the last one, the first `keep` of them are kept, and two convolutions along this list with a maximum
    between them and a linear map give a vector of `DENSE` numbers.
    """

    features: Tensor | None

    def __init__(self, features: Tensor | None, keep: int, width: int = 32) -> None:
        super().__init__()
        self.keep = max(keep, LEAST)
        self.label = nn.Embedding(MAX_LABEL, width)
        self.register_buffer("features", features, persistent=False)
        widths = [width + (0 if features is None else features.shape[1]), width, width, width, 1]
        self.linears = nn.ModuleList([nn.Linear(one, two) for one, two in pairwise(widths)])
        self.across = nn.Linear(sum(widths[1:]), CHANNELS[0])  # a convolution whose kernel and stride are one vertex
        self.along = nn.Conv1d(*CHANNELS, KERNEL)
        self.dense = nn.Linear((self.keep // 2 - KERNEL + 1) * CHANNELS[1], DENSE)

    def forward(self, graphs: Subgraphs) -> Tensor:
        """Return the embeddings (P, DENSE) of subgraphs."""
        x = self.label(graphs.label.clamp(max=MAX_LABEL - 1))
        if self.features is not None:
            x = torch.cat([x, self.features[graphs.node].to(x.dtype)], 1)
        source, destination = graphs.edge_index
        share = 1 / (1 + torch.bincount(destination, minlength=len(x))).to(x.dtype).unsqueeze(1)
        parts = []
        for linear in self.linears:
            x = linear(x)
            x = torch.tanh(x.index_add(0, destination, x[source]) * share)
            parts.append(x)
        pooled = sort_pool(torch.cat(parts, 1), graphs.which, graphs.size, self.keep)
        lists = F.max_pool1d(F.relu(self.across(pooled)).transpose(1, 2), 2)
        return F.relu(self.dense(F.relu(self.along(lists)).flatten(1)))


def sort_pool(x: Tensor, which: Tensor, size: int, keep: int) -> Tensor:
    """Return the first `keep` rows of each group, sorted by the last column in descending order: (size, keep, width).

    `which` (V,), sorted, is the group of each row of x (V, width). Short groups are filled with zeros.
    """
    order = torch.argsort(x[:, -1], descending=True, stable=True)
    order = order[torch.argsort(which[order], stable=True)]
    count = torch.bincount(which, minlength=size)
    rank = torch.arange(len(x), device=x.device) - (torch.cumsum(count, 0) - count)[which]
    kept = rank < keep
    result = x.new_zeros(size, keep, x.shape[1])
    return result.index_put((which[kept], rank[kept]), x[order[kept]])


def choose_keep(graph: PackedGraph, pairs: Tensor, layer: Tensor, *, hops: int, max_nodes: int | None) -> int:
    """Return how many vertices sorting keeps: as many as a share of the subgraphs of some pairs have at most."""
    nothing = torch.zeros(len(pairs), dtype=torch.bool, device=pairs.device)
    graphs = enclosing_subgraphs(graph.both, pairs, layer, nothing, hops=hops, max_nodes=max_nodes)
    return int(torch.quantile(graphs.counts.double(), SHARE, interpolation="higher"))


class SubgraphNetwork(PairNetwork):
    """The network of `SEAL`."""

    exact = True
    chunk = 512

    def __init__(self, data: NetworkData, method: "SEAL") -> None:
        super().__init__(data, method)
        self.hops, self.max_nodes = method.hops, method.max_nodes
        pairs, target = data.sample(SAMPLE, stream(data.seed, "subgraph sizes"))
        graph = data.graph(self.sees)
        keep = choose_keep(graph, pairs, self.layer(graph, target), hops=self.hops, max_nodes=self.max_nodes)
        self.encoder = SubgraphEncoder(data.features(), keep, method.width)
        self.last = nn.Sequential(nn.Dropout(0.5), nn.Linear(DENSE, 1))

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        layer = self.layer(graph, target)
        linked = visible_link(graph, pairs, target, layer, self.visibility)
        graphs = enclosing_subgraphs(graph.both, pairs, layer, linked, hops=self.hops, max_nodes=self.max_nodes)
        return self.last(self.encoder(graphs)).squeeze(1)


@parameters
class SEAL(NeuralBaseline):
    """Learns from enclosing subgraphs (Zhang and Chen, NeurIPS 2018).

    The subgraph of a pair has all nodes within `hops` steps of either node, without the pair's own edge. A vertex at
    distances a, b from the two nodes, with d = a + b, has the DRNL label 1 + min(a, b) + (d // 2)(d // 2 + d % 2 - 1).
    DGCNN classifies the labelled subgraph (see `SubgraphEncoder`); dropout and a linear map give the logit.

    Differs from the original: `hops` is not chosen by comparing heuristics; a hop adds at most `max_nodes` nodes;
    negatives are drawn anew in each epoch; no node2vec embeddings; the learning rate is .001, not .0001, as layers
    have fewer edges; early stopping. In the union, the pair's own edge stays where another layer shows it.

    Only a pair's own edge is hidden from it, not those of its batch.
    """

    network = SubgraphNetwork

    graph: str = choice("target", "union")
    hops: int = 1
    max_nodes: int | None = 100
    width: int = 32
    epochs: int = 50
    patience: int = 10
    learning_rate: float = 0.001


class NearestLayersNetwork(PairNetwork):
    """The network of `DeePlex`."""

    sees = "all"
    exact = True

    def __init__(self, data: NetworkData, method: "DeePlex") -> None:
        super().__init__(data, method)
        num_layers = data.mx.num_layers
        self.k, self.temperature = min(method.k, num_layers - 1), method.temperature
        self.hops, self.max_nodes, self.chunk = method.hops, method.max_nodes, max(1, 1024 // num_layers)
        pairs, target = data.sample(SAMPLE, stream(data.seed, "subgraph sizes"))
        keep = choose_keep(data.graph("all"), pairs, target, hops=self.hops, max_nodes=self.max_nodes)
        self.encoder = SubgraphEncoder(data.features(), keep)
        self.adapt = nn.Parameter(torch.zeros(num_layers, 2, DENSE))
        self.last = perceptron((1 + self.k) * DENSE, DENSE, 1, dropout=0.5)

    def forward(self, graph: PackedGraph, pairs: Tensor, target: Tensor, hidden: HiddenEdges) -> Tensor:
        """Return the logits (P,) of pairs."""
        others = torch.arange(graph.num_layers - 1, device=pairs.device).expand(len(pairs), -1)
        table = torch.cat([target.unsqueeze(1), to_layer(target.unsqueeze(1), others)], 1)
        each, own = (part.repeat_interleave(graph.num_layers, 0) for part in (pairs, target))
        layer = table.reshape(-1)
        linked = visible_link(graph, each, own, layer, self.visibility)
        graphs = enclosing_subgraphs(graph.both, each, layer, linked, hops=self.hops, max_nodes=self.max_nodes)
        scale, shift = self.adapt[table].unbind(2)
        embedding = self.encoder(graphs).view(*table.shape, -1) * (1 + scale) + shift
        mine, rest = embedding[:, 0], embedding[:, 1:]
        parts = [mine, nearest(mine, rest, self.k, self.temperature).flatten(1)]
        return self.last(torch.cat(parts, 1)).squeeze(1)


@parameters
class DeePlex(NeuralBaseline):
    """k nearest layers by NeuralSort (Potluru et al., SIAM Workshop on Network Science, 2020).

    A SEAL-style encoder embeds the enclosing subgraph of the pair in every layer: e_l. The other layers are sorted by
    their distance ||e_t - e_l|| to the target layer t with NeuralSort, whose relaxed permutation matrix P is
    differentiable. The logit is MLP(e_t, rows 1 to k of P E), where the rows of E are the e_l. Encoder, sort and
    MLP are trained jointly.

    Differs from the original, of which there is no public code: one encoder for all layers, with a scale and a shift
    per layer, so that distances between layers mean something; early stopping.

    Only a pair's own edge is hidden from it, not those of its batch.
    """

    network = NearestLayersNetwork

    k: int = 2
    temperature: float = 1.0
    hops: int = 1
    max_nodes: int | None = 100
    epochs: int = 50
    patience: int = 10
    learning_rate: float = 0.001


def nearest(mine: Tensor, rest: Tensor, k: int, temperature: float) -> Tensor:
    """Return the k vectors of rest (P, n, width) that are nearest to mine (P, width), relaxed: (P, k, width)."""
    distance = ((rest - mine.unsqueeze(1)) ** 2).sum(2).clamp(min=1e-12).sqrt()
    return neural_sort(-distance, temperature)[:, :k] @ rest


def neural_sort(scores: Tensor, temperature: float) -> Tensor:
    """Return relaxed permutation matrices (..., n, n) that sort scores (..., n) in descending order.

    Row i is softmax(((n + 1 - 2 i) s - A 1) / temperature), i = 1, ..., n, with A_jk = |s_j - s_k| (Grover et al., ICLR
    2019). Rows sum to 1; as the temperature goes to 0, row i becomes the indicator of the i-th largest score.
    """
    size = scores.shape[-1]
    spread = (scores.unsqueeze(-1) - scores.unsqueeze(-2)).abs().sum(-1)
    factor = size + 1 - 2 * torch.arange(1, size + 1, device=scores.device, dtype=scores.dtype)
    return torch.softmax((factor.unsqueeze(-1) * scores.unsqueeze(-2) - spread.unsqueeze(-2)) / temperature, -1)


add_one_graph("seal", SEAL)
BASELINES.add("deeplex", DeePlex)
