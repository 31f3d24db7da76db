"""The most likely new links of a model's targets, each with its evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.unknown import NearbyPairs
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream

Ints = NDArray[np.int64]
BUDGET, NEARBY = 1_000_000, 50_000
"""Pairs that are ranked in all, and pairs near each other that are ranked where all pairs of a target are too many."""
LISTED, MOST, LEAST = 2_000, 100, 20
"""Links that the page lists in all, and those of one target at most and at least."""


def top_links(model: LinkPredictor, layers: Sequence[Name] | None = None) -> dict[str, Any]:
    """Return the most likely new links of some targets; None: the largest ones, as many as can be ranked in time.

    Where a target has too many pairs to rank them all, pairs at the ends of random walks of two steps are ranked.
    """
    mx, targets = model.multiplex_, list(model.layer_probabilities_.index)
    every = mx.num_nodes * (mx.num_nodes - 1) // (1 if mx.directed else 2)
    candidates = None if every <= BUDGET else _nearby(mx, model.seed)
    ranked = every if candidates is None else len(candidates)
    if layers is None:
        sizes = {name: int(mx.layer_sizes[mx.layer_index(name)]) for name in targets}
        largest = sorted(targets, key=lambda name: -sizes[name])[: max(1, BUDGET // max(1, ranked))]
        layers = [name for name in targets if name in set(largest)]
    top = int(np.clip(LISTED // max(1, len(layers)), LEAST, MOST))
    asked = None if candidates is None else mx.node_names[candidates]
    tables = {name: model.recommend(name, top=top, candidates=asked) for name in layers}
    found = {name: mx.node_index(table[["source", "destination"]].to_numpy()) for name, table in tables.items()}
    having = iter(layers_with(mx, np.concatenate([np.empty((0, 2), np.int64), *found.values()])))
    union = _adjacency(mx.edge_index, mx)
    rows = []
    for name, table in tables.items():
        pairs = found[name]
        terms = model.explain(mx.node_names[pairs], name)
        common = [_common(_adjacency(mx.edges(layer), mx), pairs).tolist() for layer in terms.columns]
        rows.append(
            {
                "target": mx.layer_index(name),
                "prior": table.attrs["prior"],
                "source": table["source"].tolist(),
                "destination": table["destination"].tolist(),
                "probability": table["probability"].tolist(),
                "has": [next(having) for _ in pairs],
                "layers": [mx.layer_index(layer) for layer in terms.columns],  # the target, then those used
                "terms": terms.round(4).to_numpy().T.tolist(),  # of the logit, by layer
                "common": common,  # neighbours, by layer
                "common_any": _common(union, pairs).tolist(),  # neighbours in the union of all layers
            }
        )
    return {"targets": rows, "all_targets": len(targets), "ranked": ranked, "nearby": candidates is not None}


def layers_with(mx: Multiplex, pairs: Ints) -> list[list[int]]:
    """Return for each pair of node indices (n, 2) the layers that have it as an edge.

    >>> mx = Multiplex.from_edges([0, 0, 1], [1, 1, 2], ["a", "b", "a"], num_nodes=3)
    >>> layers_with(mx, np.array([[1, 0], [0, 2]]))
    [[0, 1], []]
    """
    ordered = pairs if mx.directed else np.sort(pairs, axis=1)
    wanted, which = np.unique(ordered @ [mx.num_nodes, 1], return_inverse=True)
    keys = mx.edge_index[0] * mx.num_nodes + mx.edge_index[1]
    edges = np.flatnonzero(np.isin(keys, wanted))
    lists: list[list[int]] = [[] for _ in wanted]
    for place, layer in zip(np.searchsorted(wanted, keys[edges]).tolist(), mx.edge_layer[edges].tolist(), strict=True):
        lists[place].append(layer)
    return [sorted(lists[place]) for place in which.tolist()]


def _adjacency(edges: Ints, mx: Multiplex) -> sp.csr_array:
    """Return the adjacency matrix of edges (2, E) without directions and multiplicities."""
    source, destination = np.concatenate([edges, edges[::-1]], axis=1)
    matrix = sp.csr_array((np.ones(len(source)), (source, destination)), shape=(mx.num_nodes, mx.num_nodes))
    matrix.data[:] = 1
    return matrix


def _common(matrix: sp.csr_array, pairs: Ints) -> Ints:
    """Return the number of common neighbours (n,) of pairs (n, 2), directions ignored."""
    both = matrix[pairs[:, 0]].multiply(matrix[pairs[:, 1]])
    return np.asarray(sp.csr_array(both).sum(axis=1)).astype(np.int64)


def _nearby(mx: Multiplex, seed: int) -> Ints:
    """Return distinct pairs of nodes at the ends of random walks of two steps on the union of all layers."""
    pairs = NearbyPairs(mx).draw(2 * NEARBY, stream(seed, "report"))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.unique(pairs if mx.directed else np.sort(pairs, axis=1), axis=0)
    return pairs[stream(seed, "report", 1).permutation(len(pairs))[:NEARBY]]
