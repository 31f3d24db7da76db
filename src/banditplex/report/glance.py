"""The multiplex at a glance: sizes of layers, their overlap, and how many layers each linked pair has."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.multiplex import Multiplex
from banditplex.report.packing import pack

Ints = NDArray[np.int64]
LARGE = 20_000_000
MATRIX = 1_000
"""Layers that matrices show: those with the most edges."""


def glance(mx: Multiplex) -> dict[str, Any]:
    """Return sizes, the layers column by column, the matrix of Jaccard indices and the layers per pair.

    Of multiplexes with more than `LARGE` edges, it returns sizes only: the rest would take minutes.
    """
    shown = in_matrices(mx)
    sizes = {"nodes": mx.num_nodes, "edges": mx.num_edges, "directed": mx.directed, "shown": shown.tolist()}
    sizes["types"] = node_counts(mx)
    if mx.num_edges > LARGE:
        return sizes | {"columns": {"edges": mx.layer_sizes.tolist()}}
    summary = mx.summary()
    table = summary.layers
    place = {name: index for index, name in enumerate(mx.layer_names)}
    columns: dict[str, Any] = {name: table[name].tolist() for name in ("edges", "active_nodes", "density", "jaccard")}
    columns["most_similar"] = [place.get(name) for name in table["most_similar"]]
    overlap = summary.overlap[shown][:, shown].toarray()
    return sizes | {
        "columns": columns,
        "overlap": pack(overlap[np.triu_indices(len(shown), 1)]),
        "layers_per_pair": layers_per_pair(mx).tolist(),
    }


def node_counts(mx: Multiplex) -> list[tuple[str, int]]:
    """Return the types of nodes with their numbers of nodes, that of the first node first; empty without types.

    >>> node_counts(Multiplex.from_edges([0, 1], [2, 2], "buys", node_types=["user", "user", "item"]))
    [('user', 2), ('item', 1)]
    """
    if mx.node_types is None:
        return []
    found, first, count = np.unique(mx.type_index, return_index=True, return_counts=True)
    return [(mx.type_names[found[place]], int(count[place])) for place in np.argsort(first).tolist()]


def in_matrices(mx: Multiplex) -> Ints:
    """Return the layers that matrices show, in the order of the multiplex."""
    largest = np.argsort(-mx.layer_sizes, kind="stable")[:MATRIX]
    shown: Ints = np.sort(largest)
    return shown


def layers_per_pair(mx: Multiplex) -> Ints:
    """Return how many linked pairs of nodes have an edge in exactly 1, 2, ... layers.

    >>> layers_per_pair(Multiplex.from_edges([0, 0, 1], [1, 1, 2], ["a", "b", "a"], num_nodes=3))
    array([1, 1])
    """
    source, destination = mx.edge_index
    keys = np.sort(source * mx.num_nodes + destination)
    if not len(keys):
        return np.zeros(0, np.int64)
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    return np.bincount(np.diff(start, append=len(keys)))[1:]
