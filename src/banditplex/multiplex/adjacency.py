"""Compressed neighbour lists (CSR) of all layers."""

from dataclasses import dataclass

import numpy as np

from banditplex.arrays import Ints
from banditplex.multiplex.build import stable_order


@dataclass(frozen=True)
class Adjacency:
    """Neighbour lists of every node that has a neighbour, in every layer.

    A row is one active node of one layer. Rows `offsets[l]` to `offsets[l + 1] - 1` belong to layer l. Row r is
    node `nodes[r]` (sorted within a layer), and its neighbours are `neighbours[indptr[r]:indptr[r + 1]]`, sorted.
    `edge` is the position of each neighbour's edge in `Multiplex.edge_index`. A directed edge makes its destination
    a neighbour of its source; an undirected edge counts in both directions. Memory grows with edges and active
    nodes, not with layers x nodes.
    """

    offsets: Ints  # (num_layers + 1,)
    nodes: Ints  # (rows,)
    indptr: Ints  # (rows + 1,)
    neighbours: Ints
    edge: Ints

    def of(self, layer: int, node: int) -> Ints:
        """Return the neighbours of node index `node` in layer index `layer`."""
        low, high = self.offsets[layer], self.offsets[layer + 1]
        row = low + np.searchsorted(self.nodes[low:high], node)
        if row == high or self.nodes[row] != node:
            return np.empty(0, np.int64)
        return self.neighbours[self.indptr[row] : self.indptr[row + 1]]

    @property
    def degrees(self) -> Ints:
        """Number of neighbours of each row."""
        return np.diff(self.indptr)


def build_adjacency(edges: Ints, offsets: Ints, *, num_nodes: int, directed: bool) -> Adjacency:
    """Build neighbour lists from sorted edges (2, E) and layer offsets (L + 1,)."""
    num_layers = len(offsets) - 1
    layer = np.repeat(np.arange(num_layers), np.diff(offsets))
    edge = np.arange(edges.shape[1])
    node, neighbour = edges
    if not directed:
        other = edges[0] != edges[1]  # a self loop is one neighbour, not two
        node, neighbour = np.concatenate([edges, edges[::-1, other]], axis=1)
        layer, edge = np.concatenate([layer, layer[other]]), np.concatenate([edge, edge[other]])
        order = stable_order(node, neighbour, layer, num_nodes=num_nodes, num_layers=num_layers)
        layer, node, neighbour, edge = layer[order], node[order], neighbour[order], edge[order]
    new = np.ones(len(node), np.bool_)
    new[1:] = (np.diff(layer) != 0) | (np.diff(node) != 0)
    starts = np.flatnonzero(new)
    return Adjacency(
        offsets=np.searchsorted(layer[starts], np.arange(num_layers + 1)).astype(np.int64, copy=False),
        nodes=node[starts],
        indptr=np.append(starts, len(node)),
        neighbours=neighbour,
        edge=edge,
    )
