"""Scores of many pairs, in chunks of bounded memory."""

from dataclasses import replace

import torch
from torch import Tensor

from banditplex.nn.ensemble import Network
from banditplex.nn.graph import HiddenEdges, PackedGraph
from banditplex.nn.hidden_edges import hide_pairs
from banditplex.nn.known import Known
from banditplex.nn.pair_features import other_features

CHUNK = 1 << 15
"""Pairs scored at once."""


@torch.no_grad()
def score_terms(
    model: Network,
    graph: PackedGraph,
    features: Tensor | None,
    pairs: Tensor,
    target: Tensor,
    layers: Tensor,
    hidden: HiddenEdges,
    known: Known | None = None,
) -> Tensor:
    """Return the terms (P, 1 + k) of the logits of pairs (P, 2) of targets (P,) with layers (P, k).

    The first is the one that is always on; see `MultiplexModel.forward`. What is `known` of the pairs is looked up if
    it is not given.
    """
    parts = [torch.zeros(0, 1 + layers.shape[1], device=graph.device)]
    for low in range(0, len(pairs), CHUNK):
        at = slice(low, low + CHUNK)
        asked = pairs[at], target[at], layers[at]
        part = None if known is None else known.take(torch.arange(len(pairs), device=graph.device)[at])
        logits = model.score(graph, features, *asked, hidden, model.describe(graph, *asked, part))
        parts.append(torch.cat([logits.own.unsqueeze(1), logits.other], 1))
    return torch.cat(parts)


@torch.no_grad()
def score_unlinked(
    model: Network,
    graph: PackedGraph,
    features: Tensor | None,
    pairs: Tensor,
    target: Tensor,
    layers: Tensor,
    hidden: HiddenEdges,
) -> Tensor:
    """Return the terms that `score_terms` would return if no other layer than the target had the pairs.

    Node embeddings and rotations stay as they are.
    """
    hiding = model.visibility.everywhere()
    if graph.evidence is not None:
        graph = replace(graph, evidence=graph.evidence.seen_by(hiding))
    parts = [torch.zeros(0, 1 + layers.shape[1], device=graph.device)]
    for low in range(0, len(pairs), CHUNK):
        at = slice(low, low + CHUNK)
        asked = pairs[at], target[at], layers[at]
        own, other, lists = model.describe(graph, *asked)
        values = other_features(graph, pairs[at], own.row, layers[at], hiding, listed=False).values
        found = model.score(graph, features, *asked, hidden, (own, replace(other, values=values), lists))
        parts.append(torch.cat([found.own.unsqueeze(1), found.other], 1))
    return torch.cat(parts)


@torch.no_grad()
def score_by_layer(
    model: Network, graph: PackedGraph, features: Tensor | None, pairs: Tensor, target: Tensor, layers: Tensor
) -> Tensor:
    """Return the logits (P, m) of pairs (P, 2) of targets (P,), each with every one of layers (P, m) alone.

    Pairs are scored in chunks. The encoder sees none of the pairs of a chunk, in the layers that hide them.
    """
    size = max(1, CHUNK // max(1, layers.shape[1]))
    parts = [torch.zeros(0, layers.shape[1], device=graph.device)]
    for low in range(0, len(pairs), size):
        at = slice(low, low + size)
        table = torch.cat([target[at].unsqueeze(1), layers[at]], 1)
        hidden = hide_pairs(pairs[at], model.visibility.hidden_layers(table))
        terms = score_terms(model, graph, features, pairs[at], target[at], layers[at], hidden)
        parts.append(terms[:, :1] + terms[:, 1:])
    return torch.cat(parts)
