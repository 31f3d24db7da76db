"""Integers that stand for pairs, on any device: pairs that are hidden together have the same."""

import torch
from torch import Tensor

from banditplex.backend.packing import EdgeTensors
from banditplex.pairs.visibility import Visibility


def known_keys(edges: EdgeTensors, visibility: Visibility) -> Tensor:
    """Return the keys of the pairs that are no negatives, sorted; self loops do not count."""
    edges = edges.keep(~edges.is_loop)
    keys = pair_keys(edges.layer, edges.source, edges.destination, edges.num_nodes, visibility)
    if visibility.hides_together:
        keys = torch.unique_consecutive(torch.sort(keys).values)
    return torch.unique(keys) if visibility.hides_everywhere else keys


def pair_keys(layer: Tensor, source: Tensor, destination: Tensor, num_nodes: int, visibility: Visibility) -> Tensor:
    """Return an integer for each pair in its layer (n,), as `Visibility.keys` does."""
    if not visibility.ordered:
        source, destination = torch.minimum(source, destination), torch.maximum(source, destination)
    if visibility.hides_everywhere:
        return torch.add(destination, source, alpha=num_nodes)
    return torch.add(source, layer, alpha=num_nodes).mul_(num_nodes).add_(destination)
