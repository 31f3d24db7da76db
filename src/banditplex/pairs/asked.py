"""Pairs and nodes that were asked about by name, as indices; also in a table with a column for the layer."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from banditplex.arrays import Floats, Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.names import Names
from banditplex.multiplex.roles import PAIR_ROLES, ROLES, choose_columns


def as_pairs(mx: Multiplex, pairs: ArrayLike) -> Ints:
    """Return pairs (n, 2) of node names as indices; columns of a table go by their usual names, if they have these."""
    array = np.asarray(_source_first(pairs))
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        got = f"shape {array.shape}"
        if isinstance(pairs, pd.DataFrame):
            got = f"columns {', '.join(map(str, pairs))}; predict_proba takes a column layer, without layer="
        raise InputError(f"Expected pairs as an (n, 2) array, got {got}.")
    index = _known(mx, array)
    same = index[:, 0] == index[:, 1]
    if same.any():
        raise InputError(f"Expected pairs of two different nodes, got {array[np.argmax(same)].tolist()}.")
    return index


def _source_first(pairs: ArrayLike) -> Any:
    """Return a table of pairs with the column of sources first, if its two columns say which that is."""
    if not isinstance(pairs, pd.DataFrame) or pairs.shape[1] != 2:
        return pairs
    columns = [str(name) for name in pairs.columns]
    if not all(any(name.casefold() in ROLES[role] for name in columns) for role in PAIR_ROLES):
        return pairs
    names = choose_columns(columns, {}, roles=PAIR_ROLES)
    return pairs.set_axis(columns, axis=1)[[names[role] for role in PAIR_ROLES]]


def as_node(mx: Multiplex, node: Name) -> int:
    """Return the index of a node by its name."""
    return int(_known(mx, np.asarray([node]))[0])


def _known(mx: Multiplex, nodes: Names) -> Ints:
    if nodes.dtype.kind in "iu" and mx.node_names.dtype == object:
        which = "node_names of the multiplex has the name of each index"
        raise InputError(f"Expected names of nodes, such as {mx.node_names[0]!r}, got {nodes.flat[0]}; {which}.")
    if nodes.dtype.kind == "f" and mx.node_names.dtype.kind in "iu" and (nodes == np.floor(nodes)).all():
        nodes = nodes.astype(np.int64)  # as pandas has integers beside a missing value
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
