"""Which types of nodes each layer links."""

from typing import TYPE_CHECKING

import numpy as np

from banditplex.arrays import Ints

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex


def linked_types(mx: "Multiplex") -> Ints:
    """Return the distinct (layer, source type, destination type) of all edges, as columns of indices (3, c), sorted.

    Self loops do not count. If undirected, the smaller type index comes first. Nodes without types are all of type 0.
    """
    other = mx.edge_index[0] != mx.edge_index[1]
    source, destination = mx.type_index[mx.edge_index[:, other]]
    if not mx.directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    count = max(len(mx.type_names), 1)
    found = np.unique((mx.edge_layer[other] * count + source) * count + destination)
    return np.stack([found // count**2, found // count % count, found % count])


def num_linkable(mx: "Multiplex", links: Ints) -> Ints:
    """Return the number of pairs of the types that each layer links, (num_layers,); all pairs if it has no edges."""
    layer, source, destination = links
    size = np.bincount(mx.type_index, minlength=1)
    both = 1 if mx.directed else 2
    pairs = np.where(source == destination, size[source] * (size[source] - 1) // both, size[source] * size[destination])
    total = np.zeros(mx.num_layers, np.int64)
    np.add.at(total, layer, pairs)
    shown = np.bincount(layer, minlength=mx.num_layers) > 0
    return np.where(shown, total, mx.num_nodes * (mx.num_nodes - 1) // both)


def show_types(mx: "Multiplex", links: Ints) -> list[str]:
    """Return the types that each layer links, such as "item-user", or "user>item" if directed."""
    shown: list[list[str]] = [[] for _ in range(mx.num_layers)]
    for layer, source, destination in links.T.tolist():
        shown[layer].append(mx.type_names[source] + (">" if mx.directed else "-") + mx.type_names[destination])
    return [", ".join(each) for each in shown]
