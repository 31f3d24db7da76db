"""The multiplex of a table with one row per edge, from a file or from pandas, and the table of a multiplex.

Columns are named by role (see `roles`). Names stay dictionary-encoded in Arrow: only distinct names become Python
objects.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.arrays import Ints
from banditplex.errors import FormatError, InputError
from banditplex.multiplex.build import EdgeError
from banditplex.multiplex.cells import Origin, encoded, from_series, integer_names, leave_out_missing, merge_alike
from banditplex.multiplex.names import ONLY_LAYER, NameIndex, Names, as_names, check_distinct, factorize
from banditplex.multiplex.notes import COLUMNS, note
from banditplex.multiplex.numbers import Spelling, is_guess, with_times, with_weights
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import (
    DIRECTION,
    EDGE_ROLES,
    ENDS_AND_LAYER,
    MADE,
    PAIR_ROLES,
    ROLES,
    TRIPLES,
    assign_columns,
    place,
    plain,
)
from banditplex.multiplex.wide import LAYER, WEIGHT, from_matrices, widened

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex

TYPES = ("source_type", "destination_type")
_ENOUGH = 10  # nodes in each of two columns that make it unlikely, if they are of one kind, that none is in both


def from_table(
    cls: "type[Multiplex]", table: pa.Table, origin: Origin, options: TableOptions, *, nodes: Any = None,
    layers: Any = None, directed: bool | None = None, **others: Any,
) -> "Multiplex":  # fmt: skip
    """Build a multiplex from a table whose columns are named by role; `nodes` and `layers` declare all names.

    `directed` is what is known of the direction if the options do not say it; None: as the column of directions says,
    or undirected. Types of bipartite nodes are those in the columns of types or, without them, the names of the columns
    of source and destination. An id of two types is two nodes, and all names begin with the type, as in "user/7".
    """
    bipartite, fold_case = options.bipartite, options.fold_case
    directed = directed if options.directed is None else options.directed
    columns = [table[role] for role in PAIR_ROLES]
    if bipartite and columns[0].type != columns[1].type:
        columns = [column.cast(pa.string()) for column in columns]
    node_names, ends = _index(columns, nodes, "node", origin)
    if nodes is None:
        node_names, ends = merge_alike(node_names, ends, "node", origin.path, fold=fold_case)
    if bipartite or set(TYPES) <= set(table.column_names):
        node_names, ends, types = _typed(table, origin, node_names, ends, bool(bipartite))
        if bipartite and nodes is None and len(table):
            order = np.argsort(types != types[ends[0, 0]], kind="stable")  # sources first: pairs read as user, item
            node_names, ends, types = node_names[order], np.argsort(order)[ends], types[order]
        others.setdefault("node_types", types)
    elif others.get("node_types") is None and bipartite is None:
        _tell_two_kinds(origin, ends, node_names)
    if "layer" in table.column_names:
        layer_names, codes = _index([table["layer"]], layers, "layer", origin)
        if layers is None:
            layer_names, codes = merge_alike(layer_names, codes, "layer", origin.path, fold=fold_case)
    else:
        layer_names, codes = np.array([ONLY_LAYER], dtype=object), np.zeros((1, len(table)), np.int64)
    guessed = directed is None and "direction" not in table.column_names
    if directed is None:
        directed = direction(table, origin) or False
    for role in ("weight", "time"):
        if role in table.column_names:
            others[role] = _numbers(table[role], role, origin)
    try:
        others |= {"node_names": node_names, "layer_names": layer_names, "directed": directed}
        mx = cls.from_indices(ends[0], ends[1], codes[0], **others)
    except EdgeError as error:
        raise origin.error(error.message, error.edge) from None
    if "duplicates" not in others and others.get("self_loops", "keep") == "keep" and len(table) > mx.num_edges:
        _tell_repeated(mx, origin, ends, codes[0], guessed=guessed)
    names = {role: str(origin.columns.get(role, MADE[0])) for role in EDGE_ROLES if role in table.column_names}
    used = {role: name for role, name in names.items() if name not in (*MADE, role)}  # the usual names need no saying
    return mx.with_metadata(**{COLUMNS: used}) if used else mx


def _tell_repeated(mx: "Multiplex", origin: Origin, ends: Ints, layer: Ints, *, guessed: bool) -> None:
    """Say how many rows are merged with another; `guessed`: nobody said that both directions of a pair are one edge."""
    rows, merged, turned = ends.shape[1], ends.shape[1] - mx.num_edges, 0
    if not mx.directed and mx.num_layers * mx.num_nodes**2 < 2**63:
        keys = (layer * mx.num_nodes + ends[0]) * mx.num_nodes + ends[1]
        keys.sort()
        turned = 1 + int(np.count_nonzero(keys[1:] != keys[:-1])) - mx.num_edges
    if not guessed:
        merged, turned = merged - turned, 0
    shown = f", {turned:,} of them the other way round" if turned else ""
    shown += "; weights are added" if mx.weight is not None else ""
    shown += "; the earliest time counts" if mx.time is not None else ""
    shown += "; directed=True keeps the directions apart" if turned else ""
    if merged:
        note(f"{place(origin.path)}{merged:,} of {rows:,} rows merged with another of the same nodes and layer{shown}.")


def direction(table: pa.Table, origin: Origin) -> bool | None:
    """Return what the column Type of Gephi says, True for triples, or None."""
    if tuple(map(plain, map(origin.columns.get, ENDS_AND_LAYER))) in TRIPLES:
        note(f"{place(origin.path)}triples are read as directed edges; directed=False merges both directions.")
        return True
    if "direction" not in table.column_names or not len(table):
        return None
    words = pc.utf8_lower(pc.utf8_trim_whitespace(table["direction"].cast(pa.string())))
    first = words[0].as_py()
    other = np.asarray(pc.not_equal(words, first), np.bool_)
    if first not in DIRECTION or other.any():
        row, want = (int(np.argmax(other)), first) if first in DIRECTION else (0, "directed or undirected")
        got, hint = table["direction"][row].as_py(), "directed=True or directed=False says how to read all edges"
        raise origin.error(f"expected an edge that is {want}, got {got!r}; {hint}", row)
    return DIRECTION[first]


def _typed(
    table: pa.Table, origin: Origin, names: Names, ends: Ints, bipartite: bool
) -> tuple[Names, Ints, npt.NDArray[Any]]:
    """Return the names of typed nodes, the edges between them, and their types."""
    if set(TYPES) <= set(table.column_names):
        kinds, types = _index([table[role].cast(pa.string()) for role in TYPES], None, "type", origin)
    else:
        kinds = np.array([stem(origin.columns[role]) or role for role in PAIR_ROLES], dtype=object)
        types = np.stack([np.zeros(len(table), np.int64), np.ones(len(table), np.int64)])
        if kinds[0] == kinds[1]:
            kinds = np.array(PAIR_ROLES, dtype=object)
    found, codes = np.unique(ends * len(kinds) + types, return_inverse=True)
    node, kind = found // len(kinds), found % len(kinds)
    twice = np.flatnonzero(node[1:] == node[:-1])
    if not len(twice):
        each = np.full(len(names), -1, np.int64)
        each[node] = kind
        if (each < 0).any():
            raise InputError(f"Expected a type for every node, got none for {names.item(np.argmax(each < 0))!r}.")
        return names, ends, kinds[each]
    if not bipartite:
        pair = " and ".join(repr(kinds[kind[each]]) for each in (twice[0], twice[0] + 1))
        hint = "bipartite=True makes them two nodes"
        message = f"Expected one type per node, got {pair} for {names.item(node[twice[0]])!r}; {hint}"
        raise FormatError(message, path=origin.path)
    labels = [f"{a}/{b}" for a, b in zip(kinds[kind].tolist(), names[node].tolist(), strict=True)]
    shown = f"{len(twice):,} ids are shared by {' and '.join(map(repr, kinds))}: nodes are named as in {labels[0]!r}"
    note(f"{place(origin.path)}{shown}.")
    return np.array(labels, dtype=object), codes.reshape(ends.shape), kinds[kind]


def _tell_two_kinds(origin: Origin, ends: Ints, names: Names) -> None:
    """Say if source and destination look like two kinds of nodes, such as users and items."""
    pair = " and ".join(repr(origin.columns.get(role, role)) for role in PAIR_ROLES)
    kinds = [stem(str(origin.columns.get(role, role))) for role in PAIR_ROLES]
    differ = all(kinds) and kinds[0] != kinds[1]
    seen = np.zeros((2, len(names)), np.bool_)
    seen[0, ends[0]], seen[1, ends[1]] = True, True
    enough = differ or seen.sum(axis=1).min() >= _ENOUGH
    shared = int((seen[0] & seen[1]).sum()) if enough else 1
    hint = "bipartite=True reads them as two kinds of nodes"
    if differ and shared and names.dtype != object:
        same = f"{shared:,} id{'s' * (shared > 1)} in common, read as the same node{'s' * (shared > 1)}"
        note(f"{place(origin.path)}columns {pair} have {same}; {hint}.")
    elif not shared and ends.shape[1]:
        note(f"{place(origin.path)}columns {pair} share no node; {hint}.")


def stem(column: str) -> str:
    """Return what the name of a column says about the kind of its nodes: nothing if it is a usual name."""
    word = re.sub(r"[\W_]*(?:id|name|\d+|[ab])?$", "", column.strip().casefold())
    return "" if word in {name for role in PAIR_ROLES for name in ROLES[role]} else word


# Tables of pandas, in memory or from a sheet of Excel


def from_frame(
    cls: type["Multiplex"], frame: pd.DataFrame, options: TableOptions, *, node_names: Any = None, **others: Any
) -> "Multiplex":
    """Build a multiplex from a table as `from_pandas` does; `others` are passed to `Multiplex.from_indices`."""
    if options.matrix:
        return from_matrices(cls, {ONLY_LAYER: frame}, options, **others)
    if others.get("node_types") is not None:
        options = replace(options, source_type="", destination_type="")
    table, origin, _ = read_frame(frame, options)
    for roles in (PAIR_ROLES, ("layer",)):
        table = integer_names(table, roles, origin)
    num_nodes, layers = options.num_nodes, others.pop("layer_names", None)
    declared = node_names if num_nodes is None else np.arange(num_nodes)
    mx = from_table(cls, table, origin, options, nodes=declared, layers=layers, **others)
    if num_nodes is None or node_names is None:
        return mx
    names = check_distinct(as_names(node_names, "node"), "node")
    if len(names) != num_nodes:
        raise InputError(f"Expected {num_nodes} node names, got {len(names)}.")
    return replace(mx, node_names=names)


def read_frame(
    frame: pd.DataFrame, options: TableOptions, *, path: object = None, line_of: Callable[[int], int] | None = None,
    roles: Sequence[str] = EDGE_ROLES,
) -> tuple[pa.Table, Origin, str]:  # fmt: skip
    """Return columns by role, their origin, and the decimal point; `path` and `line_of` say where the rows are from."""
    rows = np.arange(len(frame))
    if options.wide:
        frame, rows = widened(frame, options, path)
        options = replace(options, layer=LAYER, weight=WEIGHT)
    names, head = list(map(str, frame.columns)), frame.head(1000)
    columns = assign_columns(
        names, options.columns, lambda name: head.iloc[:, names.index(name)].tolist(), path=path, roles=roles
    )
    table = from_series({role: frame.iloc[:, names.index(name)] for role, name in columns.items()})
    origin = Origin(path, columns, line_of, rows if options.wide else None)
    table, origin, spelling = read_cells(table, origin, options, blank="spaces" if path else "")
    if is_guess(spelling, options.decimal, options.thousands):
        note(f"{place(path)}weights are read with {spelling}.")
    return table, origin, spelling.point


def read_cells(
    table: pa.Table, origin: Origin, options: TableOptions, *, blank: str = ""
) -> tuple[pa.Table, Origin, Spelling]:
    """Refuse or fill empty cells, and read weights and times, as the options say; also return how weights are written.

    In a file, an "empty" text is such a cell, or "spaces", too (`blank`).
    """
    table, origin = leave_out_missing(table, origin, options.missing, blank=blank)
    table, spelling = with_weights(table, origin, options.decimal, options.thousands)
    return with_times(table, origin, spelling.point, options.date_format), origin, spelling


# The table of a multiplex


def to_table(mx: "Multiplex") -> pa.Table:
    """Return a table with one row per edge; columns of string names are dictionary-encoded, dates are dates."""
    columns = {
        "source": _name_column(mx.node_names, mx.edge_index[0]),
        "target": _name_column(mx.node_names, mx.edge_index[1]),
        "layer": _name_column(as_names(list(mx.layer_names), "layer"), mx.edge_layer),
        "weight": mx.weight,
        "time": _time_column(mx),
    }
    return pa.table({name: column for name, column in columns.items() if column is not None})


def _time_column(mx: "Multiplex") -> Any:
    """Return times; if they were dates, as dates, or with as many digits of a second as they need."""
    from banditplex.multiplex.value import DATES

    if mx.time is None or mx.time.dtype.kind != "i" or mx.metadata.get(DATES) is not True:
        return mx.time
    times = mx.time.view("datetime64[ns]")
    day = 24 * 60 * 60 * 10**9
    units = {day: "D", 10**9: "s", 10**6: "ms", 10**3: "us", 1: "ns"}
    unit = next(unit for step, unit in units.items() if not (mx.time % step).any())
    return pa.array(times.astype(f"datetime64[{unit}]"))


def _name_column(names: Names, index: Ints) -> Any:
    if names.dtype != object:
        return names[index]
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), pa.array(names, pa.string()))


def _index(columns: list[pa.ChunkedArray], declared: Any, what: str, origin: Origin) -> tuple[Names, Ints]:
    """Return all names, and the columns as indices into the names: (len(columns), rows)."""
    values, codes = zip(*(_encode(column, what, origin) for column in columns), strict=True)
    if len({part.dtype == object for part in values if len(part)}) > 1:
        raise FormatError(f"Expected {what} names that are all strings or all integers, got both", path=origin.path)
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
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not len(column):
        return np.empty(0, np.int64), None
    if pa.types.is_integer(kind):
        return as_names(column.cast(kind).to_numpy(), what), None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise FormatError(f"Expected {what} names that are strings or integers, got {column.type}", path=origin.path)
    chunks = encoded(column).chunks
    names = np.asarray(chunks[0].dictionary.to_numpy(zero_copy_only=False), dtype=object)
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    if (wrong := codes[(codes < 0) | (codes >= len(names))]).size:
        expected = f"{what} names number 0 to {len(names) - 1}"
        raise FormatError(f"Expected {expected}, got number {wrong[0]}", path=origin.path)
    return names, codes


def _numbers(column: pa.ChunkedArray, what: str, origin: Origin) -> npt.NDArray[Any]:
    """Return a column of numbers, or of dates if it is the time."""
    kind = column.type if len(column) else pa.float64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or (what == "time" and pa.types.is_temporal(kind)):
        return column.to_numpy() if len(column) else np.empty(0)
    raise FormatError(f"Expected numbers as {what}, got {kind}", path=origin.path)
