"""Scores of many pairs in bounded memory."""

import torch
from torch import Tensor

from banditplex.nn.graph import PackedGraph
from banditplex.nn.model import MultiplexModel

CHUNK = 1 << 15
"""Pairs scored at once."""


@torch.no_grad()
def score(
    model: MultiplexModel,
    graph: PackedGraph,
    features: Tensor | None,
    pairs: Tensor,
    target: Tensor,
    layers: Tensor,
    hidden: tuple[Tensor, Tensor],
) -> Tensor:
    """Return the logits (P,) of pairs (P, 2) of targets (P,) with layers (P, k); see `MultiplexModel.forward`."""
    parts = [
        model(graph, features, pairs[at], target[at], layers[at], hidden).total
        for at in (slice(low, low + CHUNK) for low in range(0, len(pairs), CHUNK))
    ]
    return torch.cat(parts) if parts else torch.zeros(0, device=graph.device)
