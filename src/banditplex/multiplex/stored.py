"""A multiplex of arrays from files that may hold anything: all of them are checked, block by block."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from banditplex.errors import FormatError, InputError
from banditplex.multiplex.build import check_features
from banditplex.multiplex.names import Name, Names, check_distinct
from banditplex.multiplex.value import Multiplex

CHECKED_AT_ONCE = 1 << 22  # edges that are checked at once: arrays may be maps of files that do not fit into memory
Array = npt.NDArray[Any]
Files = Callable[[str], object]  # says in which file an array is, for errors


def from_arrays(
    arrays: Mapping[str, Array], layer_names: tuple[Name, ...], node_names: Names, *, files: Files, **more: Any
) -> Multiplex:
    """Return a multiplex of arrays by name, with `more` of the fields that are no arrays of numbers."""
    check_arrays(arrays, layer_names, node_names, files)
    columns: dict[str, Any] = {name: arrays.get(name) for name in ("weight", "time", "node_features")}
    mx = Multiplex(arrays["edge_index"], arrays["layer_offsets"], layer_names, node_names, **columns, **more)
    for low in range(0, mx.num_edges, CHECKED_AT_ONCE):
        high = min(low + CHECKED_AT_ONCE, mx.num_edges)
        _check_edges(mx, low, high, files("edge_index"))
        for name, expected in (("weight", "finite weights of at least 0"), ("time", "finite times")):
            if columns[name] is not None:
                values = columns[name][low:high]
                wrong = ~np.isfinite(values) | ((values < 0) & (name == "weight"))
                if wrong.any():
                    place = int(np.argmax(wrong))
                    raise _wrong(mx, expected, values[place], low + place, files(name))
    try:
        check_features(mx.node_features, mx.node_names)
    except InputError as error:
        raise FormatError(str(error).removesuffix("."), path=files("node_features")) from None
    return mx


def _check_edges(mx: Multiplex, low: int, high: int, file: object) -> None:
    """Refuse edges low..high of nodes that do not exist, the wrong way round, twice, or not in their order."""
    low = max(low - 1, 0)  # an edge is compared with the one before it
    source, destination = part = np.asarray(mx.edge_index[:, low:high])
    outside = (part < 0) | (part >= mx.num_nodes)
    if outside.any():
        row, place = np.argwhere(outside)[0]
        raise _wrong(mx, f"node indices from 0 to {mx.num_nodes - 1}", part[row, place], low + place, file)
    if not mx.directed and (source > destination).any():
        place = int(np.argmax(source > destination))
        raise _wrong(mx, "undirected edges with the smaller index first", part[:, place], low + place, file)
    rising = (source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (destination[1:] > destination[:-1]))
    begins = mx.layer_offsets[np.searchsorted(mx.layer_offsets, low) :] - low - 1
    rising[begins[(begins >= 0) & (begins < len(rising))]] = True  # the first edge of a layer
    if not rising.all():
        place = int(np.argmin(rising)) + 1
        raise _wrong(mx, "edges in their order, each once", part[:, place], low + place, file)


def _wrong(mx: Multiplex, expected: str, got: Any, edge: int, file: object) -> FormatError:
    layer = mx.layer_names[int(np.searchsorted(mx.layer_offsets, edge, side="right")) - 1]
    return FormatError(f"expected {expected}, got {got.tolist()} in layer {layer!r} (edge {edge})", path=file)


def check_arrays(arrays: Mapping[str, Array], layer_names: tuple[Name, ...], node_names: Names, files: Files) -> None:
    """Refuse arrays of other types and shapes than a multiplex has, wrong offsets, and names that come twice."""
    num_nodes, num_layers = len(node_names), len(layer_names)
    for name in ("edge_index", "layer_offsets"):
        if name not in arrays:
            raise FormatError("expected an array, got none", path=files(name))
    num_edges = arrays["edge_index"].shape[-1] if arrays["edge_index"].ndim else 0
    expected: dict[str, tuple[tuple[str, ...], tuple[int | None, ...]]] = {
        "edge_index": (("int64",), (2, num_edges)),
        "layer_offsets": (("int64",), (num_layers + 1,)),
        "weight": (("float64",), (num_edges,)),
        "time": (("int64", "float64"), (num_edges,)),
        "node_features": (("float32", "float64"), (num_nodes, None)),
    }
    for name, (kinds, shape) in expected.items():
        array = arrays.get(name)
        if array is None:
            continue
        fits = [want in (None, size) for want, size in zip(shape, array.shape, strict=False)]
        same = array.ndim == len(shape) and all(fits)
        known = [each for kind in kinds for each in (np.dtype(kind), np.dtype(kind).newbyteorder("<"))]
        if array.dtype not in known or not same:
            form = str(shape).replace("None", "F")
            message = f"expected {' or '.join(kinds)} of shape {form}, got {array.dtype} of shape {array.shape}"
            raise FormatError(message, path=files(name))
    offsets = arrays["layer_offsets"]
    if offsets[0] != 0 or offsets[-1] != num_edges or (offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"expected rising offsets from 0 to {num_edges}, got others", path=files("layer_offsets"))
    for names, what in ((node_names, "node"), (np.array([*layer_names, None], dtype=object)[:-1], "layer")):
        try:
            check_distinct(names, what)
        except InputError as error:
            raise FormatError(str(error).removesuffix("."), path=files(f"{what}_names")) from None
