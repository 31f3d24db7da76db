"""Pairs and nodes that were asked about, as indices: by name, by index, or in a table with a column for the layer."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from banditplex.arrays import Floats, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.roles import choose_columns


def as_pairs(mx: Multiplex, pairs: ArrayLike) -> Ints:
    """Return pairs (n, 2) of node names as indices; integers are indices where names are strings."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"Expected pairs as an (n, 2) array, got shape {array.shape}.")
    if array.dtype.kind in "iu" and mx.node_names.dtype == object:
        if array.min() < 0 or array.max() >= mx.num_nodes:
            raise InputError(f"Expected node indices from 0 to {mx.num_nodes - 1}, got {array.min()} to {array.max()}.")
        index = array.astype(np.int64)
    else:
        index = _known(mx, array)
    same = index[:, 0] == index[:, 1]
    if same.any():
        raise InputError(f"Expected pairs of two different nodes, got {array[np.argmax(same)].tolist()}.")
    return index


def as_node(mx: Multiplex, node: Name) -> int:
    """Return the index of a node by its name; an integer is an index where names are strings."""
    if isinstance(node, int | np.integer) and mx.node_names.dtype == object:
        if not 0 <= node < mx.num_nodes:
            raise InputError(f"Expected a node index from 0 to {mx.num_nodes - 1}, got {node}.")
        return int(node)
    return int(_known(mx, [node])[0])


def _known(mx: Multiplex, nodes: ArrayLike) -> Ints:
    try:
        return mx.node_index(nodes)
    except InputError as error:
        if "did you mean" in str(error):
            raise
        raise InputError(f"{error} A node that came later needs context=, its edges.") from None


def in_own_layers(pairs: ArrayLike, targets: Sequence[Name], score: Callable[[Any, Name], Floats]) -> Floats:
    """Return the scores (n,) of pairs: of a table with columns source, target and layer, or of the only target."""
    if not isinstance(pairs, pd.DataFrame) or pairs.shape[1] == 2:
        if len(targets) > 1:
            expected = f"layer=, one of the {len(targets)} targets, or a table with a column layer"
            raise InputError(f"Expected {expected}, got neither.")
        return score(pairs, targets[0])
    columns = [str(name) for name in pairs.columns]
    table, names = pairs.set_axis(columns, axis=1), choose_columns(columns, {})
    if "layer" not in names:
        raise InputError(f"Expected a column layer, or layer=, got columns {', '.join(columns)}.")
    ends, result = table[[names["source"], names["destination"]]].to_numpy(), np.empty(len(table))
    code, layers = pd.factorize(table[names["layer"]], use_na_sentinel=False)
    for number, layer in enumerate(layers.tolist()):
        result[code == number] = score(ends[code == number], layer)
    return result
