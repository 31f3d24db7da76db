"""What all layers together say of a pair, at a cost that does not grow with their number.

Sampling is for what is expensive, the neighbourhoods of many layers. Three things are cheap: which layers have the pair
(a list, by an index from pairs to layers); the union of all layers, in which an edge counts once for every layer that
has it; and the target layer's own longer paths and positions. Nothing here sees the pair's own edge: common neighbours
and paths never use edges between its two nodes, positions come from a fold without it, and degrees are those in other
layers. Where the pair is hidden in every layer, the list is empty and degrees leave its edges out.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from banditplex import backend
from banditplex.backend import Lists, cross_columns
from banditplex.nn.graph import PackedGraph
from banditplex.nn.panels import Panels
from banditplex.nn.paths import TABLE, Paths
from banditplex.nn.spectral import NUM_COLUMNS, Spectral, fold_of
from banditplex.pairs.visibility import Visibility

NUM_OWN, NUM_POOLED = 3, 14
SPARSE = 2
"""If fewer than one in so many layers are targets, only those are prepared for what is asked of targets alone."""


def num_evidence(visibility: Visibility) -> int:
    """Return the number of columns of evidence."""
    own, pooled = NUM_OWN + NUM_COLUMNS, NUM_POOLED + NUM_COLUMNS
    return (own + (1 + visibility.pooled) * pooled + 2 * visibility.directed) * visibility.evidence


@dataclass(frozen=True, eq=False)
class Evidence:
    """The index of a graph with the union of all layers, and pools of some.

    Only some layers are asked about, the targets: `graph` may lack the others, but for union and pools.
    """

    graph: PackedGraph
    visibility: Visibility
    pair_key: Tensor  # (E,) source * num_nodes + destination of every edge, sorted; undirected pairs are ordered
    pair_layer: Tensor  # (E,) the layer of each
    layer_share: Tensor  # (L,) log of the layer's share of all edges
    pool_of: Tensor | None = None  # (num_plain,) the layer of the graph that is the pool of each target
    largest_table: int = TABLE  # as for `Paths.of`

    @classmethod
    def of(cls, graph: PackedGraph, visibility: Visibility, panels: Panels | None = None) -> "Evidence":
        """Index a graph, for the targets of panels; None: for all layers, without pools."""
        assert graph.pair_key is not None
        assert graph.pair_layer is not None
        size = torch.bincount(graph.pair_layer, minlength=graph.num_layers)
        share = torch.log((size.float() + 1) / (int(size.sum()) + 1))
        index = graph.pair_key, graph.pair_layer, share
        if panels is None:
            return cls(graph, visibility, *index)
        pool_of = None
        if visibility.pooled:
            pools = panels.pools()[1]
            pool_of = torch.full((graph.num_plain,), graph.num_plain, device=graph.device)
            pool_of[list(pools)] = graph.num_plain + 1 + torch.tensor(list(pools.values()), device=graph.device)
        if SPARSE * len(panels.targets) < graph.num_plain:
            asked = [*panels.targets.tolist(), *range(graph.num_plain, graph.num_layers)]
            graph = graph.only(torch.tensor(asked, device=graph.device))
        return cls(graph, visibility, *index, pool_of)

    @cached_property
    def layers_per_pair(self) -> float:
        """How many layers have a pair, on average over the pairs that any layer has."""
        return len(self.pair_key) / max(1, len(torch.unique_consecutive(self.pair_key)))

    @cached_property
    def paths(self) -> Paths:
        """Paths of length 3."""
        return Paths.of(self.graph, largest=self.largest_table)

    @cached_property
    def spectral(self) -> Spectral:
        """Positions of nodes."""
        return Spectral.of(self.graph)

    @cached_property
    def strength(self) -> Tensor:
        """The number of edges, in all layers together, of each row of the union, (R + 1,)."""
        lists = self.graph.both
        assert lists.copies is not None
        rows = torch.repeat_interleave(lists.row_degree)
        return torch.zeros(len(lists.row_degree), device=rows.device).index_add_(0, rows, lists.copies[:-1].float())

    def seen_by(self, visibility: Visibility) -> "Evidence":
        """Return the same index for another visibility; paths and positions do not depend on it."""
        other = copy(self)
        object.__setattr__(other, "visibility", visibility)
        return other

    def lists_of(self, pairs: Tensor, target: Tensor) -> Lists:
        """Return the layers that have pairs (n, 2), their targets (n,) excepted, as one list for each pair."""
        if self.visibility.hides_everywhere:
            return Lists(target.new_zeros(len(target) + 1), target[:0])
        ways = [pairs, pairs.flip(1)] if self.graph.directed else [pairs.sort(1).values]
        key = torch.stack([way[:, 0] * self.graph.num_nodes + way[:, 1] for way in ways])
        return Lists(*backend.find_lists(key, target, self.pair_key, self.pair_layer, self.graph.num_plain))

    def layers_of(self, pairs: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same as one list of all pairs: pair, sorted, layer, and whether it has the reverse edge (0, 1)."""
        start, places = self.lists_of(pairs, target)
        reverse = (places >= self.graph.num_plain).long()
        return torch.repeat_interleave(torch.diff(start)), places - reverse * self.graph.num_plain, reverse

    @torch.no_grad()
    def columns(self, pairs: Tensor, target: Tensor, having: Lists | None = None) -> Tensor:
        """Return the evidence (n, `num_evidence`) on pairs (n, 2) of target layers (n,).

        The other layers `having` the pairs count in directed graphs; they are looked up if they are not given.

        In the target layer: log(1 + paths of length 3), the same weighted; log of the layer's share of all edges. In
        the union: log(1 + common neighbours), log(1 + Adamic-Adar), sqrt(resource allocation); with the number of
        layers of an edge as its weight: log(1 + sum of products), log(1 + sum of minima), sqrt(weighted resource
        allocation); both kinds of paths. Across target layer and union: log(1 + count), log(1 + Adamic-Adar),
        sqrt(resource allocation) of nodes next to one end in the one and to the other end in the other. Of the other
        layers: log(1 + layers with the pair), and logs of the smaller and larger number of edges of its nodes; if
        directed also log(1 + layers with the edge) and log(1 + layers with the reverse edge). Then what `Spectral` says
        of the target layer and of the union. With pools, the columns of the union follow for the pool of the target.
        """
        lists, union = self.graph.both, torch.full_like(target, self.graph.num_plain)
        row = lists.rows_of(pairs, target)
        near = torch.log1p(self.paths.between(pairs, target, row))
        fold = fold_of(pairs, self.graph.num_nodes)
        pooled, positions = self._pooled(pairs, target, row, union, fold)
        columns = [near, self.layer_share[target].unsqueeze(1), *pooled]
        if self.graph.directed:
            columns.append(self._directions(self.lists_of(pairs, target) if having is None else having))
        columns += [self.spectral.columns(pairs, target, row, fold), positions]
        if self.visibility.pooled and self.pool_of is not None:
            columns.append(self.pool_columns(pairs, target, self.pool_of[target]))
        return torch.cat(columns, 1)

    @torch.no_grad()
    def pool_columns(self, pairs: Tensor, target: Tensor, pool: Tensor) -> Tensor:
        """Return what pools (n,), as layers of the graph, say of pairs (n, 2) of target layers (n,)."""
        row = self.graph.both.rows_of(pairs, target)
        pooled, positions = self._pooled(pairs, target, row, pool, fold_of(pairs, self.graph.num_nodes))
        return torch.cat([*pooled, positions], 1)

    def _pooled(
        self, pairs: Tensor, target: Tensor, row: Tensor, pool: Tensor, fold: Tensor
    ) -> tuple[list[Tensor], Tensor]:
        """Return what pools (n,) of several layers, or the union, say of pairs: structure, and positions."""
        merged = self.graph.both.rows_of(pairs, pool)
        common = backend.weighted_columns(self.graph.both, merged[0], merged[1], self.strength)
        far = torch.log1p(self.paths.between(pairs, pool, merged))
        across, others = cross_columns(self.graph.both, row, merged), self._in_others(pairs, target, row, merged)
        return [common, far, across, others], self.spectral.columns(pairs, pool, merged, fold)

    def _in_others(self, pairs: Tensor, target: Tensor, row: Tensor, merged: Tensor) -> Tensor:
        """Return how many other layers of the pool have the pair, and the edges of its nodes in them."""
        lists = self.graph.both
        assert lists.copies is not None
        joined = lists.find(row[0], pairs[:, 1])[0]
        found, arc = lists.find(merged[0], pairs[:, 1])
        others = (lists.copies[arc] * found - joined.float()).clamp(min=0)
        strength = self.strength[merged] - lists.row_degree[row]
        if self.visibility.hides_everywhere:
            strength, others = strength - others, torch.zeros_like(others)
        logs = torch.log1p(strength.clamp(min=0)).sort(0).values
        return torch.stack([torch.log1p(others), logs[0], logs[1]], 1)

    def _directions(self, having: Lists) -> Tensor:
        """Return in how many of the other layers having pairs there is the edge, and the reverse edge."""
        which, reverse = torch.repeat_interleave(torch.diff(having.start)), having.places >= self.graph.num_plain
        count = torch.bincount(2 * which + reverse, minlength=2 * (len(having.start) - 1)).view(-1, 2)
        return torch.log1p(count.float())
