"""What of a pair does not depend on the drawn layers: the inputs of the term that is always on.

It stays the same while a model trains, so that training looks it up once for each pair.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from banditplex.nn import compiled
from banditplex.nn.graph import PackedGraph, ranges
from banditplex.nn.pair_features import own_features
from banditplex.pairs.visibility import Visibility

CHUNK, GPU_CHUNK = 1 << 15, 1 << 19
"""Pairs that are looked up at once, on a CPU and on a GPU."""
MAX_LISTED = 1 << 26
"""Layers in the lists of all pairs, about: if there are more, lists are looked up in every step."""


class Lists(NamedTuple):
    """For each of n pairs, the other layers that have it: places[start[i] : start[i + 1]].

    A place is the index of a layer; layers that have the reverse edge come after all layers.
    """

    start: Tensor  # (n + 1,)
    places: Tensor

    def take(self, at: Tensor) -> "Lists":
        """Return the lists of some pairs."""
        if compiled.usable(self.places):
            found = compiled.take_lists(at.numpy(), self.start.numpy(), self.places.numpy())
            return Lists(*(torch.from_numpy(each) for each in found))
        size = self.start[at + 1] - self.start[at]
        _, which = ranges(self.start[at], size)
        return Lists(torch.cat([size.new_zeros(1), torch.cumsum(size, 0)]), self.places[which])


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of n pairs before layers are drawn."""

    values: Tensor  # (n, F): features in the target layer, then evidence of all layers, if it counts
    row: Tensor  # (2, n), rows of the graph in the target layer
    lists: Lists | None  # None: not looked up

    @classmethod
    def of(
        cls, graph: PackedGraph, pairs: Tensor, target: Tensor, visibility: Visibility, *, lists: bool = True
    ) -> "Known":
        """Look up pairs (n, 2) of targets (n,)."""
        own = own_features(graph, pairs, target, visibility, listed=False)
        if graph.evidence is None or not visibility.evidence:
            return cls(own.values, own.row, None)
        found = lists_of(graph, pairs, target) if lists or graph.directed else None
        values = torch.cat([own.values, graph.evidence.columns(pairs, target, found)], 1)
        return cls(values, own.row, found if lists else None)

    def take(self, at: Tensor) -> "Known":
        """Return what is known of some pairs."""
        lists = None if self.lists is None else self.lists.take(at)
        return Known(self.values.index_select(0, at), self.row.index_select(1, at), lists)


def lists_of(graph: PackedGraph, pairs: Tensor, target: Tensor) -> Lists:
    """Return the layers that have pairs (n, 2), their targets (n,) excepted, in a graph with evidence."""
    assert graph.evidence is not None
    return graph.evidence.lists_of(pairs, target)


def joined(parts: list[Known]) -> Known:
    """Return what is known of the pairs of several parts, one after the other."""
    lists = [part.lists for part in parts if part.lists is not None]
    both = None
    if len(lists) == len(parts):
        shift = torch.cumsum(torch.tensor([0] + [len(each.places) for each in lists[:-1]]), 0).tolist()
        starts = [each.start[:-1] + by for each, by in zip(lists, shift, strict=True)]
        places = torch.cat([each.places for each in lists])
        both = Lists(torch.cat([*starts, places.new_tensor([len(places)])]), places)
    return Known(torch.cat([part.values for part in parts]), torch.cat([part.row for part in parts], 1), both)


def look_up(graph: PackedGraph, pairs: Tensor, target: Tensor, visibility: Visibility) -> Known:
    """Return what is known of pairs (n, 2) of targets (n,), looked up in chunks; lists, if they are not too long."""
    per_pair = 0.0 if graph.evidence is None else graph.evidence.layers_per_pair
    length = math.ceil(len(pairs) * per_pair)
    chunk = GPU_CHUNK if pairs.device.type == "cuda" else CHUNK
    parts = (slice(low, low + chunk) for low in range(0, max(1, len(pairs)), chunk))
    return joined(
        [Known.of(graph, pairs[part], target[part], visibility, lists=length <= MAX_LISTED) for part in parts]
    )
