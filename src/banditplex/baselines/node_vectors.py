"""Methods that learn vectors of nodes, and how two vectors become the score of a pair."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np

from banditplex.baselines.base import Baseline, in_union, training_tables
from banditplex.baselines.graph import Floats, Ints
from banditplex.baselines.regression import fit_logistic
from banditplex.baselines.skipgram import Walks, as_numpy, batches, random_table, train, zero_table
from banditplex.baselines.walks import WalkGraph, walk
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.rng import stream
from banditplex.training.data import choose_device

OPERATORS = ("cosine", "dot", "hadamard")
AT_MOST = 20_000
"""Edges of a target that a logistic regression learns from, at most."""


class NodeVectors(Baseline):
    """A method that gives each node a vector in each target layer.

    The score of a pair is the cosine of its two vectors (`operator="cosine"`), their dot product ("dot"), or the logit
    of a logistic regression per target on their Hadamard product, fitted to the training edges and as many negatives
    ("hadamard", as in the node2vec paper). Nodes without edges have the vector 0.

    The vectors are learnt from all training edges, so the score of a training edge has seen that edge.
    """

    operator: str

    def _fit(self) -> None:
        if self.operator not in OPERATORS:
            raise InputError(f"Expected operator to be one of {', '.join(OPERATORS)}, got {self.operator!r}.")
        self._learn()
        self.models_: dict[int, Any] = {}
        if self.operator == "hadamard":
            tables = training_tables(
                self.features_, self.targets_, self.seed, lambda _, pairs, target: self._product(pairs, target),
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

    @abstractmethod
    def _learn(self) -> None:
        """Learn the vectors."""

    @abstractmethod
    def _vectors(self, nodes: Ints, target: int) -> Floats:
        """Return the vectors (n, d) of nodes (n,) in a target layer."""


class OneGraphVectors(NodeVectors):
    """Vectors learnt in the target layer alone, all targets at once, or in the union of all layers.

    A subclass learns `vectors_` (rows + 1, d) of the rows of `walk_graph_`; the last one is 0, for nodes without edges.
    """

    graph: str

    def _learn(self) -> None:
        names = self.mx_.layer_names
        where = self.mx_.union() if in_union(self.graph) else self._own_layers([names[each] for each in self.targets_])
        self._place = {target: 0 if in_union(self.graph) else at for at, target in enumerate(self.targets_)}
        self.walk_graph_ = WalkGraph.of(where)
        learnt = self._learn_rows(self.walk_graph_)
        self.vectors_ = np.concatenate([learnt, np.zeros((1, learnt.shape[1]))])

    def _own_layers(self, names: list[Any]) -> Multiplex:
        return self.mx_.subset(layers=names)

    def _vectors(self, nodes: Ints, target: int) -> Floats:
        return self.vectors_[self.walk_graph_.rows(nodes, self._place[target])]

    @abstractmethod
    def _learn_rows(self, graph: WalkGraph) -> Floats:
        """Return vectors (rows, d)."""


class WalkVectors(OneGraphVectors):
    """Skip-gram on random walks: what DeepWalk and node2vec share."""

    dimension: int
    num_walks: int
    walk_length: int
    window: int
    num_negatives: int
    learning_rate: float
    time_limit: float | None
    device: str

    def _learn_rows(self, graph: WalkGraph) -> Floats:
        device, rng = choose_device(self.device), stream(self.seed, "walks")
        centres = random_table(graph.num_rows, self.dimension, rng, device)
        contexts = zero_table(graph.num_rows, self.dimension, device)
        p, q = self._bias()
        walks = Walks(graph, partial(walk, graph, p=p, q=q), self.walk_length, self.num_walks)
        negatives, weight = self.num_negatives, walks.weights(self.window)
        steps = batches(walks, num_negatives=negatives, rate=self.learning_rate, rng=rng, time_limit=self.time_limit)
        train(centres, contexts, steps, weight, negatives, device)
        self.num_parameters_ = 2 * graph.num_rows * self.dimension
        return as_numpy(centres.values)

    def _bias(self) -> tuple[float, float]:
        """Return p and q of the walks."""
        return 1.0, 1.0
