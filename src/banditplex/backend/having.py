"""Which layers have a pair, as lists."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.backend.choice import offer, on_cpu
from banditplex.backend.compiling import compile_loop, find_place, in_parts
from banditplex.backend.lists import ranges

FEW = 1 << 14  # pairs up to which compiled loops save milliseconds, and take half a second to be compiled


class Lists(NamedTuple):
    """For each of n pairs, the other layers that have it: places[start[i] : start[i + 1]].

    A place is the index of a layer; layers that have the reverse edge come after all layers.
    """

    start: Tensor  # (n + 1,)
    places: Tensor

    def take(self, at: Tensor) -> "Lists":
        """Return the lists of some pairs."""
        return Lists(*take_lists(at, self.start, self.places))

    def part(self, low: int, high: int) -> "Lists":
        """Return the lists of the pairs low to high, in the same memory."""
        return Lists(self.start[low : high + 1], self.places)


@offer
def take_lists(at: Tensor, start: Tensor, entries: Tensor) -> tuple[Tensor, Tensor]:
    """Return some of the lists entries[start[i] : start[i + 1]], the same way."""
    size = start[at + 1] - start[at]
    _, which = ranges(start[at], size)
    return torch.cat([size.new_zeros(1), torch.cumsum(size, 0)]), entries[which]


@offer
def find_lists(
    key: Tensor, target: Tensor, pair_key: Tensor, pair_layer: Tensor, num_layers: int
) -> tuple[Tensor, Tensor]:
    """Return the layers that have n pairs, targets (n,) excepted, as the fields of `Lists`.

    `key` (1 or 2, n) are the keys of pairs, and of the reverse pairs; pairs of all layers are sorted by `pair_key`.
    """
    first, last = torch.searchsorted(pair_key, key), torch.searchsorted(pair_key, key, right=True)
    which, at = ranges(first.reshape(-1), (last - first).reshape(-1))
    size = max(1, len(target))
    way, pair = which // size, which % size
    pair, order = torch.sort(pair, stable=True)
    layer, way = pair_layer[at[order]], way[order]
    other = torch.nonzero(layer != target.index_select(0, pair)).squeeze(1)
    start = torch.searchsorted(pair[other], torch.arange(len(target) + 1, device=target.device))
    return start, (layer + way * num_layers)[other]


# Compiled loops


@take_lists.faster(on_cpu)
def _take_lists(at: Tensor, start: Tensor, entries: Tensor) -> tuple[Tensor, Tensor]:
    asked, bounds = at.numpy(), start.numpy()
    begin = np.zeros(len(asked) + 1, np.int64)
    np.cumsum(bounds[asked + 1] - bounds[asked], out=begin[1:])
    found = torch.empty(int(begin[-1]), dtype=entries.dtype)
    _take(asked, bounds, entries.numpy(), begin, found.numpy())
    return torch.from_numpy(begin), found


@find_lists.faster(lambda key, *_: on_cpu(key) and key.shape[1] > FEW)
def _find_lists(
    key: Tensor, target: Tensor, pair_key: Tensor, pair_layer: Tensor, num_layers: int
) -> tuple[Tensor, Tensor]:
    size = len(target)
    first, count = np.empty(key.shape, np.int64), np.empty(size, np.int64)
    asked = [each.contiguous().numpy() for each in (key, target, pair_key, pair_layer)]
    in_parts(size, lambda part: _count_lists(part.start, part.stop, *asked, first, count))
    start = np.zeros(size + 1, np.int64)
    np.cumsum(count, out=start[1:])
    places = np.empty(start[-1], np.int64)
    in_parts(size, lambda part: _fill_lists(part.start, part.stop, *asked, first, num_layers, start, places))
    return torch.from_numpy(start), torch.from_numpy(places)


@compile_loop
def _take(at: Any, start: Any, entries: Any, begin: Any, found: Any) -> None:
    for i in range(len(at)):
        for j in range(begin[i + 1] - begin[i]):
            found[begin[i] + j] = entries[start[at[i]] + j]


@compile_loop
def _count_lists(
    low: Any, high: Any, key: Any, target: Any, pair_key: Any, pair_layer: Any, first: Any, count: Any
) -> None:
    for i in range(low, high):
        count[i] = 0
        for way in range(len(key)):
            at = first[way, i] = find_place(key[way, i], 0, len(pair_key), pair_key)
            while at < len(pair_key) and pair_key[at] == key[way, i]:
                count[i] += pair_layer[at] != target[i]
                at += 1


@compile_loop
def _fill_lists(
    low: Any, high: Any, key: Any, target: Any, pair_key: Any, pair_layer: Any, first: Any, num_layers: Any, start: Any,
    places: Any,
) -> None:  # fmt: skip
    for i in range(low, high):
        into = start[i]
        for way in range(len(key)):
            at = first[way, i]
            while at < len(pair_key) and pair_key[at] == key[way, i]:
                if pair_layer[at] != target[i]:
                    places[into] = pair_layer[at] + way * num_layers
                    into += 1
                at += 1
