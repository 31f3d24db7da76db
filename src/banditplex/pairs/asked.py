"""Pairs that a user asks about, as node indices: what every method that scores pairs accepts."""

import numpy as np
from numpy.typing import ArrayLike

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name


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
