"""node2vec, MNE and GATNE-T: vectors of nodes, from skip-gram on random walks; the cosine of two scores a pair."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, Baseline, add_one_graph, choice, parameters
from banditplex.baselines.skipgram import (
    MAX_TOKENS,
    Table,
    WalkGraph,
    Walks,
    as_numpy,
    batches,
    random_table,
    train,
    walk,
)
from banditplex.errors import InputError
from banditplex.rng import stream
from banditplex.training.data import choose_device


@parameters
class NodeVectors(Baseline):
    """A method that gives each node a vector in each target layer; the score of a pair is the cosine of its two.

    The vectors are learnt from all training edges, so the score of a training edge has seen that edge.
    """

    num_negatives: int = 5  # per pair
    learning_rate: float = 0.1  # of the first step; it falls to 0
    time_limit: float | None = None  # seconds after which training stops
    device: str = "cpu"

    def _score(self, pairs: Ints, target: int) -> Floats:
        first, second = (self._vectors(nodes, target) for nodes in pairs.T)
        length = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
        return (first * second).sum(1) / np.maximum(length, 1e-12)

    def _train(
        self, walks: Walks, window: int, rng: np.random.Generator, *tables: Any, max_tokens: int = MAX_TOKENS
    ) -> None:
        """Learn tables from walks with skip-gram; `tables`: what `skipgram.train` takes from `contexts` on."""
        steps = batches(
            walks, num_negatives=self.num_negatives, rate=self.learning_rate, rng=rng, max_tokens=max_tokens,
            time_limit=self.time_limit,
        )  # fmt: skip
        train(steps, walks.weights(window), self.num_negatives, *tables)

    @abstractmethod
    def _vectors(self, nodes: Ints, target: int) -> Floats:
        """Return the vectors (n, d) of nodes (n,) in a target layer."""


@parameters
class Node2Vec(NodeVectors):
    """node2vec (Grover and Leskovec, KDD 2016): node vectors from skip-gram on biased random walks.

    The walks are in the target layer alone, all targets at once, or in the union of all layers. After nodes t and v,
    the next node x is a neighbour of v, drawn in proportion to 1/p if x = t, 1 if x is a neighbour of t, and 1/q
    otherwise; p = q = 1 is DeepWalk. The loss is that of `baselines/skipgram.py`. Nodes without edges have vector 0.

    Differs from the original: steps are drawn by rejection, without tables of all transitions; Adagrad on mini-batches
    of walks (see `skipgram.py`); edge weights are ignored; pairs are scored with the cosine of their vectors.
    """

    graph: str = choice("target", "union")
    dimension: int = 128
    p: float = 1.0
    q: float = 0.5
    num_walks: int = 10  # from each node
    walk_length: int = 80
    window: int = 10  # largest distance of a context

    def _fit(self) -> None:
        if self.p <= 0 or self.q <= 0:
            raise InputError(f"Expected p and q above 0, got {self.p} and {self.q}.")
        names, union = self.mx_.layer_names, self.graph == "union"
        where = self.mx_.union() if union else self.mx_.subset(layers=[names[each] for each in self.targets_])
        self._place = {target: 0 if union else at for at, target in enumerate(self.targets_)}
        graph, device, rng = WalkGraph.of(where), choose_device(self.device), stream(self.seed, "walks")
        centres = random_table(graph.num_rows, self.dimension, rng, device)
        contexts = Table(torch.zeros(graph.num_rows, self.dimension, device=device))
        walks = Walks(graph, partial(walk, graph, p=self.p, q=self.q), self.walk_length, self.num_walks)
        self._train(walks, self.window, rng, contexts, lambda rows: [(centres, rows)])
        self.num_parameters_ = 2 * graph.num_rows * self.dimension
        self.walk_graph_ = graph
        self.vectors_ = np.concatenate([as_numpy(centres.values), np.zeros((1, self.dimension))])

    def _vectors(self, nodes: Ints, target: int) -> Floats:
        return self.vectors_[self.walk_graph_.rows(nodes, self._place[target])]


def layer_vectors(base: Tensor, own: Tensor, transform: Tensor, weight: float) -> Tensor:
    """Return b + w X^T u: `base` (B, L, d), `own` (B, L, s) and one `transform` (B, s, d) for each walk."""
    return torch.baddbmm(base, own, transform, alpha=weight)


@parameters
class MNE(NodeVectors):
    """MNE, scalable multiplex network embedding (Zhang et al., IJCAI 2018).

    The vector of node n in layer i is v = b_n + w X_i^T u_n,i: a base vector b_n (d) that all layers share, a small
    vector u_n,i (s) of the node in the layer, and a matrix X_i (s, d) of the layer. All are learnt with skip-gram
    (`baselines/skipgram.py`) on random walks in every layer; the contexts c_n (d) are shared by all layers. A pair is
    scored with the cosine of its vectors in the target layer; a node without edges there has the vector b_n.

    Differs from the original: Adagrad on mini-batches of walks; new walks in every epoch; the weight w of a layer is
    one number for all (X_i can make up for it).
    """

    dimension: int = 200  # d
    layer_dimension: int = 10  # s
    layer_weight: float = 1.0  # w
    epochs: int = 10
    num_walks: int = 20  # from each node of each layer in an epoch
    walk_length: int = 10
    window: int = 10

    def _fit(self) -> None:
        graph, device, rng = WalkGraph.of(self.mx_), choose_device(self.device), stream(self.seed, "mne")
        d, s = self.dimension, self.layer_dimension
        base = random_table(graph.num_nodes, d, rng, device)
        contexts = Table(torch.zeros(graph.num_nodes, d, device=device))
        own = random_table(graph.num_rows, s, rng, device)
        transforms = Table(random_table(self.mx_.num_layers, s * d, rng, device).values * s * d**0.5)
        plan = Walks(graph, partial(walk, graph), self.walk_length, self.epochs * self.num_walks)
        nodes, layers = (torch.from_numpy(each).to(device) for each in (graph.nodes, graph.layer))

        def vectors(b: Tensor, u: Tensor, x: Tensor) -> Tensor:
            return layer_vectors(b, u, x.view(-1, s, d), self.layer_weight)

        def parts(walks: Tensor) -> list[tuple[Table, Tensor]]:
            return [(base, nodes[walks]), (own, walks), (transforms, layers[walks[:, 0]])]

        self._train(plan, self.window, rng, contexts, parts, vectors, nodes)
        self.walk_graph_, self.base_ = graph, as_numpy(base.values)
        self.own_ = np.concatenate([as_numpy(own.values), np.zeros((1, s))])  # the last row: no edges in the layer
        self.transforms_ = as_numpy(transforms.values).reshape(-1, s, d)
        self.num_parameters_ = sum(table.values.numel() for table in (base, contexts, own, transforms))

    def _vectors(self, nodes: Ints, target: int) -> Floats:
        own = self.own_[self.walk_graph_.rows(nodes, target)]
        return self.base_[nodes] + self.layer_weight * own @ self.transforms_[target]


add_one_graph("node2vec", Node2Vec)
BASELINES.add("mne", MNE)


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
