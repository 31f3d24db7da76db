"""MNE: one vector per node for all layers, and a small one for each layer."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, parameters
from banditplex.baselines.node_vectors import NodeVectors
from banditplex.baselines.skipgram import Table, WalkGraph, Walks, as_numpy, random_table, walk, zero_table
from banditplex.rng import stream
from banditplex.training.data import choose_device


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

    def _learn(self) -> None:
        graph, device, rng = WalkGraph.of(self.mx_), choose_device(self.device), stream(self.seed, "mne")
        d, s = self.dimension, self.layer_dimension
        base, contexts = random_table(graph.num_nodes, d, rng, device), zero_table(graph.num_nodes, d, device)
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


BASELINES.add("mne", MNE)
