"""The union of all layers as one more layer to draw: something of everything, where no few layers tell enough."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex

Ints = NDArray[np.int64]
UNION, UNION_NUMBER = "(union)", -1
"""Its name, where layers have names, and where they have numbers."""


def with_union(mx: Multiplex) -> Multiplex:
    """Return the multiplex with the union of its layers behind them; one of fewer than three layers as it is.

    >>> mx = Multiplex.from_edges([0, 1, 0], [1, 2, 1], ["a", "b", "c"])
    >>> with_union(mx).layer_names, with_union(mx).edges(UNION).T.tolist()
    (('a', 'b', 'c', '(union)'), [[0, 1], [1, 2]])
    """
    for taken in {UNION, UNION_NUMBER}.intersection(mx.layer_names):
        raise InputError(f"Expected layers of other names than {taken!r} with union=True, got one of that name.")
    if mx.num_layers < 3:
        return mx
    name = UNION if isinstance(mx.layer_names[0], str) else UNION_NUMBER
    merged = mx.union()
    return replace(
        mx,
        edge_index=np.concatenate([mx.edge_index, merged.edge_index], axis=1),
        layer_offsets=np.append(mx.layer_offsets, mx.num_edges + merged.num_edges),
        layer_names=(*mx.layer_names, name),
        weight=None if mx.weight is None or merged.weight is None else np.append(mx.weight, merged.weight),
        time=None if mx.time is None or merged.time is None else np.append(mx.time, merged.time),
    )


def without_union(mx: Multiplex) -> Multiplex:
    """Return the multiplex that `with_union` was given."""
    return mx.subset(layers=mx.layer_names[:-1]) if has_union(mx) else mx


def without_edges(mx: Multiplex, place: Ints, *, union: bool) -> Multiplex:
    """Return the multiplex without the edges at some places (n,), and the last layer the `union` of what is left."""
    if not len(place):
        return mx
    keep = np.ones(mx.num_edges, np.bool_)
    keep[place] = False
    left = mx.keep_edges(keep)
    return with_union(without_union(left)) if union else left


def has_union(mx: Multiplex) -> bool:
    """Say whether the last layer is the union of all others."""
    return bool(mx.layer_names) and mx.layer_names[-1] in (UNION, UNION_NUMBER)
