"""Tables with one row per edge (source, target, layer[, weight][, time]), shared by CSV, TSV and Parquet.

Names stay dictionary-encoded in Arrow: only distinct names become Python objects.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.errors import FormatError
from banditplex.io.base import locating
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Ints, NameIndex, Names, as_names, factorize

ROLES = {  # from the role of a column to its usual names
    "source": ("source",),
    "destination": ("target", "destination"),
    "layer": ("layer",),
    "weight": ("weight",),
    "time": ("time",),
}
EDGE_ROLES = tuple(ROLES)
PAIR_ROLES = ("source", "destination")
ONLY_LAYER = "edges"  # the layer of a table without a layer column


class Columns(TypedDict, total=False):
    """The column names of a table: options for reading CSV, TSV and Parquet.

    The defaults are "source", "target" or "destination", "layer", "weight" and "time". The last three are optional;
    without a layer column, all edges are in the layer "edges".
    """

    source: str | None
    destination: str | None
    layer: str | None
    weight: str | None
    time: str | None


@dataclass(frozen=True)
class Origin:
    """The file of a table, for error messages.

    `columns` maps roles to the column names of the file. `line_of` maps rows to lines; without it, errors name the
    row, counted from 1.
    """

    path: Path
    columns: Mapping[str, str]
    line_of: Callable[[int], int] | None = None

    def error(self, message: str, row: int, role: str | None = None) -> FormatError:
        """Return an error about `row`, or about one of its columns."""
        column = None if role is None else self.columns[role]
        if self.line_of is None:
            return FormatError(message, path=self.path, row=row + 1, column=column)
        return FormatError(message, path=self.path, line=self.line_of(row), column=column)


def choose_columns(
    available: Sequence[str],
    given: Mapping[str, object],
    path: Path,
    *,
    roles: Sequence[str] = EDGE_ROLES,
    hint: str = "",
) -> dict[str, str]:
    """Return the column for each role: the given one, or one with a usual name.

    >>> choose_columns(["u", "target", "note"], {"source": "u"}, Path("edges.csv"))
    {'source': 'u', 'destination': 'target'}
    """
    chosen = {}
    for role in roles:
        wanted = given.get(role)
        names = ROLES[role] if wanted is None else (str(wanted),)
        found = next((name for name in names if name in available), None)
        if found is not None and list(available).count(found) > 1:
            raise FormatError(f"expected one column {found!r}, got several of this name", path=path)
        if found is not None:
            chosen[role] = found
        elif wanted is not None or role in PAIR_ROLES:
            expected = " or ".join(map(repr, names))
            listed = ", ".join(map(repr, available))
            other = f"; {role}=NAME selects another column" if wanted is None else ""
            raise FormatError(f"expected a column {expected} as {role}, got columns {listed}{other}{hint}", path=path)
    return chosen


def from_table(
    table: pa.Table, origin: Origin, *, nodes: Any = None, layers: Any = None, directed: bool = False
) -> Multiplex:
    """Build a multiplex from a table whose columns are named by role; `nodes` and `layers` declare all names."""
    node_names, ends = _index([table["source"], table["destination"]], nodes, "node", origin)
    if "layer" in table.column_names:
        layer_names, codes = _index([table["layer"]], layers, "layer", origin)
    else:
        layer_names, codes = np.array([ONLY_LAYER], dtype=object), np.zeros((1, len(table)), np.int64)
    numbers: dict[str, Any] = {
        role: _numbers(table[role], role, origin) for role in ("weight", "time") if role in table.column_names
    }
    with locating(origin.error):
        return Multiplex.from_indices(
            ends[0], ends[1], codes[0], node_names=node_names, layer_names=layer_names, directed=directed, **numbers
        )


def to_table(mx: Multiplex) -> pa.Table:
    """Return a table with one row per edge; columns of string names are dictionary-encoded."""
    columns = {
        "source": _name_column(mx.node_names, mx.edge_index[0]),
        "target": _name_column(mx.node_names, mx.edge_index[1]),
        "layer": _name_column(as_names(list(mx.layer_names), "layer"), mx.edge_layer),
        "weight": mx.weight,
        "time": mx.time,
    }
    return pa.table({name: column for name, column in columns.items() if column is not None})


def _name_column(names: Names, index: Ints) -> Any:
    if names.dtype != object:
        return names[index]
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), pa.array(names, pa.string()))


def _index(columns: list[pa.ChunkedArray], declared: Any, what: str, origin: Origin) -> tuple[Names, Ints]:
    """Return all names, and the columns as indices into the names: (len(columns), rows)."""
    values, codes = zip(*(_encode(column, what, origin) for column in columns), strict=True)
    if len({part.dtype == object for part in values if len(part)}) > 1:
        raise FormatError(f"expected {what} names that are all strings or all integers, got both", path=origin.path)
    every = np.concatenate([part for part in values if len(part)] or values)
    if declared is None:
        names, rank = factorize(every)
    else:
        names = as_names(declared, what)
        rank = NameIndex(names, what).find(every)
    ranks = np.split(rank, np.cumsum([len(part) for part in values])[:-1])
    indices = np.stack([part if code is None else part[code] for part, code in zip(ranks, codes, strict=True)])
    if (indices < 0).any():
        row = int(np.argwhere(indices < 0)[:, 1].min())
        got = columns[int(np.argmax(indices[:, row] < 0))][row].as_py()
        raise origin.error(f"expected one of the {len(names)} declared {what}s, got {got!r}", row)
    return names, indices


def _encode(column: pa.ChunkedArray, what: str, origin: Origin) -> tuple[Names, Ints | None]:
    """Return distinct names and their index in each row; for integers, the column itself and None."""
    refuse_nulls(column, f"a {what} name", origin)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        return as_names(column.cast(kind).to_numpy(), what), None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise FormatError(f"expected {what} names that are strings or integers, got {column.type}", path=origin.path)
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    if not chunks:
        return np.empty(0, np.int64), None
    names = np.asarray(chunks[0].dictionary.to_numpy(zero_copy_only=False), dtype=object)
    return names, np.concatenate([chunk.indices.to_numpy() for chunk in chunks])


def _numbers(column: pa.ChunkedArray, what: str, origin: Origin) -> npt.NDArray[Any]:
    """Return a column of numbers, or of dates if it is the time."""
    refuse_nulls(column, f"a {what}", origin)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or (what == "time" and pa.types.is_temporal(kind)):
        array: npt.NDArray[Any] = column.to_numpy()
        return array
    raise FormatError(f"expected numbers as {what}, got {kind}", path=origin.path)


def refuse_nulls(column: pa.ChunkedArray, expected: str, origin: Origin) -> None:
    """Refuse a column with an empty cell."""
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise origin.error(f"expected {expected}, got an empty cell", row)
