"""Leakage check of a split: these rules are checked for every pair.

- A test pair has two different nodes and label 0 or 1, and appears once in its layer.
- No test pair is an edge of the training graph, in either direction: in its layer (hide="layer") or in any layer
  (hide="pair"). Of a split of triples (hide="edge"), this and the next rule are about one direction.
- No negative is an edge of the full multiplex, in either direction: in its layer or, unless it is dense, in any layer.
- If the full multiplex is given: it has the same nodes, layers and direction, and contains all held-out edges and all
  training edges except self loops.
- Each positive's own negatives follow the same rules, and none appears twice for a positive.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs, pair_keys, repeated
from banditplex.pairs.negatives import row_blocks
from banditplex.pairs.visibility import HIDE, Visibility, leaves_few

if TYPE_CHECKING:
    from banditplex.evaluation.split import Split


def check_leakage(data: "Split", full: Multiplex | None = None) -> None:
    """Raise an error that names the first pair of a split that breaks a rule; `full`: the multiplex that was split."""
    visibility, train = Visibility(data.hide, data.train.directed), data.train
    layer, pairs, positive = data.layer, data.pairs, data.label == 1
    _check_arrays(data)
    known = visibility.known_pairs(train)
    _refuse(data, known.has(layer, pairs), "test pairs that are not in the training graph", "an edge of", train)
    keys = pair_keys(layer, pairs, train.num_nodes, ordered=train.directed)
    _refuse(data, repeated(keys), "different test pairs", "twice in")
    if full is not None:
        _check_full(data, full)
        known = visibility.known_pairs(full)
    known.add(layer[positive], pairs[positive])
    if known.everywhere and train.node_types is None and leaves_few(known):  # negatives are other held-out pairs
        known = replace(visibility, dense=True).test_negatives(train if full is None else full, train)
        known.add(layer[positive], pairs[positive])
    edges = ~positive & known.has(layer, pairs)
    _refuse(data, edges, "test pairs with label 0 to have no edge", "an edge of", full)
    if data.negatives is not None:
        _check_own_negatives(data, data.negatives, known)


def _refuse(data: "Split", wrong: Bools, expected: str, got: str, mx: Multiplex | None = None) -> None:
    """Raise an error that names the first pair that is `wrong`, and the layer of `mx` that has it as an edge."""
    if wrong.any():
        at = int(np.argmax(wrong))
        layer = data.train.layer_names[data.layer[at]]
        if mx is not None and data.hide == HIDE[-1]:
            both = np.stack([data.pairs[at], data.pairs[at][::-1]])
            layer = next((name for name in mx.layer_names if mx.has_edges(both, name).any()), layer)
        raise InputError(f"Expected {expected}, got {_show(data.pairs[at])}, {got} layer {layer!r}.")


def _check_arrays(test: "Split") -> None:
    """Refuse arrays whose shapes do not match, unknown nodes, layers and labels, and self pairs."""
    size, mx = len(test.layer), test.train
    shapes = test.layer.shape, test.pairs.shape, test.label.shape
    if shapes != ((size,), (size, 2), (size,)):
        raise InputError(f"Expected layer (n,), pairs (n, 2) and label (n,), got shapes {shapes}.")
    for name, values, limit in (
        ("layer indices", test.layer, mx.num_layers), ("node indices", test.pairs, mx.num_nodes),
        ("labels", test.label, 2),
    ):  # fmt: skip
        wrong = (values < 0) | (values >= limit)
        if wrong.any():
            raise InputError(f"Expected {name} from 0 to {limit - 1}, got {values[wrong][0]}.")
    _refuse(test, test.pairs[:, 0] == test.pairs[:, 1], "test pairs of two different nodes", "a self pair of")


def _check_full(test: "Split", full: Multiplex) -> None:
    """Refuse training edges and held-out edges that the full multiplex does not have."""
    train = test.train
    same = (train.layer_names, train.directed) == (full.layer_names, full.directed)
    if not same or not np.array_equal(train.node_names, full.node_names):
        raise InputError(f"Expected a split of {full.title}, got one of {train.title}, with other nodes or layers.")
    edges = KnownPairs(full)
    foreign = ~edges.has(train.edge_layer, train.edge_index.T) & (train.edge_index[0] != train.edge_index[1])
    if foreign.any():
        layer, pair = full.layer_names[train.edge_layer[foreign][0]], train.edge_index[:, foreign][:, 0]
        raise InputError(f"Expected training edges that are in the full multiplex, got {_show(pair)} of {layer!r}.")
    missing = (test.label == 1) & ~edges.has(test.layer, test.pairs)
    _refuse(test, missing, "test pairs with label 1 to be edges of the full multiplex", "not an edge of")


def _check_own_negatives(test: "Split", negatives: Ints, known: KnownPairs) -> None:
    """Check each positive's own negatives (p, m, 2), in blocks, so that memory is bounded."""
    layer = test.layer[test.label == 1]
    if negatives.ndim != 3 or negatives.shape[::2] != (len(layer), 2):
        raise InputError(f"Expected negatives ({len(layer)}, m, 2), got shape {negatives.shape}.")
    each = negatives.shape[1]
    for block in row_blocks(len(layer), each):
        pairs, where = negatives[block].reshape(-1, 2), np.repeat(layer[block], each)
        row, there = np.arange(len(pairs)) // each, (pairs != -1).any(1)  # -1: the layer has no more
        pairs, where, row = pairs[there], where[there], row[there]
        outside = (pairs < 0) | (pairs >= known.num_nodes)
        if outside.any():
            raise InputError(f"Expected negatives with nodes from 0 to {known.num_nodes - 1}, got {pairs[outside][0]}.")
        keys = known.keys(where, pairs)
        for wrong, expected in (
            (pairs[:, 0] == pairs[:, 1], "two different nodes"),
            (known.has_keys(keys), f"no edge in {'any' if known.everywhere else 'their'} layer"),
            (repeated(np.unique(keys, return_inverse=True)[1] + row * len(keys)), "no repetition"),
        ):
            if wrong.any():
                at = int(np.argmax(wrong))
                name, positive = test.train.layer_names[where[at]], block.start + row[at]
                got = f"{_show(pairs[at])} for positive {positive} of layer {name!r}"
                raise InputError(f"Expected negatives with {expected}, got {got}.")


def _show(pair: Ints) -> str:
    return str(tuple(pair.tolist()))
