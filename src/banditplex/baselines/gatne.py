"""GATNE-T: one vector per node for all layers, and an attention over what its neighbours are in each layer."""

from functools import partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, parameters
from banditplex.baselines.node_vectors import NodeVectors
from banditplex.baselines.skipgram import Table, WalkGraph, Walks, as_numpy, random_table, walk
from banditplex.rng import stream
from banditplex.training.data import choose_device

ROOM = 1 << 21  # sampled neighbours of all nodes of a mini-batch in all layers, at most


def edge_part(near: Tensor, hidden: Tensor, query: Tensor, transform: Tensor) -> Tensor:
    """Return M^T U a (B, n, d), a = softmax over layers of w . tanh(W u): what the layer adds to the vectors of nodes.

    Parameters: `near` U (B, n, m, s), what the neighbours of each node are in every layer; `hidden` W (B, s, a),
    `query` w (B, a) and `transform` M (B, s, d) of the layer that each group of n nodes is in.
    """
    energy = torch.bmm(torch.tanh(torch.bmm(near.flatten(1, 2), hidden)), query[:, :, None])
    share = energy.view(near.shape[:3]).softmax(2)
    return torch.bmm((share[..., None] * near).sum(2), transform)


@parameters
class GATNE(NodeVectors):
    """GATNE-T, general attributed multiplex network embedding without attributes (Cen et al., KDD 2019).

    The vector of node n in layer r is v = b_n + M_r^T U_n a_n,r. Column p of U_n (s, layers) is the mean of the edge
    vectors u_j,p of the neighbours j of n in layer p (of n itself where it has none), and the weights of the layers are
    a_n,r = softmax(w_r . tanh(W_r U_n)). b, u, M, W and w are learnt with skip-gram (`baselines/skipgram.py`) on random
    walks in every layer; the contexts c_n are shared by all layers. A pair is scored with the cosine of its vectors.

    Differs from the original: neighbours are sampled anew in each step, and all are used after training; Adagrad on
    mini-batches of walks instead of Adam; new walks in every epoch, and no early stopping; one aggregation (K = 1), and
    alpha = beta = 1, as in its experiments. Time and memory grow with nodes x layers.
    """

    dimension: int = 200  # of b
    edge_dimension: int = 10  # of u
    attention_dimension: int = 20  # of w
    neighbour_samples: int = 10  # for each mean
    normalise: bool = True  # whether vectors have length 1 in training, too, as in the cosine that scores pairs
    epochs: int = 10
    num_walks: int = 20
    walk_length: int = 10
    window: int = 5

    def _fit(self) -> None:
        graph, device, rng = WalkGraph.of(self.mx_), choose_device(self.device), stream(self.seed, "gatne")
        d, s, a, m = self.dimension, self.edge_dimension, self.attention_dimension, self.mx_.num_layers
        base = random_table(graph.num_nodes, d, rng, device)
        contexts = Table(torch.zeros(graph.num_nodes, d, device=device))
        edge = random_table(graph.num_nodes * m, s, rng, device)
        transforms, hidden = (Table(random_table(m, s * n, rng, device).values * s * n**0.5) for n in (d, a))
        queries = Table(random_table(m, a, rng, device).values * a**0.5)
        plan = Walks(graph, partial(walk, graph), self.walk_length, self.epochs * self.num_walks)
        lists = _Neighbours(graph, m, device, rng)
        nodes, layers = (torch.from_numpy(each).to(device) for each in (graph.nodes, graph.layer))

        def parts(walks: Tensor) -> list[tuple[Table, Tensor]]:
            node, layer = nodes[walks], layers[walks[:, 0]]
            sampled = lists.sample(node, self.neighbour_samples)
            return [(base, node), (edge, sampled), (hidden, layer), (queries, layer), (transforms, layer)]

        def vectors(b: Tensor, u: Tensor, w: Tensor, query: Tensor, x: Tensor) -> Tensor:
            found = b + edge_part(u.mean(3), w.view(-1, s, a), query, x.view(-1, s, d))
            return normalize(found, dim=-1) if self.normalise else found

        room = max(self.walk_length, ROOM // (m * self.neighbour_samples))
        self._train(plan, self.window, rng, contexts, parts, vectors, nodes, max_tokens=room)
        self.base_, self.near_ = as_numpy(base.values), lists.mean(as_numpy(edge.values)).reshape(-1, m, s)
        self.hidden_, self.transforms_ = hidden.values.view(m, s, a).cpu(), transforms.values.view(m, s, d).cpu()
        self.queries_ = queries.values.cpu()
        tables = base, contexts, edge, transforms, hidden, queries
        self.num_parameters_ = sum(table.values.numel() for table in tables)

    def _vectors(self, nodes: Ints, target: int) -> Floats:
        unique, place = np.unique(nodes, return_inverse=True)
        near = torch.from_numpy(self.near_[unique]).float()
        layer = slice(target, target + 1)
        added = edge_part(near[None], self.hidden_[layer], self.queries_[layer], self.transforms_[layer])[0]
        return (self.base_[unique] + as_numpy(added))[place]


class _Neighbours:
    """Neighbours of every node in every layer, as rows node * layers + layer; a node without any is its own."""

    def __init__(self, graph: WalkGraph, num_layers: int, device: torch.device, rng: np.random.Generator) -> None:
        self._layers, size = num_layers, graph.num_nodes * num_layers
        own, owner = graph.nodes * num_layers + graph.layer, np.repeat(np.arange(graph.num_rows), graph.degree)
        without = np.setdiff1d(np.arange(size), own)
        rows = np.append(own[owner], without)
        others = np.append(own[graph.neighbours], without)
        others, degree = others[np.argsort(rows, kind="stable")], np.bincount(rows, minlength=size)
        self._others, self._degree = (torch.from_numpy(each).to(device) for each in (others, degree))
        self._start = torch.cumsum(self._degree, 0) - self._degree
        self._generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))

    def sample(self, nodes: Tensor, count: int) -> Tensor:
        """Return `count` neighbours of nodes (...) in every layer, with repetition: (..., layers, count)."""
        rows = nodes[..., None] * self._layers + torch.arange(self._layers, device=nodes.device)
        chance = torch.rand((*rows.shape, count), generator=self._generator, device=nodes.device, dtype=torch.float64)
        return self._others[self._start[rows][..., None] + (chance * self._degree[rows][..., None]).long()]

    def mean(self, values: Floats) -> Floats:
        """Return the mean over the neighbours of each row of values (rows, s)."""
        degree, others = self._degree.cpu().numpy(), self._others.cpu().numpy()
        matrix = sp.csr_array((np.repeat(1 / degree, degree), others, np.append(0, np.cumsum(degree))))
        return matrix @ values


BASELINES.add("gatne-t", GATNE)
