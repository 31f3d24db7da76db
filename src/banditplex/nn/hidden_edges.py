"""Edges that an encoder must not see."""

from torch import Tensor

from banditplex.nn.graph import HiddenEdges


def hide_pairs(pairs: Tensor, layers: Tensor) -> HiddenEdges:
    """Hide each of `pairs` (P, 2) in all its `layers` (P, m).

    >>> import torch
    >>> hide_pairs(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[5, 6], [5, 7]])).layer
    tensor([5, 6, 5, 7])
    """
    return HiddenEdges(pairs.repeat_interleave(layers.shape[1], 0), layers.reshape(-1).contiguous())  # to be searched
