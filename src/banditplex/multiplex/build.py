"""Check, sort and merge edges, the pure functions behind `Multiplex.from_edges`; types in layers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Bools, Floats, Ints
from banditplex.errors import InputError
from banditplex.multiplex.names import Name, NameIndex, Names, as_names, as_python, check_num_nodes, factorize

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex

Numbers = npt.NDArray[Any]  # int64 or float64


class EdgeError(InputError):
    """An invalid input edge; `edge` is its position, from which a file reader can tell the line."""

    def __init__(self, message: str, edge: int) -> None:
        super().__init__(f"{message} (edge {edge})")
        self.message, self.edge = message, edge


def index_layers(layer: Any, num_edges: int, declared: Any) -> tuple[Ints, Names]:
    """Return the layer index of each edge, and the names of layers."""
    if isinstance(layer, str | int | np.integer):
        layer = np.full(num_edges, layer, dtype=object if isinstance(layer, str) else np.int64)
    column = as_names(layer, "layer")
    if declared is None:
        names, codes = factorize(column)
        return codes, names
    names = as_names(list(declared), "layer")
    return NameIndex(names, "layer")(column), names


def index_nodes(source: Any, destination: Any, num_nodes: int | None, declared: Any) -> tuple[Ints, Ints, Names]:
    """Return the node indices of sources and destinations, and the names of nodes."""
    tail, head = as_names(source, "node"), as_names(destination, "node")
    names = None if declared is None else as_names(declared, "node")
    check_num_nodes(num_nodes)
    if num_nodes is not None:
        if object in (tail.dtype, head.dtype):
            raise InputError("Expected integer node indices where num_nodes is given, got strings.")
        if names is None:
            names = np.arange(num_nodes)
        elif len(names) != num_nodes:
            raise InputError(f"Expected {num_nodes} node names, got {len(names)}.")
        return tail, head, names
    if names is not None:
        lookup = NameIndex(names, "node")
        return lookup(tail), lookup(head), names
    if tail.size and head.size and (tail.dtype == object) != (head.dtype == object):
        raise InputError("Expected node names that are all strings or all integers, got both.")
    names, codes = factorize(np.concatenate([tail, head]))
    return codes[: len(tail)], codes[len(tail) :], names


def sort_edges(
    source: Ints, destination: Ints, layer: Ints, *, num_nodes: int, num_layers: int, weight: Floats | None,
    time: Numbers | None, directed: bool, duplicates: str,
) -> tuple[Ints, Ints, Floats | None, Numbers | None]:  # fmt: skip
    """Sort edges by (layer, source, destination) and merge duplicates; an undirected edge has the smaller index first.

    Returned are edges (2, E), layer offsets (num_layers + 1,), weights and times. The three indices are packed into one
    63-bit key, if they fit into it, so that a single sort of integers suffices.
    """
    if not directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    bits = max(1, (num_nodes - 1).bit_length())  # of a node index
    key_bits = 2 * bits + max(1, num_layers.bit_length())
    if key_bits > 63:
        order = np.lexsort((destination, source, layer))
        layer, edges = layer[order], np.stack([source[order], destination[order]])
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(layer) != 0) | (np.diff(edges) != 0).any(axis=0)
        weight, time = _merge(weight, time, order, new, duplicates)
        offsets = np.searchsorted(layer[new], np.arange(num_layers + 1))
        return np.ascontiguousarray(edges[:, new]), offsets.astype(np.int64, copy=False), weight, time
    key = layer << bits
    key |= source
    key <<= bits
    key |= destination
    if not bool((key[1:] > key[:-1]).all()):
        places: Ints | None = None
        if weight is None and time is None and duplicates != "error":  # the original positions are not needed
            key.sort()
        else:
            places = stable_order(key, key_bits)
            key = key[places]
        first = np.ones(len(key), np.bool_)
        np.not_equal(key[1:], key[:-1], out=first[1:])
        if places is not None:
            weight, time = _merge(weight, time, places, first, duplicates)
        key = key if first.all() else key[first]
    edges = np.empty((2, len(key)), np.int64)
    np.right_shift(key, bits, out=edges[0])
    edges[0] &= (1 << bits) - 1
    np.bitwise_and(key, (1 << bits) - 1, out=edges[1])
    offsets = np.searchsorted(key, np.arange(num_layers + 1, dtype=np.int64) << (2 * bits))
    return edges, offsets.astype(np.int64, copy=False), weight, time


def stable_order(key: Ints, bits: int) -> Ints:
    """Return the order that sorts keys of `bits` bits; the sort is stable.

    This is a radix sort, last digit first. A digit and a position share 63 bits, with the digit as wide as possible.
    For most graphs that takes one or two plain sorts of integers, which are several times faster than an argsort.
    """
    place = max(1, len(key).bit_length())
    digit = 63 - place
    positions = np.arange(len(key))
    order = positions
    for shift in range(0, bits, digit):
        part = (key[order] if shift else key) >> shift
        part &= (1 << digit) - 1
        part <<= place
        part |= positions
        part.sort()
        part &= (1 << place) - 1
        order = order[part] if shift else part
    return order


def take(column: Any, which: npt.NDArray[Any]) -> Any:
    """Return the entries `which` of a column, or None if there is no column."""
    return None if column is None else column[which]


def _merge(
    weight: Floats | None, time: Numbers | None, order: Ints, first: Bools, duplicates: str
) -> tuple[Floats | None, Numbers | None]:
    """Return both columns in the given order, one entry per edge; `first` marks the first of each."""
    if first.all():
        return take(weight, order), take(time, order)
    if duplicates == "error":
        message = "Expected each edge once per layer, got a duplicate (duplicates='sum' merges them)"
        raise EdgeError(message, int(order[~first][0]))
    starts = np.flatnonzero(first)
    reduce = np.maximum if duplicates == "max" else np.add
    return (
        None if weight is None else reduce.reduceat(weight[order], starts),
        None if time is None else np.minimum.reduceat(time[order], starts),
    )


def check_edges(
    source: Any, destination: Any, layer: Any, node_names: Names, layer_names: tuple[Name, ...]
) -> tuple[Ints, Ints, Ints]:
    """Return the three columns as int64 indices of equal length, all within range."""
    columns = [np.asarray(column) for column in (source, destination, layer)]
    for array in columns:
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError(f"Expected a flat array of integer indices, got {array.dtype} of shape {array.shape}.")
    source, destination, layer = (array.astype(np.int64, copy=False) for array in columns)
    if not len(source) == len(destination) == len(layer):
        got = f"{len(source)}, {len(destination)} and {len(layer)}"
        raise InputError(f"Expected one source, destination and layer per edge, got {got}.")
    edge = _first_outside(layer, len(layer_names))
    if edge is not None:
        raise EdgeError(f"Expected layer indices from 0 to {len(layer_names) - 1}, got {layer[edge]}", edge)
    for column in (source, destination):
        edge = _first_outside(column, len(node_names))
        if edge is not None:
            where, last = layer_names[layer[edge]], len(node_names) - 1
            raise EdgeError(f"Expected node indices from 0 to {last}, got {column[edge]} in layer {where!r}", edge)
    return source, destination, layer


def _first_outside(index: Ints, count: int) -> int | None:
    if index.size == 0 or (index.min() >= 0 and index.max() < count):
        return None
    return int(np.argmax((index < 0) | (index >= count)))


def refuse_loops(loop: Bools, source: Ints, layer: Ints, node_names: Names, layer_names: tuple[Name, ...]) -> None:
    """Refuse self loops, which `loop` marks."""
    if loop.any():
        edge = int(np.argmax(loop))
        node, where = as_python(node_names[source[edge]]), layer_names[layer[edge]]
        raise EdgeError(f"Expected no self loops, got one of node {node!r} in layer {where!r}", edge)


def check_weight(weight: Any, num_edges: int) -> Floats | None:
    """Return finite weights >= 0 as float64, or None if all are 1: no weights means weight 1 everywhere."""
    if weight is None:
        return None
    weight = _as_numbers(weight, "weights", num_edges).astype(np.float64, copy=False)
    _refuse(~np.isfinite(weight) | (weight < 0), weight, "a finite weight of at least 0")
    return None if bool((weight == 1).all()) else weight


def check_time(time: Any, num_edges: int) -> Numbers | None:
    """Return edge times as int64 or float64; datetimes become nanoseconds since 1970."""
    if time is None:
        return None
    array = np.asarray(time)
    if array.dtype.kind == "M":
        _refuse(np.isnat(array), array, "a time")
        array = array.astype("datetime64[ns]").astype(np.int64)
    array = _as_numbers(array, "times", num_edges)
    _refuse(~np.isfinite(array), array, "a finite time")
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64, copy=False)


def check_features(features: Any, node_names: Names) -> npt.NDArray[Any] | None:
    """Return node features as a finite (num_nodes, F) float array; float32 and float64 keep their type."""
    if features is None:
        return None
    array, num_nodes = np.asarray(in_order(features, node_names, "features")), len(node_names)
    if array.dtype.kind not in "fiub" or array.ndim != 2 or len(array) != num_nodes:
        got = f"{array.shape} of {array.dtype}"
        raise InputError(f"Expected node features as a ({num_nodes}, F) array of numbers, got {got}.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32)
    wrong = ~np.isfinite(array)
    if wrong.any():
        node, column = np.argwhere(wrong)[0]
        raise InputError(f"Expected finite node features, got {array[node, column]} at node {node}, column {column}.")
    return array


def in_order(values: Any, node_names: Names, what: str) -> Any:
    """Return a table or series of pandas in the order of nodes, if its index names them; other values as they are."""
    import pandas as pd

    if not isinstance(values, pd.DataFrame | pd.Series) or isinstance(values.index, pd.RangeIndex):
        return values
    NameIndex(as_names(values.index.to_numpy(), "node"), "node")  # refuses duplicates
    place = values.index.get_indexer(pd.Index(node_names))
    if (place < 0).any():
        missing = as_python(node_names[np.argmax(place < 0)])
        raise InputError(f"Expected {what} of every node in the index of the table, got none for {missing!r}.")
    return values.iloc[place]


def check_types(types: Any, node_names: Names) -> Names | None:
    """Return one type per node, an object array of str; a mapping gives them by node name."""
    if types is None:
        return None
    if isinstance(types, Mapping):
        names = node_names.tolist()
        missing = next((name for name in names if name not in types), None)
        if missing is not None:
            raise InputError(f"Expected a type for every node, got none for {missing!r}.")
        types = [types[name] for name in names]
    array = np.array(in_order(types, node_names, "types"), dtype=object)
    if array.shape != (len(node_names),):
        raise InputError(f"Expected one type for each of {len(node_names)} nodes, got shape {array.shape}.")
    kinds = set(map(type, array.tolist()))
    if not kinds <= {str, np.str_}:
        found = " and ".join(sorted(kind.__name__ for kind in kinds - {str, np.str_}))
        raise InputError(f"Expected node types that are strings, got {found}.")
    return array if kinds <= {str} else np.array([str(each) for each in array], dtype=object)


def _as_numbers(values: Any, what: str, num_edges: int) -> Numbers:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InputError(f"Expected {what} that are numbers, got {array.dtype}.")
    if array.shape != (num_edges,):
        raise InputError(f"Expected one of the {what} for each of {num_edges} edges, got shape {array.shape}.")
    return array


def _refuse(wrong: Bools, values: Numbers, expected: str) -> None:
    if wrong.any():
        edge = int(np.argmax(wrong))
        raise EdgeError(f"Expected {expected}, got {values[edge]}", edge)


def linked_types(mx: "Multiplex") -> Ints:
    """Return the distinct (layer, source type, destination type) of all edges, as columns of indices (3, c), sorted.

    Self loops do not count. If undirected, the smaller type index comes first. Nodes without types are all of type 0.
    """
    other = mx.edge_index[0] != mx.edge_index[1]
    source, destination = mx.type_index[mx.edge_index[:, other]]
    if not mx.directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    count = max(len(mx.type_names), 1)
    found = np.unique((mx.edge_layer[other] * count + source) * count + destination)
    return np.stack([found // count**2, found // count % count, found % count])


def num_linkable(mx: "Multiplex", links: Ints) -> Ints:
    """Return the number of pairs of the types that each layer links, (num_layers,); all pairs if it has no edges."""
    layer, source, destination = links
    size = np.bincount(mx.type_index, minlength=1)
    both = 1 if mx.directed else 2
    pairs = np.where(source == destination, size[source] * (size[source] - 1) // both, size[source] * size[destination])
    total = np.zeros(mx.num_layers, np.int64)
    np.add.at(total, layer, pairs)
    shown = np.bincount(layer, minlength=mx.num_layers) > 0
    return np.where(shown, total, mx.num_nodes * (mx.num_nodes - 1) // both)


def show_types(mx: "Multiplex", links: Ints) -> list[str]:
    """Return the types that each layer links, such as "item-user", or "user>item" if directed."""
    shown: list[list[str]] = [[] for _ in range(mx.num_layers)]
    for layer, source, destination in links.T.tolist():
        shown[layer].append(mx.type_names[source] + (">" if mx.directed else "-") + mx.type_names[destination])
    return [", ".join(each) for each in shown]
