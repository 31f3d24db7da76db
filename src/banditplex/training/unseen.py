"""Edges that a step must not see, found by layer."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.nn.graph import ranges

Ints = NDArray[np.int64]


class EdgesByLayer:
    """Edges, pairs (n, 2) and layers (n,), from which those of some layers are taken fast."""

    def __init__(self, pairs: Tensor, layer: Tensor, num_layers: int) -> None:
        order = torch.argsort(layer, stable=True)
        self._pairs, self._layer = pairs[order], layer[order]
        self._start = torch.searchsorted(self._layer.cpu(), torch.arange(num_layers + 1))

    def of(self, layers: Ints) -> tuple[Tensor, Tensor]:
        """Return the edges of some layers (m,), each of these once.

        >>> edges = EdgesByLayer(torch.tensor([[0, 1], [4, 5], [2, 3]]), torch.tensor([0, 2, 0]), 3)
        >>> [values.tolist() for values in edges.of(np.array([1, 0]))]
        [[[0, 1], [2, 3]], [0, 0]]
        """
        start = self._start[layers]
        place = ranges(start, self._start[layers + 1] - start)[1].to(self._layer.device)
        return self._pairs.index_select(0, place), self._layer.index_select(0, place)
