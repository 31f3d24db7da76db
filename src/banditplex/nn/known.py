"""What of a pair does not depend on the drawn layers: the inputs of the term that is always on.

It stays the same while a model trains, so that training looks it up once for each pair. Where layers are few, training
does the same for the inputs of the terms of all other layers.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from banditplex import backend
from banditplex.backend import Lists
from banditplex.backend.compiling import map_on_cpu
from banditplex.nn.pair_features import PairFeatures, other_features, own_features
from banditplex.nn.view import View

LOOKED_UP_AT_ONCE, GPU_LOOKED_UP_AT_ONCE = 1 << 15, 1 << 19  # pairs that are looked up at once, on a CPU and on a GPU
MAX_LISTED, GPU_MAX_LISTED = 1 << 26, 1 << 28
"""Layers in the lists of all pairs, about: if there are more, lists are looked up in every step."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of n pairs before layers are drawn."""

    values: Tensor  # (n, F): features in the target layer, then evidence of all layers, if it counts
    row: Tensor  # (2, n), rows of the graph in the target layer
    lists: Lists | None  # None: not looked up
    others: Tensor | None = None  # (n, L - 1, G): features in each other layer; None: not looked up

    @classmethod
    def of(cls, view: View, pairs: Tensor, target: Tensor, *, lists: bool = True, others: bool = False) -> "Known":
        """Look up pairs (n, 2) of targets (n,)."""
        own = own_features(view.graph, pairs, target, view.visibility)
        there = None
        if others:
            every = torch.arange(view.graph.num_plain - 1, device=target.device)
            layers = every + (every >= target.unsqueeze(1)).long()
            found = other_features(view.graph, pairs, own.row, layers, view.visibility).values
            there = found.view(*layers.shape, found.shape[1])
        if view.evidence is None:
            return cls(own.values, own.row, None, there)
        having = view.evidence.lists_of(pairs, target) if lists or view.graph.directed else None
        values = torch.cat([own.values, view.evidence.columns(pairs, target, having)], 1)
        return cls(values, own.row, having if lists else None, there)

    def take(self, at: Tensor) -> "Known":
        """Return what is known of some pairs."""
        lists = None if self.lists is None else self.lists.take(at)
        others = None if self.others is None else self.others.index_select(0, at)
        return Known(self.values.index_select(0, at), self.row.index_select(1, at), lists, others)

    def part(self, low: int, high: int) -> "Known":
        """Return what is known of the pairs low to high, in the same memory."""
        lists = None if self.lists is None else self.lists.part(low, high)
        others = None if self.others is None else self.others[low:high]
        return Known(self.values[low:high], self.row[:, low:high], lists, others)

    def in_layers(self, view: View, pairs: Tensor, target: Tensor, layers: Tensor) -> PairFeatures:
        """Return the features of the pairs (n, 2) of targets (n,) in other layers (n, k): n * k rows."""
        if self.others is None:
            return other_features(view.graph, pairs, self.row, layers, view.visibility)
        values = backend.take_layers(self.others, target, layers)
        return PairFeatures.without_lists(values, pairs, layers.reshape(-1), self.row[:, :0])


def joined(parts: list[Known]) -> Known:
    """Return what is known of the pairs of several parts, one after the other."""
    lists = [part.lists for part in parts if part.lists is not None]
    both = None
    if len(lists) == len(parts):
        shift = torch.cumsum(torch.tensor([0] + [len(each.places) for each in lists[:-1]]), 0).tolist()
        starts = [each.start[:-1] + by for each, by in zip(lists, shift, strict=True)]
        places = torch.cat([each.places for each in lists])
        both = Lists(torch.cat([*starts, places.new_tensor([len(places)])]), places)
    others = [part.others for part in parts if part.others is not None]
    values, row = torch.cat([part.values for part in parts]), torch.cat([part.row for part in parts], 1)
    return Known(values, row, both, torch.cat(others) if others else None)


def look_up(view: View, pairs: Tensor, target: Tensor, *, others: bool = False) -> Known:
    """Return what is known of pairs (n, 2) of targets (n,), looked up in chunks; lists, if they are not too long."""
    per_pair = 0.0 if view.evidence is None else view.evidence.layers_per_pair
    length = math.ceil(len(pairs) * per_pair)
    on_gpu = pairs.device.type == "cuda"
    chunk, most = (GPU_LOOKED_UP_AT_ONCE, GPU_MAX_LISTED) if on_gpu else (LOOKED_UP_AT_ONCE, MAX_LISTED)

    def look(low: int) -> Known:
        part = slice(low, low + chunk)
        return Known.of(view, pairs[part], target[part], lists=length <= most, others=others)

    first = look(0)  # tables for all are made here
    return joined([first, *map_on_cpu(look, range(chunk, len(pairs), chunk), pairs.device)])
