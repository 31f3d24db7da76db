"""Graphs of which other processes hold some layers: what a batch needs of them is asked for.

All processes must ask equally often, for nothing if need be: each answers for its own layers while it asks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.known import Known, Lists, lists_of
from banditplex.nn.pair_features import PairFeatures
from banditplex.pairs.visibility import Visibility

Encode = Callable[[Tensor, Tensor, HiddenEdges], Tensor]
"""Returns the embeddings (n, width) of layers (n,) and nodes (n,) that are here, without some hidden edges."""


class Elsewhere(Protocol):
    """The layers of a graph that other processes hold."""

    def add_up(self, values: Tensor) -> Tensor:
        """Return the sums of values over all processes."""

    def join(self, values: Tensor) -> Tensor:
        """Return the values (n, ...) of all processes, one after the other."""

    def most(self, number: int) -> int:
        """Return the largest of the numbers of all processes."""

    def fetch(self, graph: PackedGraph, key: Tensor) -> PackedGraph:
        """Return a graph with the rows of keys (n,), sorted, of layers here and elsewhere, and no others."""

    def lists_of(self, graph: PackedGraph, pairs: Tensor, target: Tensor) -> Lists:
        """Return the layers, here and elsewhere, that have pairs (n, 2), their targets (n,) excepted."""

    def embed(self, graph: PackedGraph, key: Tensor, hidden: HiddenEdges, encode: Encode) -> Tensor:
        """Return the embeddings (n, width) of keys (n,) of layers here and elsewhere, encoded where the layers are."""


def bring_near(
    graph: PackedGraph, pairs: Tensor, target: Tensor, layers: Tensor, known: Known | None, visibility: Visibility
) -> tuple[PackedGraph, Known | None]:
    """Return a graph that has pairs (n, 2) in target layers (n,) and others (n, k), and what is known of them in it.

    If all layers are here, that is the graph itself. Else rows of layers that are elsewhere are fetched.
    """
    if graph.elsewhere is None:
        return graph, known
    if known is None:
        known = Known.of(graph, pairs, target, visibility)
    if known.lists is None and visibility.evidence:
        known = replace(known, lists=lists_of(graph, pairs, target))
    near = graph.fetch(pairs, torch.cat([target.unsqueeze(1), layers], 1))
    row = near.both.rows(target.repeat(2), pairs.T.reshape(-1)).view(2, -1)
    return near, replace(known, row=row)


@dataclass(frozen=True, eq=False)
class FetchedBlock:
    """The (layer, node) whose embeddings were fetched: what a `Block` is, for those who look embeddings up."""

    graph: PackedGraph
    key: Tensor  # (V,) layer * num_nodes + node, sorted

    @classmethod
    def of(
        cls, graph: PackedGraph, described: tuple[PairFeatures, PairFeatures], asked: tuple[Tensor, Tensor] | None
    ) -> "FetchedBlock":
        """Take the ends of all pairs described, their common neighbours, and further layers (m,) and nodes (m,)."""
        layer = [each.layer.repeat(2) for each in described] + [each.layer[each.which] for each in described]
        node = [each.pairs.T.reshape(-1) for each in described]
        node += [graph.both.neighbour[each.arc] for each in described]
        if asked is not None:
            layer, node = [*layer, asked[0]], [*node, asked[1]]
        return cls(graph, torch.unique(torch.cat(layer) * graph.num_nodes + torch.cat(node)))

    def vertex(self, layer: Tensor, node: Tensor, row: Tensor | None = None) -> Tensor:
        """Return the place of each (layer, node), which must have been asked for; its row does not matter."""
        return torch.searchsorted(self.key, layer * self.graph.num_nodes + node)
