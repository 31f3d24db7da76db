"""Scores of many pairs, in chunks of bounded memory."""

from dataclasses import replace

import torch
from torch import Tensor

from banditplex.backend.compiling import map_on_cpu
from banditplex.nn.ensemble import Network
from banditplex.nn.graph import HiddenEdges
from banditplex.nn.pair_features import other_features
from banditplex.nn.query import Query
from banditplex.nn.view import View

SCORED_AT_ONCE = 1 << 15  # pairs scored at once


def score_terms(model: Network, view: View, query: Query) -> Tensor:
    """Return the terms (P, 1 + k) of the logits of pairs; the first is the one that is always on."""

    @torch.no_grad()
    def score(part: Query) -> Tensor:
        return model(view, part).terms

    parts = map_on_cpu(score, list(query.chunks(SCORED_AT_ONCE)), view.device)
    return torch.cat([torch.zeros(0, 1 + query.layers.shape[1], device=view.device), *parts])


@torch.no_grad()
def score_unlinked(model: Network, view: View, query: Query) -> Tensor:
    """Return `score_terms` as if no layer but the target had the pairs; embeddings and vectors stay as they are."""
    hiding = view.visibility.everywhere()
    if view.evidence is not None:
        view = replace(view, evidence=view.evidence.seen_by(hiding))
    parts = [torch.zeros(0, 1 + query.layers.shape[1], device=view.device)]
    for part in query.chunks(SCORED_AT_ONCE):
        own, other, lists = model.describe(view, part)
        values = other_features(view.graph, part.pairs, own.row, part.layers, hiding).values
        parts.append(model.score(view, part, (own, replace(other, values=values), lists)).terms)
    return torch.cat(parts)


@torch.no_grad()
def score_by_layer(model: Network, view: View, query: Query) -> Tensor:
    """Return the logits (P, m) of pairs, each with every one of its m layers alone.

    Pairs are scored in chunks. The encoder sees none of the pairs of a chunk, in the layers that hide them.
    """
    parts = [torch.zeros(query.layers[:0].shape, device=view.device)]
    for part in query.chunks(max(1, SCORED_AT_ONCE // max(1, query.layers.shape[1]))):
        hidden = HiddenEdges.of(part.pairs, view.visibility.hidden_layers(part.table))
        terms = score_terms(model, view, replace(part, hidden=hidden))
        parts.append(terms[:, :1] + terms[:, 1:])
    return torch.cat(parts)
