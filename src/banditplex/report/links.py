"""The most likely new links of a model's targets, each with its evidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from banditplex.answers.ranking import recommend
from banditplex.arrays import Ints
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.build import linked_types
from banditplex.pairs.known import PairSpace
from banditplex.predictor import LinkPredictor

BUDGET, LARGE = 1_000_000, 8
"""Pairs that are ranked in all, and the number of targets with more pairs, of which candidates are ranked."""
SUPPOSED = (1.0, 0.25, 0.05, 0.01)  # new links per known one that can be supposed instead of the default prior's
KEPT = 1 << 13  # candidates that each way to find them keeps
LISTED, MOST, LEAST = 2_000, 100, 20  # links that the page lists in all, and those of one target at most and at least
NAMED = 8  # layers whose terms are listed for each link, those with the largest; the others have one sum
KINDS = {"edge": 1, "reverse": 2, "drawn": 4}
WALKS = 20_000_000
"""Walks of two steps that are followed to count paths of length 3; if there are more, these are not counted."""


def top_links(model: LinkPredictor, layers: Sequence[Name] | None = None) -> dict[str, Any]:
    """Return likely new links of targets; None: of the largest. Beyond `BUDGET` pairs, candidates are ranked."""
    mx, targets, fitted = model.multiplex_, list(model.layer_probabilities_.index), model._fitted
    possible = PairSpace(mx).num_pairs(ordered=mx.directed)
    if layers is None:
        layers = _affordable(mx, targets, possible)
    top = int(np.clip(LISTED // max(1, len(layers)), LEAST, MOST))
    tables = {
        name: recommend(
            fitted, name, links_of=mx, top=top, exact=bool(possible[mx.layer_index(name)] <= BUDGET), size=KEPT
        )
        for name in layers
    }
    found = {name: _in_order_of_types(mx, name, table) for name, table in tables.items()}
    listed = np.concatenate([np.empty((0, 2), np.int64), *found.values()])
    having = iter(layers_with(mx, listed))
    near = Near(mx, np.unique(listed))
    rows = []
    for name, table in tables.items():
        pairs, target = found[name], mx.layer_index(name)
        ends = mx.node_names[pairs]
        terms, score, instance = model.explain(ends, name), fitted.logits(pairs, name), fitted.instance(name)
        used = [target, *(mx.layer_index(layer) for layer in dict.fromkeys(terms["layer"][terms["term"] == "drawn"]))]
        edges = mx.edges(name)
        known = int(np.count_nonzero(edges[0] != edges[1]))
        unknown = int(possible[target]) - known
        rows.append(
            {
                "target": target,
                **{key: table.attrs[key] for key in ("chosen", "ranked", "possible", "prior")},
                "unknown": unknown,
                "types": _types(mx, pairs),
                "source": ends[:, 0].tolist(),
                "destination": ends[:, 1].tolist(),
                "probability": table["probability"].tolist(),
                "supposed": [
                    {"per": per, "probability": fitted.calibration.probability(score, instance, share).tolist()}
                    for per in SUPPOSED
                    if per * known >= 1 and 0 < (share := per * known / max(unknown, 1)) < 1
                ],
                "has": [next(having) for _ in pairs],
                "layers": used,  # the target, then those that are drawn
                **terms_by_layer(mx, terms),
                "near": [near.count(pairs, layer) for layer in used],  # by layer
                "near_any": near.count(pairs),  # in the union of all layers
            }
        )
    return {"targets": rows, "all_targets": len(targets), "near": near.what}


def terms_by_layer(mx: Multiplex, table: pd.DataFrame) -> dict[str, Any]:
    """Return the terms of `explain` for the page, and for each pair: its score's base, own term and terms by layer.

    `by_layer` has for each pair the layer, the sum of its terms and which terms these are (the sum of their `KINDS`),
    the `NAMED` largest first, and `rest` the number of further layers and the sum of theirs.
    """
    term, value = table["term"].to_numpy(), table["value"].to_numpy()
    pair = np.cumsum(term == "base") - 1  # the first of its terms
    size = int(pair[-1]) + 1 if len(pair) else 0
    others = np.isin(term, ("base", "own"), invert=True)
    layer = np.array([mx.layer_index(name) for name in table["layer"][others]], np.int64)
    keys, place = np.unique(pair[others] * mx.num_layers + layer, return_inverse=True)
    total = np.bincount(place, value[others], len(keys))
    kinds = np.bincount(place, [KINDS[each] for each in term[others]], len(keys)).astype(np.int64)
    which, layer = np.divmod(keys, mx.num_layers)
    order = np.lexsort((-np.abs(total), which))
    named: list[list[tuple[int, float, int]]] = [[] for _ in range(size)]
    rest = np.zeros((size, 2))
    for at in order.tolist():
        if len(named[which[at]]) < NAMED:
            named[which[at]].append((int(layer[at]), round(float(total[at]), 4), int(kinds[at])))
        else:
            rest[which[at]] += 1, total[at]
    base, own = (value[term == name].round(4).tolist() for name in ("base", "own"))
    return {"base": base[0] if base else 0.0, "own": own, "by_layer": named, "rest": rest.round(4).tolist()}


class Near:
    """Counts what is between two nodes: common neighbours or, if links only join nodes of unlike types, paths.

    Two such nodes never have a common neighbour; of the paths, those of length 3 are counted. Directions are ignored.
    """

    def __init__(self, mx: Multiplex, nodes: Ints) -> None:
        self._mx = mx
        source, destination = mx.type_index[mx.edge_index]
        self.what = "paths" if mx.num_edges and (source != destination).all() else "neighbours"
        self._nodes = np.arange(mx.num_nodes) if self.what == "paths" else nodes
        self._union = adjacency(mx.edge_index, mx.num_nodes, self._nodes)

    def count(self, pairs: Ints, layer: int | None = None) -> list[int] | None:
        """Return the counts of pairs (n, 2) in a layer, or in the union; None if paths are too many to be counted."""
        mx, matrix = self._mx, self._union
        if layer is not None:
            matrix = adjacency(mx.edges(mx.layer_names[layer]), mx.num_nodes, self._nodes)
        first, second = matrix[pairs[:, 0]], matrix[pairs[:, 1]]
        if self.what == "paths":
            degree = np.diff(matrix.indptr)
            if degree[first.indices].sum() > WALKS:
                return None
            first = first @ matrix
        found = np.asarray(sp.csr_array(first.multiply(second)).sum(axis=1))
        if self.what == "paths":
            joined = np.asarray(matrix[pairs[:, 0], pairs[:, 1]]).ravel()
            found = found - joined * (degree[pairs].sum(axis=1) - 1)  # those that use the pair's own edge
        return found.astype(np.int64).tolist()


def _in_order_of_types(mx: Multiplex, name: Name, table: pd.DataFrame) -> Ints:
    """Return the pairs (n, 2) of a table; of two types that a layer joins, the usual one of first nodes is first."""
    pairs = mx.node_index(table[["source", "destination"]].to_numpy())
    layer, *types = linked_types(mx.subset(layers=[name]))
    if mx.directed or len(layer) != 1 or types[0] == types[1]:
        return pairs
    first = np.bincount(mx.type_index[mx.edges(name)[0]]).argmax()
    return np.where((mx.type_index[pairs[:, :1]] == first), pairs, pairs[:, ::-1])


def _types(mx: Multiplex, pairs: Ints) -> list[str] | None:
    """Return the type of all sources and that of all destinations; None if there are no types, or several."""
    found = [np.unique(mx.type_index[ends]) for ends in pairs.T]
    if mx.node_types is None or any(len(each) != 1 for each in found):
        return None
    return [mx.type_names[int(each[0])] for each in found]


def _affordable(mx: Multiplex, targets: list[Name], possible: Ints) -> list[Name]:
    """Return the largest targets that can be ranked within the budget together, at least one, in their old order."""
    index = np.array([mx.layer_index(name) for name in targets], np.int64)
    order = np.argsort(-mx.layer_sizes[index], kind="stable")
    many = possible[index[order]]
    cost = np.cumsum(np.where(many > BUDGET, BUDGET // LARGE, many))
    return [targets[place] for place in np.sort(order[: max(1, np.searchsorted(cost, BUDGET, "right"))]).tolist()]


def layers_with(mx: Multiplex, pairs: Ints) -> list[list[int]]:
    """Return for each pair of node indices (n, 2) the layers that have it as an edge."""
    ordered = pairs if mx.directed else np.sort(pairs, axis=1)
    wanted, which = np.unique(ordered @ [mx.num_nodes, 1], return_inverse=True)
    keys = mx.edge_index[0] * mx.num_nodes + mx.edge_index[1]
    edges = np.flatnonzero(np.isin(keys, wanted))
    lists: list[list[int]] = [[] for _ in wanted]
    for place, layer in zip(np.searchsorted(wanted, keys[edges]).tolist(), mx.edge_layer[edges].tolist(), strict=True):
        lists[place].append(layer)
    return [sorted(lists[place]) for place in which.tolist()]


def adjacency(edges: Ints, num_nodes: int, nodes: Ints) -> sp.csr_array:
    """Return the rows of some nodes in the adjacency matrix of edges (2, E), without directions, copies and loops."""
    edges = edges[:, edges[0] != edges[1]]
    wanted = np.zeros(num_nodes, np.bool_)
    wanted[nodes] = True
    source, destination = np.concatenate([each[:, wanted[each[0]]] for each in (edges, edges[::-1])], axis=1)
    matrix = sp.csr_array((np.ones(len(source)), (source, destination)), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1
    return matrix
