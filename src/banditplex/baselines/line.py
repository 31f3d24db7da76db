"""LINE: vectors from the edges alone, of first and second order."""

from functools import partial

import numpy as np

from banditplex.baselines.base import add_one_graph
from banditplex.baselines.graph import Floats
from banditplex.baselines.node_vectors import OneGraphVectors
from banditplex.baselines.skipgram import Table, Walks, as_numpy, batches, random_table, train, zero_table
from banditplex.baselines.walks import WalkGraph, first_order
from banditplex.errors import InputError
from banditplex.rng import stream
from banditplex.training.data import choose_device


class LINE(OneGraphVectors):
    """LINE (Tang et al., WWW 2015): node vectors of first-order and second-order proximity, side by side.

    First order: neighbours get similar vectors, with the loss - log s(v_i . v_j) - K mean_n log s(- v_i . v_n) of each
    edge. Second order: nodes with the same neighbours do; the loss is the same, with a context c_j in place of v_j.
    Each half is divided by its length, and the two are put side by side.

    Differs from the original: Adagrad on mini-batches of edges (see `skipgram.py`); edges are drawn uniformly and
    without weights. The number of samples, a fixed 10 billion in the paper, is in proportion to the edges.

    Parameters
    ----------
    order
        "both", "first" or "second".
    dimension
        Size of each half.
    epochs
        How often each edge is drawn, in each direction.
    graph, num_negatives, learning_rate, operator, time_limit, device, hide, seed
        As for `DeepWalk`; the time limit holds for each order.
    """

    def __init__(
        self,
        *,
        graph: str = "target",
        order: str = "both",
        dimension: int = 128,
        epochs: int = 100,
        num_negatives: int = 5,
        learning_rate: float = 0.1,
        operator: str = "cosine",
        time_limit: float | None = None,
        device: str = "cpu",
        hide: str | None = None,
        seed: int = 0,
    ) -> None:
        self.graph, self.order, self.dimension, self.epochs = graph, order, dimension, epochs
        self.num_negatives, self.learning_rate, self.operator = num_negatives, learning_rate, operator
        self.time_limit, self.device, self.hide, self.seed = time_limit, device, hide, seed

    def _learn_rows(self, graph: WalkGraph) -> Floats:
        orders = ("first", "second") if self.order == "both" else (self.order,)
        if not set(orders) <= {"first", "second"}:
            raise InputError(f"Expected order to be one of both, first, second, got {self.order!r}.")
        halves = [self._learn_order(graph, order) for order in orders]
        self.num_parameters_ = sum((1 + (order == "second")) * graph.num_rows * self.dimension for order in orders)
        return np.concatenate([half / np.maximum(np.linalg.norm(half, axis=1), 1e-12)[:, None] for half in halves], 1)

    def _learn_order(self, graph: WalkGraph, order: str) -> Floats:
        device, rng = choose_device(self.device), stream(self.seed, "line", order)
        centres = random_table(graph.num_rows, self.dimension, rng, device)
        contexts: Table = centres if order == "first" else zero_table(graph.num_rows, self.dimension, device)
        ends = np.repeat(np.arange(graph.num_rows), graph.degree)
        edges = Walks(graph, partial(first_order, graph), 2, self.epochs, ends)
        negatives = self.num_negatives
        steps = batches(edges, num_negatives=negatives, rate=self.learning_rate, rng=rng, time_limit=self.time_limit)
        train(centres, contexts, steps, edges.weights(1), negatives, device)
        return as_numpy(centres.values)


add_one_graph("line", LINE)
