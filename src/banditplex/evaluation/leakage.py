"""Leakage check: what a split promises, checked pair by pair.

- A test pair is two different nodes of the multiplex, appears once in its layer, and has label 0 or 1.
- No test pair is an edge in training, in either direction: of its layer (hide="layer"), or of any layer (hide="pair").
- No negative is an edge of the full multiplex, in either direction: of its layer, or of any layer.
- If the full multiplex is given: held-out edges and training edges (self loops aside) are edges of it, and it has the
  same nodes, layers and direction.
- The negatives of each positive obey the same rules, and none appears twice for one positive.
"""

from typing import NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import Bools, Ints, KnownPairs, pair_keys, repeated, repeated_in_rows
from banditplex.pairs.visibility import Visibility

CHUNK = 1 << 20


class _Test(NamedTuple):
    """The labelled pairs of a split, and the graph that it trains on."""

    train: Multiplex
    visibility: Visibility
    layer: Ints  # (n,)
    pairs: Ints  # (n, 2)
    label: Ints  # (n,)


def check_leakage(
    train: Multiplex,
    hide: str,
    layer: Ints,
    pairs: Ints,
    label: Ints,
    negatives: Ints | None = None,
    full: Multiplex | None = None,
) -> None:
    """Refuse a split that breaks a promise, with the first pair that does; the arguments are the fields of `Split`."""
    parts = _Test(train, Visibility.of_split(hide, train), layer, pairs, label)
    _check_form(parts)
    held, seen = label == 1, parts.visibility.known_pairs(train)
    _refuse(parts, seen.has(layer, pairs), "is an edge of layer {layer!r} in training", train)
    keys = pair_keys(layer, pairs, train.num_nodes, ordered=train.directed)
    _refuse(parts, repeated(keys), "of layer {layer!r} comes twice")
    known = seen
    if full is not None:
        _check_full(parts, full)
        known = parts.visibility.known_pairs(full)
    known.add(layer[held], pairs[held])
    _refuse(parts, ~held & known.has(layer, pairs), "has label 0 and is an edge of layer {layer!r}", full)
    if negatives is not None:
        _check_ranking(parts, negatives, known)


def _check_form(parts: _Test) -> None:
    """Refuse arrays that do not fit together, unknown nodes, layers, labels, and self pairs."""
    size, mx = len(parts.layer), parts.train
    shapes = parts.layer.shape, parts.pairs.shape, parts.label.shape
    if shapes != ((size,), (size, 2), (size,)):
        raise InputError(f"Expected layer (n,), pairs (n, 2) and label (n,), got shapes {shapes}.")
    for what, values, limit in (
        ("layer indices", parts.layer, mx.num_layers), ("node indices", parts.pairs, mx.num_nodes),
        ("labels", parts.label, 2),
    ):  # fmt: skip
        wrong = (values < 0) | (values >= limit)
        if wrong.any():
            raise InputError(f"Expected {what} from 0 to {limit - 1}, got {values[wrong][0]}.")
    _refuse(parts, parts.pairs[:, 0] == parts.pairs[:, 1], "of layer {layer!r} is a node with itself")


def _check_full(parts: _Test, full: Multiplex) -> None:
    """Refuse training edges and held-out edges that the full multiplex does not have."""
    train, held = parts.train, parts.label == 1
    same = (
        train.layer_names == full.layer_names
        and train.directed == full.directed
        and np.array_equal(train.node_names, full.node_names)
    )
    if not same:
        raise InputError(f"Expected a split of {full.title}, got one of {train.title}, with other nodes or layers.")
    arcs = KnownPairs(full)
    foreign = ~arcs.has(train.edge_layer, train.edge_index.T) & (train.edge_index[0] != train.edge_index[1])
    if foreign.any():
        layer, pair = train.edge_layer[foreign][0], train.edge_index[:, foreign][:, 0]
        raise InputError(f"Training edge {_show(pair)} is no edge of layer {full.layer_names[layer]!r}.")
    _refuse(parts, held & ~arcs.has(parts.layer, parts.pairs), "has label 1 and is no edge of layer {layer!r}")


def _check_ranking(parts: _Test, negatives: Ints, known: KnownPairs) -> None:
    """Check the negatives (p, m, 2) of the positives, so many rows at a time that memory stays bounded."""
    layer = parts.layer[parts.label == 1]
    if negatives.ndim != 3 or negatives.shape[::2] != (len(layer), 2):
        raise InputError(f"Expected negatives ({len(layer)}, m, 2), got shape {negatives.shape}.")
    each = negatives.shape[1]
    for start in range(0, len(layer), max(1, CHUNK // max(each, 1))):
        block = negatives[start : start + max(1, CHUNK // max(each, 1))]
        pairs, where = block.reshape(-1, 2), np.repeat(layer[start : start + len(block)], each)
        if ((pairs < 0) | (pairs >= known.num_nodes)).any():
            raise InputError(f"Expected node indices from 0 to {known.num_nodes - 1} in the negatives of positives.")
        keys = known.keys(where, pairs)
        again = repeated_in_rows(keys.reshape(len(block), each)).reshape(-1)
        for wrong, what in (
            (pairs[:, 0] == pairs[:, 1], "is a node with itself"),
            (known.has_keys(keys), f"is an edge {'anywhere' if known.everywhere else 'of layer {layer!r}'}"),
            (again, "comes twice for one positive"),
        ):
            if wrong.any():
                at = int(np.argmax(wrong))
                text = what.format(layer=parts.train.layer_names[where[at]])
                raise InputError(f"Negative {_show(pairs[at])} of positive {start + at // each} {text}.")


def _refuse(parts: _Test, wrong: Bools, what: str, mx: Multiplex | None = None) -> None:
    """Refuse the first test pair that is wrong; `mx` is where to look for the layer that has it."""
    if wrong.any():
        at = int(np.argmax(wrong))
        layer = parts.train.layer_names[parts.layer[at]]
        if mx is not None and parts.visibility.hides_everywhere:
            both = np.stack([parts.pairs[at], parts.pairs[at][::-1]])
            layer = next((name for name in mx.layer_names if mx.has_edges(both, name).any()), layer)
        raise InputError(f"Test pair {_show(parts.pairs[at])} {what.format(layer=layer)}.")


def _show(pair: Ints) -> str:
    return str(tuple(pair.tolist()))
