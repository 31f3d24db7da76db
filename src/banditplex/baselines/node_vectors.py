"""Vectors of nodes, and how two of them become the score of a pair: DeepWalk, node2vec and LINE."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import Baseline, add_one_graph, choice, parameters, training_tables
from banditplex.baselines.classifiers import fit_logistic
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
    zero_table,
)
from banditplex.errors import InputError
from banditplex.rng import stream
from banditplex.training.data import choose_device

AT_MOST = 20_000
"""Edges of a target that a logistic regression learns from, at most."""


@parameters
class NodeVectors(Baseline):
    """A method that gives each node a vector in each target layer.

    The score of a pair is the cosine of its two vectors (`operator="cosine"`), their dot product ("dot"), or the logit
    of a logistic regression per target on their Hadamard product, fitted to the training edges and as many negatives
    ("hadamard", as in the node2vec paper). Nodes without edges have the vector 0.

    The vectors are learnt from all training edges, so the score of a training edge has seen that edge.
    """

    num_negatives: int = 5  # per pair
    learning_rate: float = 0.1  # of the first step; it falls to 0
    operator: str = choice("cosine", "dot", "hadamard")
    time_limit: float | None = None  # seconds after which training stops
    device: str = "cpu"

    def _fit(self) -> None:
        self._learn()
        self.models_: dict[int, Any] = {}
        if self.operator == "hadamard":
            tables = training_tables(
                self.columns_, self.targets_, self.seed, lambda _, pairs, target: self._product(pairs, target),
                each=1, at_most=AT_MOST,
            )  # fmt: skip
            self.models_ = {target: fit_logistic(table, (1.0,)) for target, table in tables.items()}

    def _score(self, pairs: Ints, target: int) -> Floats:
        product = self._product(pairs, target)
        if self.operator == "hadamard":
            if target not in self.models_:
                return np.zeros(len(pairs))
            return np.asarray(self.models_[target].decision_function(product), np.float64)
        score: Floats = product.sum(1)
        if self.operator == "cosine":
            first, second = (np.linalg.norm(self._vectors(nodes, target), axis=1) for nodes in pairs.T)
            score /= np.maximum(first * second, 1e-12)
        return score

    def _product(self, pairs: Ints, target: int) -> Floats:
        return self._vectors(pairs[:, 0], target) * self._vectors(pairs[:, 1], target)

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
    def _learn(self) -> None:
        """Learn the vectors."""

    @abstractmethod
    def _vectors(self, nodes: Ints, target: int) -> Floats:
        """Return the vectors (n, d) of nodes (n,) in a target layer."""


@parameters
class OneGraphVectors(NodeVectors):
    """Vectors learnt in the target layer alone, all targets at once, or in the union of all layers.

    A subclass learns `vectors_` (rows + 1, d) of the rows of `walk_graph_`; the last one is 0, for nodes without edges.
    """

    graph: str = choice("target", "union")
    dimension: int = 128

    def _learn(self) -> None:
        names, union = self.mx_.layer_names, self.graph == "union"
        where = self.mx_.union() if union else self.mx_.subset(layers=[names[each] for each in self.targets_])
        self._place = {target: 0 if union else at for at, target in enumerate(self.targets_)}
        self.walk_graph_ = WalkGraph.of(where)
        learnt = self._learn_rows(self.walk_graph_)
        self.vectors_ = np.concatenate([learnt, np.zeros((1, learnt.shape[1]))])

    def _vectors(self, nodes: Ints, target: int) -> Floats:
        return self.vectors_[self.walk_graph_.rows(nodes, self._place[target])]

    @abstractmethod
    def _learn_rows(self, graph: WalkGraph) -> Floats:
        """Return vectors (rows, d)."""


@parameters
class DeepWalk(OneGraphVectors):
    """DeepWalk (Perozzi, Al-Rfou and Skiena, KDD 2014): node vectors from skip-gram on uniform random walks.

    Nodes that are near each other in walks get similar vectors v: the loss is that of `baselines/skipgram.py`, on
    walks in which the next node is a uniform neighbour.

    Differs from the original: negative sampling instead of the hierarchical softmax, and Adagrad on mini-batches of
    walks (see `skipgram.py`). The paper classifies nodes; pairs are scored with the cosine of their vectors.
    """

    num_walks: int = 80  # from each node
    walk_length: int = 40
    window: int = 10  # largest distance of a context

    def _learn_rows(self, graph: WalkGraph) -> Floats:
        device, rng = choose_device(self.device), stream(self.seed, "walks")
        centres = random_table(graph.num_rows, self.dimension, rng, device)
        contexts = zero_table(graph.num_rows, self.dimension, device)
        p, q = self._bias()
        walks = Walks(graph, partial(walk, graph, p=p, q=q), self.walk_length, self.num_walks)
        self._train(walks, self.window, rng, contexts, lambda rows: [(centres, rows)])
        self.num_parameters_ = 2 * graph.num_rows * self.dimension
        return as_numpy(centres.values)

    def _bias(self) -> tuple[float, float]:
        """Return p and q of the walks."""
        return 1.0, 1.0


@parameters
class Node2Vec(DeepWalk):
    """node2vec (Grover and Leskovec, KDD 2016): node vectors from skip-gram on biased random walks.

    After nodes t and v, the next node x is a neighbour of v, drawn in proportion to 1/p if x = t, 1 if x is a neighbour
    of t, and 1/q otherwise. The loss is that of `baselines/skipgram.py`.

    Differs from the original: steps are drawn by rejection, without tables of all transitions; Adagrad on mini-batches
    of walks (see `skipgram.py`); edge weights are ignored. The paper chooses p and q from .25, .5, 1, 2 and 4 on
    labelled data and scores pairs with `operator="hadamard"`.
    """

    p: float = 1.0
    q: float = 0.5
    num_walks: int = 10
    walk_length: int = 80

    def _bias(self) -> tuple[float, float]:
        if self.p <= 0 or self.q <= 0:
            raise InputError(f"Expected p and q above 0, got {self.p} and {self.q}.")
        return self.p, self.q


@parameters
class LINE(OneGraphVectors):
    """LINE (Tang et al., WWW 2015): node vectors of first-order and second-order proximity, side by side.

    First order: neighbours get similar vectors, with the loss - log s(v_i . v_j) - K mean_n log s(- v_i . v_n) of each
    edge. Second order: nodes with the same neighbours do; the loss is the same, with a context c_j in place of v_j.
    Each half is divided by its length, and the two are put side by side.

    Differs from the original: Adagrad on mini-batches of edges (see `skipgram.py`); edges are drawn uniformly and
    without weights. The number of samples, a fixed 10 billion in the paper, is in proportion to the edges.
    """

    order: str = choice("both", "first", "second")  # `dimension` is that of each
    epochs: int = 100  # how often each edge is drawn, in each direction

    def _learn_rows(self, graph: WalkGraph) -> Floats:
        orders = ("first", "second") if self.order == "both" else (self.order,)
        halves = [self._learn_order(graph, order) for order in orders]
        self.num_parameters_ = sum((1 + (order == "second")) * graph.num_rows * self.dimension for order in orders)
        return np.concatenate([half / np.maximum(np.linalg.norm(half, axis=1), 1e-12)[:, None] for half in halves], 1)

    def _learn_order(self, graph: WalkGraph, order: str) -> Floats:
        device, rng = choose_device(self.device), stream(self.seed, "line", order)
        centres = random_table(graph.num_rows, self.dimension, rng, device)
        contexts: Table = centres if order == "first" else zero_table(graph.num_rows, self.dimension, device)
        ends = np.repeat(np.arange(graph.num_rows), graph.degree)
        edges = Walks(graph, partial(walk, graph), 2, self.epochs, ends)
        self._train(edges, 1, rng, contexts, lambda rows: [(centres, rows)])
        return as_numpy(centres.values)


add_one_graph("deepwalk", DeepWalk)
add_one_graph("node2vec", Node2Vec)
add_one_graph("line", LINE)
