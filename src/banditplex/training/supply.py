"""The pairs of an epoch: all training edges, each with one negative, and what all layers together say of them.

Evidence on a pair does not change while the model trains, so it is computed once. Each edge therefore has a few
negatives of its own, drawn once, which take turns. Without evidence, or if there is too much of it to be kept,
negatives are drawn anew in every epoch. Where layers are few, features in all of them are computed once as well.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from banditplex.nn.evidence import num_evidence
from banditplex.nn.known import Known, look_up
from banditplex.nn.pair_features import num_features
from banditplex.rng import stream
from banditplex.training.config import Config
from banditplex.training.data import TrainingData

LookUp = Callable[[], Known | None]
KEPT_NEGATIVES = 4  # negatives per edge that are drawn once and take turns, if evidence is kept
KEPT_BYTES, GPU_SHARE = 12 << 30, 0.25
"""Bytes that are kept at most on a CPU, and the share of the memory of a GPU: twice as much is needed for a moment."""
AT_ONCE, OTHER_BYTES = 3, 1 << 30
"""Features in all other layers are computed once if these are at most `AT_ONCE` times as many as drawn layers need in
all epochs, and take at most `OTHER_BYTES` bytes.

To look up many at once takes a fraction of the time of as many small steps.
"""
TOGETHER = 1 << 15  # pairs of an epoch up to which what is kept is laid out for all its steps at once
KEPT_PER_PAIR = 60
"""Bytes that are kept for each pair, besides the columns: its nodes, its rows, and the layers that have it, about."""


class Supply:
    """Edges and negatives of every epoch, of so many `epochs`, with so many layers `drawn` for each pair."""

    def __init__(self, data: TrainingData, config: Config, epochs: int = 0, drawn: int = 0) -> None:
        self._data, self._config = data, config
        others = len(data.layer_names) - 1
        size = 4 * (1 + KEPT_NEGATIVES) * len(data.train_edges) * others * num_features(data.visibility)[1]
        self._others = (1 + KEPT_NEGATIVES) * others <= AT_ONCE * 2 * epochs * drawn and size <= OTHER_BYTES

    @cached_property
    def _keeps(self) -> bool:
        """Whether what is known of pairs is kept; else, or without evidence, the network looks it up in every step."""
        data, columns = self._data, num_evidence(self._data.visibility) + num_features(self._data.visibility)[0]
        size = (1 + KEPT_NEGATIVES) * len(data.train_edges) / data.group.size * (KEPT_PER_PAIR + 4 * columns)
        on_gpu = data.device.type == "cuda"
        most = GPU_SHARE * torch.cuda.get_device_properties(data.device).total_memory if on_gpu else KEPT_BYTES
        return data.visibility.evidence and size <= most

    def epoch(self, number: int, order: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor | None]:
        """Return edges and negatives (2, E, 2) of an epoch in the given order, and their places (2, E) for `known`."""
        data = self._data
        if not self._keeps:
            both = data.train_edges.pairs, self._negatives(rng)  # sorted by target
            return torch.stack([each.index_select(0, order) for each in both]), None
        places = torch.stack([order, order + (1 + number % KEPT_NEGATIVES) * len(data.train_edges.pairs)])
        return self._kept[0][places], places

    def look_ups(self, places: Tensor | None, steps: Iterable[tuple[slice, Any]]) -> Iterator[LookUp]:
        """Yield for each step a function that returns what is known of its edges and negatives, if it is kept."""
        every = [edges for edges, _ in steps]
        if places is None or places.numel() > TOGETHER or self._own is not None:
            yield from (partial(self.known, None if places is None else places[:, edges].flatten()) for edges in every)
            return
        known = self.known(torch.cat([places[:, edges].flatten() for edges in every]))
        assert known is not None
        yield from (partial(known.part, 2 * edges.start, 2 * edges.stop) for edges in every)

    def known(self, places: Tensor | None) -> Known | None:
        """Return what is known of those pairs at places (n,) that are of this process's targets, if it is kept."""
        if places is None:
            return None
        if self._own is not None:
            places = self._own.index_select(0, places)
            places = places[places >= 0]
        return self._kept[1].take(places)

    @cached_property
    def _own(self) -> Tensor | None:
        """Where each pair of `_kept` is among those of this process's targets, -1 if it is not; None: all are."""
        mine = self._data.mine
        if mine is None:
            return None
        here = torch.from_numpy(mine).to(self._data.device)[self._data.train_edges.instance].repeat(1 + KEPT_NEGATIVES)
        return torch.where(here, torch.cumsum(here, 0) - 1, -1)

    @cached_property
    def _target(self) -> Tensor:
        """The target layer of each edge, (E,)."""
        layers = torch.from_numpy(self._data.targets).to(self._data.device)
        return layers.index_select(0, self._data.train_edges.instance)

    def _negatives(self, rng: np.random.Generator) -> Tensor:
        """Return a negative (n, 2) for each edge."""
        return self._data.negatives.draw_tensor(self._target, rng)

    @cached_property
    def _kept(self) -> tuple[Tensor, Known]:
        """The edges, then their kept negatives, as pairs (n, 2), and what is known of this process's share."""
        data, rng = self._data, stream(self._config.seed, "kept negatives")
        turns = [self._negatives(rng) for _ in range(KEPT_NEGATIVES)]
        pairs = torch.cat([data.train_edges.pairs, *turns])
        asked, target = pairs, self._target.repeat(1 + KEPT_NEGATIVES)
        if self._own is not None:
            at = torch.nonzero(self._own >= 0).squeeze(1)
            asked, target = asked.index_select(0, at), target.index_select(0, at)
        return pairs, look_up(data.train_view, asked, target, others=self._others)
