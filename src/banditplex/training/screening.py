"""Which of thousands of layers are worth a look: one pass over all edges, no model.

A layer is promising if its edges join nodes that lie close to each other in the target layer, by the target's leading
eigenvectors, or if it shares edges with the target; both are compared with what a layer with the same degrees, or the
same number of edges, would have by chance.
"""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Ints
from banditplex.backend import ranges
from banditplex.backend.compiling import map_on_cpu
from banditplex.backend.packing import contains
from banditplex.nn.graph import PackedGraph
from banditplex.nn.spectral import Rows, Spectral

MAX_SEEN = 512  # edges of a layer that are looked at


def promising_layers(graph: PackedGraph, targets: Ints, count: int) -> Ints:
    """Return the `count` most promising other layers (T, count) of each target, or all, the best first."""
    asked = graph.only(torch.from_numpy(np.sort(targets)).to(graph.device))
    spectral, edges = Spectral.of(asked, whole=True), _Sample.of(graph)

    def best_of(target: int) -> Tensor:
        score = torch.maximum(closeness(asked, spectral, target, edges), overlap(graph, target, edges))
        score[target] = -torch.inf
        return torch.argsort(score, descending=True, stable=True)[: min(count, len(score) - 1)]

    return torch.stack(map_on_cpu(best_of, targets.tolist(), graph.device)).cpu().numpy()


class _Sample:
    """Some edges of every layer of a graph, with no edge twice."""

    def __init__(self, source: Tensor, destination: Tensor, layer: Tensor, num_layers: int, num_nodes: int) -> None:
        self.source, self.destination, self.layer = source, destination, layer
        self.num_layers, self.num_nodes = num_layers, num_nodes
        self.key = source * num_nodes + destination
        self.count = torch.bincount(layer, minlength=self.num_layers).clamp(min=1).double()

    @classmethod
    def of(cls, graph: PackedGraph) -> "_Sample":
        lists, num_layers = graph.out, graph.num_plain
        starts = torch.searchsorted(lists.row_key, torch.arange(num_layers + 1, device=graph.device) * graph.num_nodes)
        bounds = lists.indptr[starts]
        size = torch.diff(bounds)
        step = (size // (MAX_SEEN if graph.directed else 2 * MAX_SEEN)).clamp(min=1)
        layer, place = ranges(torch.zeros_like(size), size // step)
        arc = bounds[layer] + place * step[layer]
        row = torch.searchsorted(lists.indptr, arc, right=True) - 1
        source, destination = lists.row_key[row] % graph.num_nodes, lists.neighbour[arc]
        if not graph.directed:  # an arc each way
            once = torch.nonzero(source < destination).squeeze(1)
            source, destination, layer = source[once], destination[once], layer[once]
        return cls(source, destination, layer, num_layers, graph.num_nodes)

    def mean(self, values: Tensor) -> Tensor:
        """Return the means of values (n,) of edges over each layer."""
        return torch.bincount(self.layer, values.double(), minlength=self.num_layers) / self.count

    @cached_property
    def ends(self) -> Rows:
        """The share of each node in all ends of edges of each layer, (L, N)."""
        layer, node = self.layer.repeat(2), torch.cat([self.source, self.destination])
        key, times = torch.unique(layer * self.num_nodes + node, return_counts=True)
        row = key // self.num_nodes
        start = torch.searchsorted(row, torch.arange(self.num_layers, device=row.device))
        return Rows(key % self.num_nodes, start, (times / 2 / self.count[row]).float())


def closeness(graph: PackedGraph, spectral: Spectral, target: int, edges: _Sample) -> Tensor:
    """Return how many standard errors (L,) each layer's edges are closer in the target than ends of other edges are."""
    low, high = graph.layer_rows[target : target + 2].tolist()
    position = torch.zeros(graph.num_nodes, spectral.vectors.shape[2], device=graph.device)
    position[graph.both.row_key[low:high] % graph.num_nodes] = spectral.vectors[0, low:high]
    value = spectral.values[0, target]
    near = ((position * value).index_select(0, edges.source) * position.index_select(0, edges.destination)).sum(1)
    mean, square = edges.mean(near), edges.mean(near.square())
    by_chance = (edges.ends @ position).square() @ value
    error = ((square - mean.square()).clamp(min=0) / edges.count).sqrt().clamp(min=1e-12)
    return (mean - by_chance) / error


def overlap(graph: PackedGraph, target: int, edges: _Sample) -> Tensor:
    """Return how many standard errors (L,) more edges each layer shares with the target than by chance."""
    lists, num_nodes = graph.out, graph.num_nodes
    low, high = torch.searchsorted(lists.row_key, lists.row_key.new_tensor([target, target + 1]) * num_nodes).tolist()
    first, last = lists.indptr[[low, high]].tolist()
    row = torch.repeat_interleave(lists.row_degree[low:high]) + low
    known = (lists.row_key[row] % num_nodes) * num_nodes + lists.neighbour[first:last]
    shared = edges.mean(contains(known, edges.key).double()) * edges.count
    expected = edges.count * len(known) / num_nodes**2
    return (shared - expected) / (expected + 1).sqrt()
