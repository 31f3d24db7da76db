"""Scores of many pairs, in chunks of bounded memory."""

import torch
from torch import Tensor

from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.hidden_edges import hide_pairs
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
    hidden: HiddenEdges,
    share: Tensor | None = None,
) -> Tensor:
    """Return the logits (P,) of pairs (P, 2) of targets (P,) with layers (P, k); see `MultiplexModel.forward`.

    `share` (k,) multiplies the layers' terms: how often each was drawn, for a mean over draws.
    """
    parts = []
    for low in range(0, len(pairs), CHUNK):
        at = slice(low, low + CHUNK)
        logits = model(graph, features, pairs[at], target[at], layers[at], hidden)
        parts.append(logits.total if share is None else logits.own + logits.other @ share)
    return torch.cat(parts) if parts else torch.zeros(0, device=graph.device)


@torch.no_grad()
def score_by_layer(
    model: MultiplexModel, graph: PackedGraph, features: Tensor | None, pairs: Tensor, target: Tensor, layers: Tensor
) -> Tensor:
    """Return the logits (P, m) of pairs (P, 2) of targets (P,), each with every one of layers (P, m) alone.

    Pairs are scored in chunks. The encoder sees none of the pairs of a chunk, in the layers that hide them.
    """
    size = max(1, CHUNK // max(1, layers.shape[1]))
    parts = []
    for low in range(0, len(pairs), size):
        at = slice(low, low + size)
        table = torch.cat([target[at].unsqueeze(1), layers[at]], 1)
        hidden = hide_pairs(pairs[at], model.visibility.hidden_layers(table))
        logits = model(graph, features, pairs[at], target[at], layers[at], hidden)
        parts.append(logits.own.unsqueeze(1) + logits.other)
    return torch.cat(parts) if parts else torch.zeros(layers.shape, device=graph.device)
