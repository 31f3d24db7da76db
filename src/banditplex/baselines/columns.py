"""Structural columns of pairs for baselines: the same that our own model looks at, in numpy arrays.

`Visibility` says what is hidden of a pair. Columns of a training edge are those of the multiplex without it.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Bools, Floats, Ints
from banditplex.backend import Lists, shared_sums
from banditplex.backend.packing import EdgeTensors
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph
from banditplex.nn.evidence import Evidence
from banditplex.nn.known import Known
from banditplex.nn.pair_features import compute_pair_features, num_features
from banditplex.nn.paths import FEW_PAIRS
from banditplex.nn.view import View
from banditplex.pairs.visibility import Visibility

MAX_OTHERS = 40  # with more layers than this, columns of each other layer are left out
COLUMNS_AT_ONCE = 1 << 16  # pairs described at once


class Linked(NamedTuple):
    """Which pairs (n,) are edges of a graph, and which of these edges are hidden."""

    known: Bools
    hidden: Bools


class StructuralColumns:
    """Columns of pairs (n, 2) of node indices in a target layer, given by its index."""

    def __init__(self, mx: Multiplex, visibility: Visibility) -> None:
        self.mx, self.visibility = mx, replace(visibility, directed=mx.directed, evidence=True, weighted=False)
        edges = replace(EdgeTensors.of(mx, "cpu"), weight=None)
        self._edges = edges.keep(~edges.is_loop)
        self._only: int | None = None  # the target that is asked about; None: any
        self._shares: dict[int, tuple[Ints, Ints]] = {}

    def without(self, pairs: Ints, target: int) -> "StructuralColumns":
        """Return the columns of the multiplex without edges (n, 2) of a target, and what is hidden with them."""
        less, edges, hidden = copy(self), self._edges, self.visibility
        layer, kept = edges.layer.numpy(), np.ones(len(edges.layer), np.bool_)
        here = slice(0, None) if hidden.hides_everywhere else slice(*np.searchsorted(layer, [target, target + 1]))
        ends = torch.stack([edges.source[here], edges.destination[here]], 1).numpy()
        gone = hidden.keys(np.full(len(pairs), target), pairs, self.mx.num_nodes)
        kept[here] = ~np.isin(hidden.keys(layer[here], ends, self.mx.num_nodes), gone)
        less._edges, less._only = edges.keep(torch.from_numpy(kept)), target
        less._shares = {}
        for name in ("graph", "_evidence"):
            less.__dict__.pop(name, None)
        return less

    @cached_property
    def graph(self) -> PackedGraph:
        """The layers and, as the last one, their union; of many layers the one that is asked about."""
        layers = None if self._only is None or self.mx.num_layers <= MAX_OTHERS else torch.tensor([self._only])
        return PackedGraph.from_edges(self._edges, union=True, layers=layers)

    @cached_property
    def _evidence(self) -> Evidence:
        """That of the layers whose longer paths and positions are known: all, or the one that is asked about.

        Paths of large layers are sampled: tables of all pairs would take longer than a classifier.
        """
        graph = self.graph
        if self._only is not None:
            graph = graph.only(torch.tensor([self._only, graph.num_layers - 1]))
        return replace(Evidence.of(graph, self.visibility), largest_table=FEW_PAIRS)

    def pooled(self, pairs: Ints, target: int) -> Floats:
        """Return the columns (n, F) that mean the same in every target: what our networks see before layers are drawn.

        Last come sums over the other layers with the pair, or its reverse, of their similarity to the target.
        """
        parts, view = [], View(self._evidence.graph, self.visibility, self._evidence)
        for asked, layer in self._asked(pairs, target):
            known = Known.of(view, asked, layer)
            assert known.lists is not None
            similar = self._similar_overlap(asked, known.lists, target)
            parts.append(np.column_stack([known.values.double().numpy(), similar]))
        return np.concatenate(parts)

    def every(self, pairs: Ints, target: int) -> Floats:
        """Return `pooled` and, if there are at most `MAX_OTHERS` layers, the columns of each other layer."""
        found = self.pooled(pairs, target)
        if self.mx.num_layers > MAX_OTHERS:
            return found
        others = [layer for layer in range(self.mx.num_layers) if layer != target]
        return np.column_stack([found, self.beside(pairs, target, others)[:, num_features(self.visibility)[0] :]])

    def beside(self, pairs: Ints, target: int, others: Sequence[int]) -> Floats:
        """Return the columns of pairs in the target layer, then in other layers: all that `evidence="drawn"` sees."""
        parts = []
        for asked, layer in self._asked(pairs, target):
            table = torch.tensor(others, dtype=torch.int64).expand(len(asked), -1)
            own, other = compute_pair_features(self.graph, asked, layer, table, self.visibility)
            parts.append(torch.cat([own.values, other.values.view(len(asked), -1)], 1).double().numpy())
        return np.concatenate(parts)

    def _asked(self, pairs: Ints, target: int) -> list[tuple[Tensor, Tensor]]:
        """Return pairs as tensors, in chunks, with their layers; undirected pairs with the smaller node first."""
        pairs = pairs if self.mx.directed else np.sort(pairs, axis=1)
        chunks = torch.split(torch.from_numpy(np.ascontiguousarray(pairs)), COLUMNS_AT_ONCE)
        return [(some, torch.full((len(some),), target)) for some in chunks]

    def _similar_overlap(self, pairs: Tensor, having: Lists, target: int) -> Floats:
        """Return sums (n, 1 or 2) of similarities to the target of the other layers having pairs, or their reverse.

        The similarity of two layers is the Jaccard index of their linked pairs, without the asked pair.
        """
        shared, joint = self._shared(target)
        known = self._own(pairs, torch.full((len(pairs),), target)).numpy()
        place, num_layers, ways = having.places.numpy(), self.mx.num_layers, 1 + self.mx.directed
        which = np.repeat(np.arange(len(pairs)), np.diff(having.start.numpy()))
        layer = place % num_layers
        similar = np.maximum(shared[layer] - known[which], 0) / joint[layer]
        sums = np.bincount(ways * which + place // num_layers, similar, ways * len(pairs))
        return np.asarray(sums, np.float64).reshape(-1, ways)

    def _shared(self, target: int) -> tuple[Ints, Ints]:
        """Return how many pairs are linked in the target and in each layer (L,), and in one of the two."""
        if target not in self._shares:
            linked, num_layers = self._edges.undirected(), self.mx.num_layers
            own = linked.keep(linked.layer == target)
            which, layer, _ = self._evidence.layers_of(torch.stack([own.source, own.destination], 1), own.layer)
            both = torch.unique(which * num_layers + layer) % num_layers  # once for both directions
            shared = torch.bincount(both, minlength=num_layers).numpy()
            size = torch.bincount(linked.layer, minlength=num_layers).numpy()
            self._shares[target] = shared, np.maximum(size + size[target] - shared, 1)
        return self._shares[target]

    # Single columns, as they are

    def num_others(self, pairs: Ints, target: int) -> Floats:
        """Return the number of other layers with the pair, in its direction; 0 if it is hidden everywhere."""
        counts = []
        for asked, layer in self._asked(pairs, target):
            which, _, reverse = self._evidence.layers_of(asked, layer)
            counts.append(np.bincount(which[reverse == 0].numpy(), minlength=len(asked)))
        return np.concatenate(counts).astype(np.float64)

    def linked(self, pairs: Ints, target: int, *, union: bool = False) -> Linked:
        """Return which pairs are edges of the target or, with `union`, of any layer; and which no layer shows."""
        asked, layer = torch.from_numpy(np.ascontiguousarray(pairs)), torch.full((len(pairs),), target)
        lists, own = self.graph.both, self._own(asked, layer)
        at = torch.full_like(layer, self.graph.num_layers - 1) if union else layer
        known, arc = lists.find(lists.rows(at, asked[:, 0]), asked[:, 1])
        hidden = own
        if union:
            assert lists.copies is not None
            hidden = known & ((lists.copies[arc] == own.int()) | self.visibility.hides_everywhere)
        return Linked(known.numpy(), hidden.numpy())

    def neighbourhood(self, pairs: Ints, target: int, *, union: bool = False) -> dict[str, Floats]:
        """Return columns (n,) of pairs by name, in the target layer or in the union, without an edge that is hidden."""
        lists, layer = self.graph.both, self.graph.num_layers - 1 if union else target
        row = [lists.rows(torch.full((len(pairs),), layer), torch.from_numpy(ends.copy())) for ends in pairs.T]
        common, adamic, allocation = shared_sums(lists, *row).double().numpy().T
        degree = lists.row_degree[torch.stack(row)].double().numpy()
        degree -= self.linked(pairs, target, union=union).hidden
        jaccard = common / np.maximum(degree.sum(0) - common, 1)
        low, high = np.sort(degree, axis=0)
        names = "common", "adamic", "allocation", "jaccard", "low degree", "high degree"
        return dict(zip(names, (common, adamic, allocation, jaccard, low, high), strict=True))

    def _own(self, pairs: Tensor, target: Tensor) -> Tensor:
        """Say which pairs are linked in the target layer only by edges that are hidden."""
        lists = self.graph.both
        own = lists.find(lists.rows(target, pairs[:, 0]), pairs[:, 1])[0]
        if self.mx.directed and not self.visibility.hides_reverse:
            own &= ~self.graph.has_edge(pairs.flip(1), target)
        return own
