"""Scores of many pairs in bounded memory."""

import torch
from torch import Tensor

from banditplex.nn.graph import PackedGraph
from banditplex.nn.model import MultiplexModel
from banditplex.nn.union import hide_in_union, lighten_union

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
    share: Tensor | None = None,
) -> Tensor:
    """Return the logits (P,) of pairs (P, 2) of targets (P,) with layers (P, k); see `MultiplexModel.forward`.

    `share` (k,) multiplies the layers' terms: how often each was drawn, where a mean over draws is wanted. Hidden
    edges that no other layer shows are hidden in the union of all layers, too; others are there with less weight.
    """
    parts, graph, hidden = [], lighten_union(graph, hidden), hide_in_union(graph, hidden)
    for low in range(0, len(pairs), CHUNK):
        at = slice(low, low + CHUNK)
        logits = model(graph, features, pairs[at], target[at], layers[at], hidden)
        parts.append(logits.total if share is None else logits.own + logits.other @ share)
    return torch.cat(parts) if parts else torch.zeros(0, device=graph.device)


def between(pairs: Tensor, target: Tensor, layers: Tensor, *, hide: str) -> tuple[Tensor, Tensor]:
    """Return what the encoder must not see of pairs (P, 2): in targets (P,) and, with hide="pair", layers (P, k)."""
    table = torch.cat([target.unsqueeze(1), layers], 1) if hide == "pair" else target.unsqueeze(1)
    return pairs.repeat_interleave(table.shape[1], 0), table.reshape(-1)


@torch.no_grad()
def score_by_layer(
    model: MultiplexModel, graph: PackedGraph, features: Tensor | None, pairs: Tensor, target: Tensor, layers: Tensor
) -> Tensor:
    """Return the logits (P, m) of pairs (P, 2) of targets (P,), each with every one of layers (P, m) alone.

    The encoder sees nothing between the two nodes of any pair that is scored at once, in its target layer and, with
    hide="pair", in its other layers.
    """
    size = max(1, CHUNK // max(1, layers.shape[1]))
    parts = []
    for low in range(0, len(pairs), size):
        at = slice(low, low + size)
        asked = pairs[at], target[at], layers[at]
        hidden = between(*asked, hide=model.hide)
        logits = model(lighten_union(graph, hidden), features, *asked, hide_in_union(graph, hidden))
        parts.append(logits.own.unsqueeze(1) + logits.other)
    return torch.cat(parts) if parts else torch.zeros(layers.shape, device=graph.device)
