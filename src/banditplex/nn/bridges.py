"""Bridges: edges of another layer between the neighbours of a pair's two ends, u - w = x - v with w = x there.

The outer two edges are in the target layer, and the middle one in the other. Layers of the same communities have many,
even if they share no edge, and no node is a neighbour of both ends. Where links join unlike nodes, such as buyers and
goods, nothing else shows that two layers are alike. A path never uses the pair's own edge.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from banditplex.backend import ranges
from banditplex.backend.packing import stable_sort
from banditplex.nn.graph import PackedGraph

MOST, FEWEST = 8, 2  # neighbours of a node that are looked at; where it has more, some of them, evenly spread
EDGES = 1_000_000  # of all layers that may be found between them; where there would be more, neighbours are fewer


@dataclass(frozen=True, eq=False)
class Bridges:
    """The bridges of some pairs in all layers."""

    graph: PackedGraph
    places: Tensor  # (n,) how many w, x of each pair were looked at
    pair: Tensor  # (B,) the pair of each bridge, sorted by layer
    start: Tensor  # (L + 1,) where the bridges of a layer start

    @classmethod
    def of(cls, graph: PackedGraph, pairs: Tensor, row: Tensor, names: Tensor | None = None) -> "Bridges":
        """Look for those of pairs (n, 2), whose rows (2, n) in their target layers are known.

        With `names` (num_nodes,), node i is called names[i] in all other layers.
        """
        key, layer = graph.joined
        room = math.isqrt(int(EDGES / max(1.0, len(pairs) * graph.layers_per_pair)))
        most = min(max(room, FEWEST), MOST)
        near, far = (_Some.of(graph, row[end], pairs[:, 1 - end], most) for end in (0, 1))
        pair, place = ranges(torch.zeros_like(near.size), near.size * far.size)
        w = near.nodes[near.first[pair] + place // far.size[pair]]
        x = far.nodes[far.first[pair] + place % far.size[pair]]
        apart = torch.nonzero(w != x).squeeze(1)
        w, x, pair = w[apart], x[apart], pair[apart]
        if names is not None:
            w, x = names[w], names[x]
        code = torch.minimum(w, x) * graph.num_nodes + torch.maximum(w, x)
        first, last = torch.searchsorted(key, code), torch.searchsorted(key, code, right=True)
        place, edge = ranges(first, last - first)
        layers, order = stable_sort(layer[edge], graph.num_layers)
        start = torch.searchsorted(layers, torch.arange(graph.num_layers + 1, device=layers.device, dtype=layers.dtype))
        return cls(graph, torch.bincount(pair, minlength=len(pairs)), pair[place[order]], start)

    def count(self, layers: Tensor) -> Tensor:
        """Return how many each pair has in each of some layers (m,): (n, m)."""
        first, size = self.start[layers], torch.diff(self.start)[layers]
        column, at = ranges(first, size)
        cells = self.pair[at] * len(layers) + column
        return torch.bincount(cells, minlength=len(self.places) * len(layers)).view(-1, len(layers))

    def columns(self, layers: Tensor) -> Tensor:
        """Return log((1 + bridges) / (1 + expected)), (n, m): as many are expected as random edges would make.

        Without what is expected, any layer would say how many neighbours the two ends have in the target.
        """
        lists, nodes = self.graph.both, self.graph.num_nodes
        arcs = torch.diff(lists.indptr[self.graph.layer_rows])[layers]
        expected = self.places.unsqueeze(1) * (arcs / max(1, nodes * (nodes - 1)))
        return torch.log1p(self.count(layers)) - torch.log1p(expected)


class _Some(NamedTuple):
    """Some neighbours of n rows, as one list."""

    nodes: Tensor
    first: Tensor  # (n,) place of the first one of each row
    size: Tensor  # (n,)

    @classmethod
    def of(cls, graph: PackedGraph, row: Tensor, other: Tensor, most: int) -> "_Some":
        """Choose `most` neighbours of each row, never the other end (n,): the pair's own edge must change nothing."""
        lists = graph.both
        joined, own = lists.find(row, other)
        begin, degree = lists.indptr[row], lists.row_degree[row] - joined.long()
        size = degree.clamp(max=most)
        which, place = ranges(torch.zeros_like(size), size)
        arc = begin[which] + place * degree[which] // size[which]
        arc += joined[which] & (arc >= own[which])
        return cls(lists.neighbour[arc], torch.cumsum(size, 0) - size, size)
