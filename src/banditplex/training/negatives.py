"""Negatives on the device: random pairs, of which edges are rejected by a search among the sorted keys of all edges.

Where pairs cannot be proposed at random, because nodes have types or because a layer has few of them, the sampler of
`banditplex.pairs.negatives` draws on the host.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Ints
from banditplex.backend.packing import EdgeTensors, contains
from banditplex.backend.random_numbers import new_seed, random_integers
from banditplex.nn.keys import known_keys, pair_keys
from banditplex.pairs.known import check_key_size
from banditplex.pairs.negatives import SCARCE, NegativeSampler
from banditplex.pairs.visibility import Visibility


class DeviceNegatives:
    """Draws negatives, given the edges of a multiplex.

    Parameters
    ----------
    edges
        The edges on the device.
    visibility
        Says which pairs are no negatives.
    on_host
        Returns the sampler for layers whose negatives are not drawn on the device.
    only_host
        Whether these are all layers.
    """

    def __init__(
        self, edges: EdgeTensors, visibility: Visibility, on_host: Callable[[], NegativeSampler], *, only_host: bool
    ) -> None:
        self._device, self._num_nodes, self._directed = edges.layer.device, edges.num_nodes, edges.directed
        visibility = visibility.of_negatives
        self._visibility, self._on_host, self.only_host = visibility, on_host, only_host
        if only_host:
            return
        check_key_size(edges.num_layers, edges.num_nodes)
        self._known = known_keys(edges, visibility)
        num_pairs = edges.num_nodes * (edges.num_nodes - 1) // (1 if visibility.ordered else 2)
        free = num_pairs - self._num_known(edges.num_layers)
        self._scarce = (free < SCARCE * num_pairs) | (free == 0)

    def _num_known(self, num_layers: int) -> Tensor:
        """Return the number of known pairs of each layer, (num_layers,)."""
        if self._visibility.hides_everywhere:
            return torch.full((num_layers,), len(self._known), device=self._device)
        bounds = torch.arange(num_layers + 1, device=self._device) * self._num_nodes**2
        return torch.diff(torch.searchsorted(self._known, bounds))

    def draw(self, layer: Ints, rng: np.random.Generator) -> Ints:
        """Return one negative (n, 2) for each layer index in `layer` (n,), on the host."""
        return self.draw_tensor(torch.from_numpy(layer).to(self._device), rng).cpu().numpy()

    def draw_tensor(self, layer: Tensor, rng: np.random.Generator) -> Tensor:
        """Return one negative (n, 2) for each layer index in `layer` (n,); fastest if sorted."""
        if self.only_host:
            return self._draw_on_host(layer, rng)
        seed, scarce = new_seed(rng), self._scarce.index_select(0, layer)
        pairs = self._propose(torch.arange(len(layer), device=self._device), seed)
        missing = torch.nonzero(~scarce & self._is_known(layer, pairs)).squeeze(1)
        tries = 1
        while len(missing):
            drawn = self._propose(missing + tries * len(layer), seed)
            pairs.index_copy_(0, missing, drawn)
            missing = missing[self._is_known(layer.index_select(0, missing), drawn)]
            tries += 1
        if bool(scarce.any()):
            at = torch.nonzero(scarce).squeeze(1)
            pairs[at] = self._draw_on_host(layer[at], rng)
        return pairs

    def _draw_on_host(self, layer: Tensor, rng: np.random.Generator) -> Tensor:
        return torch.from_numpy(self._on_host().draw(layer.cpu().numpy(), rng)).to(self._device)

    def _propose(self, index: Tensor, seed: int) -> Tensor:
        """Return a pair of two different nodes (n, 2) for each index (n,); all pairs are equally likely."""
        others = max(self._num_nodes - 1, 1)
        number = random_integers(index, seed).fmod_(self._num_nodes * others)
        source = number // others
        destination = number - source * others
        destination += destination >= source
        if not self._directed:
            source, destination = torch.minimum(source, destination), torch.maximum(source, destination)
        return torch.stack([source, destination], 1)

    def _is_known(self, layer: Tensor, pairs: Tensor) -> Tensor:
        key = pair_keys(layer, pairs[:, 0], pairs[:, 1], self._num_nodes, self._visibility)
        return contains(self._known, key)
