"""Nodes and edges with attributes, in columns: what GraphML and GML files hold, in a fraction of the memory."""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from banditplex.multiplex.names import Ints

SHARED = 1 << 16
"""Distinct strings that are stored once, such as names of layers."""


class Values:
    """Attributes of rows by name. A row need not have all of them; the last value of a row counts."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[array[int], list[Any]]] = {}
        self._shared: dict[str, str] = {}

    def add(self, row: int, values: Mapping[str, Any]) -> None:
        """Give attributes to a row."""
        for name, value in values.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = array("q"), []
            column[0].append(row)
            if isinstance(value, str) and len(self._shared) < SHARED:
                value = self._shared.setdefault(value, value)
            column[1].append(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def rows(self, name: str) -> Ints:
        """Return the rows that have an attribute, in order."""
        return np.unique(np.array(self._columns[name][0] if name in self else [], np.int64))

    def items(self, name: str) -> Iterator[tuple[int, Any]]:
        """Return (row, value) of an attribute in the order of the file."""
        rows, values = self._columns.get(name, ((), ()))
        return zip(rows, values, strict=True)

    def column(self, name: str, size: int, missing: Any = None) -> list[Any]:
        """Return an attribute of all rows."""
        rows, values = self._columns.get(name, (array("q"), []))
        if np.array_equal(rows, np.arange(size)):
            return values
        column = [missing] * size
        for row, value in zip(rows, values, strict=True):
            column[row] = value
        return column

    def count(self, size: int) -> Ints:
        """Return how many attributes each row has."""
        rows = [np.empty(0, np.int64), *(self.rows(name) for name in self)]
        return np.bincount(np.concatenate(rows), minlength=size)

    def pop(self, name: str) -> None:
        """Forget an attribute."""
        self._columns.pop(name, None)

    def move(self, places: Ints) -> None:
        """Give all that row i has to row places[i]."""
        for name, (rows, values) in self._columns.items():
            self._columns[name] = array("q", places[np.array(rows, np.int64)].tobytes()), values


class Graph:
    """A graph while it is read: nodes by name or id, edges in the order of the file, and attributes of all.

    An edge may name nodes before they are declared. `finish` orders the nodes as they were declared.
    """

    def __init__(self) -> None:
        self.directed = False
        self.attributes: dict[str, Any] = {}
        self.node_values, self.edge_values = Values(), Values()
        self._places: dict[Any, int] = {}
        self._declared, self._order = bytearray(), array("q")
        self._source, self._destination = array("q"), array("q")
        self._keyed, self._keys = array("q"), array("q")
        self.nodes: list[Any] = []
        self.source = self.destination = np.empty(0, np.int64)

    def declare(self, name: Any) -> tuple[int, bool]:
        """Return the row of a node, and whether it was declared before."""
        row = self._place(name)
        known = bool(self._declared[row])
        if not known:
            self._declared[row] = 1
            self._order.append(row)
        return row, known

    def add_edge(self, source: Any, destination: Any, values: Mapping[str, Any], key: Any = None) -> None:
        """Add an edge; edges between the same nodes with the same key, unless it is None, are one edge."""
        row = len(self._source)
        self._source.append(self._place(source))
        self._destination.append(self._place(destination))
        self.edge_values.add(row, values)
        if key is not None:
            self._keyed.append(row)
            self._keys.append(hash(key))

    def _place(self, name: Any) -> int:
        row = self._places.setdefault(name, len(self._places))
        if row == len(self._declared):
            self._declared.append(0)
        return row

    def finish(self) -> None:
        """Set `nodes`, `source` and `destination`: declared nodes in their order, or all nodes if none is declared."""
        self.nodes, self._places = list(self._places), {}
        self.source, self.destination = np.array(self._source, np.int64), np.array(self._destination, np.int64)
        self._source, self._destination = array("q"), array("q")
        order = np.array(self._order, np.int64)
        if len(order) and not np.array_equal(order, np.arange(len(self.nodes))):
            known = np.frombuffer(bytes(self._declared), np.uint8) > 0
            order = np.concatenate([order, np.flatnonzero(~known)])
            places = np.empty_like(order)
            places[order] = np.arange(len(order))
            self.nodes = [self.nodes[row] for row in order.tolist()]
            self.source, self.destination = places[self.source], places[self.destination]
            self.node_values.move(places)

    @property
    def undeclared(self) -> int | None:
        """The first node that only edges name, if other nodes are declared."""
        return len(self._order) if 0 < len(self._order) < len(self.nodes) else None

    def repeated(self, *, keyless: bool = False) -> tuple[Ints, Ints]:
        """Return edges that repeat an earlier one, and those; with `keyless`, whatever their keys are."""
        rows = np.arange(len(self.source)) if keyless else np.array(self._keyed, np.int64)
        ends = np.stack([self.source[rows], self.destination[rows]])
        ends = ends if self.directed else np.sort(ends, axis=0)
        keys = np.zeros_like(rows) if keyless else np.array(self._keys, np.int64)
        _, first, inverse = np.unique(np.stack([*ends, keys]), axis=1, return_index=True, return_inverse=True)
        earlier = rows[first[inverse.reshape(-1)]]
        again = earlier != rows
        return rows[again], earlier[again]

    def merge_repeated(self) -> None:
        """Make one edge of edges that are repeated; what the last of them says counts."""
        again, earlier = self.repeated()
        if len(again):
            places = np.arange(len(self.source))
            places[again] = earlier
            kept, places = np.unique(places, return_inverse=True)
            self.edge_values.move(places.reshape(-1))
            self.source, self.destination = self.source[kept], self.destination[kept]

    def edge(self, row: int) -> str:
        """Return the name of an edge for a message."""
        return f"the edge from {self.nodes[self.source[row]]!r} to {self.nodes[self.destination[row]]!r}"

    def node(self, row: int) -> str:
        """Return the name of a node for a message."""
        return f"the node {self.nodes[row]!r}"
