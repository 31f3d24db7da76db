"""The most likely new links of a model's targets, each with its evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from banditplex.answers.ranking import recommend
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.space import PairSpace
from banditplex.predictor import LinkPredictor

Ints = NDArray[np.int64]
BUDGET, LARGE = 1_000_000, 8
"""Pairs that are ranked in all, and the number of targets with more pairs, of which candidates are ranked."""
KEPT = 1 << 13
"""Candidates that each way to find them keeps."""
LISTED, MOST, LEAST = 2_000, 100, 20
"""Links that the page lists in all, and those of one target at most and at least."""


def top_links(model: LinkPredictor, layers: Sequence[Name] | None = None) -> dict[str, Any]:
    """Return the most likely new links of some targets; None: the largest ones, as many as can be ranked in time.

    Where a target has more than `BUDGET` pairs, candidates are ranked.
    """
    mx, targets = model.multiplex_, list(model.layer_probabilities_.index)
    possible = PairSpace(mx).num_pairs(ordered=mx.directed)
    if layers is None:
        layers = _affordable(mx, targets, possible)
    top = int(np.clip(LISTED // max(1, len(layers)), LEAST, MOST))
    tables = {
        name: recommend(
            model._fitted, name, links_of=mx, top=top, exact=bool(possible[mx.layer_index(name)] <= BUDGET), size=KEPT
        )
        for name in layers
    }
    found = {name: mx.node_index(table[["source", "destination"]].to_numpy()) for name, table in tables.items()}
    having = iter(layers_with(mx, np.concatenate([np.empty((0, 2), np.int64), *found.values()])))
    asked = np.unique(np.concatenate([np.empty((0, 2), np.int64), *found.values()]))
    union = adjacency(mx.edge_index, mx.num_nodes, asked)
    rows = []
    for name, table in tables.items():
        pairs, target = found[name], mx.layer_index(name)
        used, terms = terms_by_layer(model, mx.node_names[pairs], name)
        near = [adjacency(mx.edges(layer), mx.num_nodes, np.unique(pairs)) for layer in used]
        rows.append(
            {
                "target": target,
                **{key: table.attrs[key] for key in ("chosen", "ranked", "possible")},
                "source": table["source"].tolist(),
                "destination": table["destination"].tolist(),
                "probability": table["probability"].tolist(),
                "has": [next(having) for _ in pairs],
                "layers": [mx.layer_index(layer) for layer in used],  # the target, then those that are drawn
                "terms": terms.round(4).tolist(),  # of the logit, by layer
                "common": [_common(matrix, pairs).tolist() for matrix in near],  # neighbours, by layer
                "common_any": _common(union, pairs).tolist(),  # neighbours in the union of all layers
            }
        )
    return {"targets": rows, "all_targets": len(targets)}


def terms_by_layer(model: LinkPredictor, pairs: NDArray[Any], target: Name) -> tuple[list[Name], NDArray[np.float64]]:
    """Return the target and the layers that predictions draw (m,), and the terms (m, n) of pairs (n, 2) by layer.

    The term of the target includes those of other layers that have the pair.
    """
    table = model.explain(pairs, target)
    drawn = (table["term"] == "drawn").to_numpy()
    layers = [target, *dict.fromkeys(table["layer"][drawn])]
    place = {layer: number for number, layer in enumerate(layers)}
    row = np.where(drawn, table["layer"].map(lambda layer: place.get(layer, 0)), 0).astype(np.int64)
    pair = np.cumsum((table["term"] == "own").to_numpy()) - 1  # the first of its terms
    terms = np.zeros((len(layers), len(pairs)))
    np.add.at(terms, (row, pair), table["value"].to_numpy())
    return layers, terms


def _affordable(mx: Multiplex, targets: list[Name], possible: Ints) -> list[Name]:
    """Return the largest targets that can be ranked within the budget together, at least one, in their old order."""
    index = np.array([mx.layer_index(name) for name in targets], np.int64)
    order = np.argsort(-mx.layer_sizes[index], kind="stable")
    many = possible[index[order]]
    cost = np.cumsum(np.where(many > BUDGET, BUDGET // LARGE, many))
    return [targets[place] for place in np.sort(order[: max(1, np.searchsorted(cost, BUDGET, "right"))]).tolist()]


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


def adjacency(edges: Ints, num_nodes: int, nodes: Ints) -> sp.csr_array:
    """Return the rows of some nodes in the adjacency matrix of edges (2, E), without directions and multiplicities."""
    wanted = np.zeros(num_nodes, np.bool_)
    wanted[nodes] = True
    parts = [each[:, wanted[each[0]]] for each in (edges, edges[::-1])]
    source, destination = np.concatenate(parts, axis=1)
    matrix = sp.csr_array((np.ones(len(source)), (source, destination)), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1
    return matrix


def _common(matrix: sp.csr_array, pairs: Ints) -> Ints:
    """Return the number of common neighbours (n,) of pairs (n, 2), directions ignored."""
    both = matrix[pairs[:, 0]].multiply(matrix[pairs[:, 1]])
    return np.asarray(sp.csr_array(both).sum(axis=1)).astype(np.int64)
