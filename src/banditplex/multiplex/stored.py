"""A multiplex whose arrays come from files that may hold anything: each is checked when it is first used.

Types, shapes and offsets are checked at once, at a cost that does not grow with the number of edges. Edges, weights and
times of a layer are looked at when the layer is first asked for, or all of them when a whole array is.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from banditplex.errors import FormatError, InputError
from banditplex.multiplex.build import Floats, Numbers, check_features
from banditplex.multiplex.names import Ints, Name, Names, check_distinct
from banditplex.multiplex.value import Multiplex

CHECKED_AT_ONCE = 1 << 22
"""Edges that are checked at once."""
Array = npt.NDArray[Any]
Files = Callable[[str], object]
"""Says in which file an array is, for errors."""


class StoredMultiplex(Multiplex):
    """A multiplex that checks its arrays on first use; made by `open`. Whatever is derived from it is a plain one."""

    def __new__(cls, *values: Any, **more: Any) -> Any:
        """Return a plain multiplex: `dataclasses.replace` has looked at all arrays by then."""
        return Multiplex(*values, **more)

    @classmethod
    def open(
        cls, arrays: Mapping[str, Array], layer_names: tuple[Name, ...], node_names: Names, *, files: Files, **more: Any
    ) -> "StoredMultiplex":
        """Return a multiplex of arrays by name, with `more` of the fields that are no arrays of numbers."""
        check_arrays(arrays, layer_names, node_names, files)
        stored: StoredMultiplex = object.__new__(cls)
        columns: dict[str, Any] = {name: arrays.get(name) for name in ("weight", "time", "node_features")}
        stored.__dict__["_files"] = files
        Multiplex.__init__(
            stored, arrays["edge_index"], arrays["layer_offsets"], layer_names, node_names, **columns, **more
        )
        stored.__dict__["_unchecked"] = {
            "edge_index": np.ones(len(layer_names), np.bool_),
            "weight": np.ones(len(layer_names), np.bool_),
            "time": np.ones(len(layer_names), np.bool_),
            "node_features": np.ones(1, np.bool_),
        }
        return stored

    @property
    def num_edges(self) -> int:
        """Number of edges in all layers together."""
        return int(self.__dict__["edge_index"].shape[1])

    def edges(self, layer: Name) -> Ints:
        """Return the edges of a layer: node indices, (2, E), sorted; a view, not a copy."""
        self._check_layer("edge_index", layer)
        edges: Ints = self.__dict__["edge_index"][:, self._span(layer)]
        return edges

    def weights(self, layer: Name) -> Floats:
        """Return the weights of a layer's edges, (E,); ones if the multiplex has no weights."""
        if self.__dict__["weight"] is None:
            return super().weights(layer)
        self._check_layer("weight", layer)
        weights: Floats = self.__dict__["weight"][self._span(layer)]
        return weights

    def times(self, layer: Name) -> Numbers | None:
        """Return the times of a layer's edges, (E,), or None if the multiplex has no times."""
        if self.__dict__["time"] is None:
            return None
        self._check_layer("time", layer)
        times: Numbers = self.__dict__["time"][self._span(layer)]
        return times

    def _check_layer(self, name: str, layer: Name) -> None:
        index, unchecked = self.layer_index(layer), self.__dict__["_unchecked"][name]
        if unchecked[index]:
            self._check(name, index, index + 1)
            unchecked[index] = False

    def _take(self, name: str) -> Any:
        """Return a whole array, which is checked if it was not yet; while it is made, nothing is."""
        unchecked = self.__dict__.get("_unchecked", {}).get(name)
        if unchecked is not None and unchecked.any() and self.__dict__[name] is not None:
            self._check(name, 0, len(unchecked))
            unchecked[:] = False
        return self.__dict__[name]

    def _check(self, name: str, first: int, last: int) -> None:
        array, file = self.__dict__[name], self.__dict__["_files"](name)
        if name == "node_features":
            try:
                check_features(array, self.num_nodes)
            except InputError as error:
                raise FormatError(str(error).removesuffix("."), path=file) from None
            return
        offsets = self.layer_offsets
        for low in range(int(offsets[first]), int(offsets[last]), CHECKED_AT_ONCE):
            high = min(low + CHECKED_AT_ONCE, int(offsets[last]))
            if name == "edge_index":
                self._check_edges(array, low, high, int(offsets[first]), file)
            else:
                self._check_numbers(name, array[low:high], low, file)

    def _check_edges(self, edges: Ints, low: int, high: int, first: int, file: object) -> None:
        """Refuse edges low..high of nodes that do not exist, the wrong way round, twice, or not in their order."""
        low = max(low - 1, first)  # an edge is compared with the one before it
        source, destination = part = np.asarray(edges[:, low:high])
        outside = (part < 0) | (part >= self.num_nodes)
        if outside.any():
            row, place = np.argwhere(outside)[0]
            raise self._wrong(f"node indices from 0 to {self.num_nodes - 1}", part[row, place], low + place, file)
        if not self.directed and (source > destination).any():
            place = int(np.argmax(source > destination))
            raise self._wrong("undirected edges with the smaller index first", part[:, place], low + place, file)
        rising = (source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (destination[1:] > destination[:-1]))
        begins = self.layer_offsets[np.searchsorted(self.layer_offsets, [low, high])[0] :] - low - 1
        rising[begins[(begins >= 0) & (begins < len(rising))]] = True  # the first edge of a layer
        if not rising.all():
            place = int(np.argmin(rising)) + 1
            raise self._wrong("edges in their order, each once", part[:, place], low + place, file)

    def _check_numbers(self, name: str, values: Array, low: int, file: object) -> None:
        wrong = ~np.isfinite(values)
        if name == "weight":
            wrong |= values < 0
        if wrong.any():
            place = int(np.argmax(wrong))
            expected = "finite weights of at least 0" if name == "weight" else "finite times"
            raise self._wrong(expected, values[place], low + place, file)

    def _wrong(self, expected: str, got: Any, edge: int, file: object) -> FormatError:
        layer = self.layer_names[int(np.searchsorted(self.layer_offsets, edge, side="right")) - 1]
        found = got.tolist()
        return FormatError(f"expected {expected}, got {found} in layer {layer!r} (edge {edge})", path=file)


def _checked(name: str) -> Any:
    """Return a property in the place of a field, which checks the array when it is first read."""

    def take(self: StoredMultiplex) -> Any:
        return self._take(name)

    def keep(self: StoredMultiplex, value: Any) -> None:
        self.__dict__[name] = value

    return property(take, keep, doc=f"The array {name}, checked when it is first used.")


for _name in ("edge_index", "weight", "time", "node_features"):
    setattr(StoredMultiplex, _name, _checked(_name))


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
        same = len(array.shape) == len(shape) and all(
            want in (None, size) for want, size in zip(shape, array.shape, strict=True)
        )
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
