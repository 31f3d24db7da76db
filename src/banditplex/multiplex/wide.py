"""Tables that are no list of edges: one column per layer (wide), and adjacency matrices."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from banditplex.arrays import Ints
from banditplex.errors import FormatError
from banditplex.multiplex.notes import note
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, MADE, NO, YES, choose_columns, place

if TYPE_CHECKING:
    from banditplex.multiplex.value import Multiplex

LAYER, WEIGHT = MADE


def widened(frame: pd.DataFrame, options: TableOptions, path: object = None) -> tuple[pd.DataFrame, Ints]:
    """Return a row per edge of a table that has a column of numbers, or of yes and no, for each layer.

    Also return the row of the table in which each edge is. The columns of the result are those of source, destination,
    time and types, and `LAYER` and `WEIGHT`.

    >>> import pandas as pd
    >>> from banditplex.multiplex.notes import collected
    >>> table = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"], "friend": [1, 0], "work": ["no", "2"]})
    >>> with collected(silent=True):
    ...     widened(table, TableOptions(wide=True))[0].to_numpy().tolist()
    [['a', 'b', 'friend', 1.0], ['b', 'c', 'work', 2.0]]
    """
    names, head = list(map(str, frame.columns)), frame.head(1000)
    frame = frame.set_axis(names, axis=1)
    roles = [role for role in EDGE_ROLES if role not in ("layer", "weight")]
    chosen = choose_columns(names, options.columns, path=path, roles=roles, sample=lambda name: head[name].tolist())
    numbers = {name: _numbers(frame[name], options) for name in names if name not in chosen.values()}
    layers = {name: column for name, column in numbers.items() if column.any() and not np.isnan(column).any()}
    if not layers:
        listed = ", ".join(map(repr, numbers)) or "none"
        raise FormatError(f"expected columns of numbers, or of yes and no, as layers, got {listed}", path=path)
    unused = [name for name in numbers if name not in layers]
    if unused:
        note(f"{place(path)}columns not used: {', '.join(unused)}; they hold other texts, or no edge.")
    rows = [np.flatnonzero(column) for column in layers.values()]
    parts = [
        frame.loc[:, list(chosen.values())].iloc[row].assign(**{LAYER: name, WEIGHT: numbers[name][row]})
        for (name, _), row in zip(layers.items(), rows, strict=True)
    ]
    shown = ", ".join(list(layers)[:5]) + f" and {len(layers) - 5} more" * (len(layers) > 5)
    note(f"{place(path)}{'columns are layers' if len(layers) > 1 else 'the column is the layer'}: {shown}.")
    odd = [name for name, column in layers.items() if not np.isin(column, (0, 1)).all()]
    if 0 < len(odd) < len(layers):
        hint = "weights of edges; if such a column is no layer, remove it from the table"
        note(f"{place(path)}numbers other than 0 and 1 in {', '.join(map(repr, odd))} are read as {hint}.")
    return pd.concat(parts, ignore_index=True), np.concatenate(rows)


def _numbers(column: pd.Series, options: TableOptions) -> Any:
    """Return numbers, 1 for yes and 0 for no and for empty cells, NaN for other texts."""
    if column.dtype.kind in "biuf":
        return column.fillna(0).to_numpy(np.float64)
    texts = column.map(lambda cell: str(cell).strip().casefold(), na_action="ignore").fillna("")
    texts = texts.replace(dict.fromkeys(YES, "1") | dict.fromkeys([*NO, ""], "0"))
    if options.decimal == ",":
        texts = texts.str.replace(",", ".", regex=False)
    found = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def from_matrices(
    cls: type["Multiplex"], frames: Mapping[Any, pd.DataFrame], options: TableOptions,
    paths: Iterable[object] = repeat(None), **others: Any,
) -> "Multiplex":  # fmt: skip
    """Build a multiplex from one adjacency matrix per layer; entries are weights, and empty cells or 0 are no edges.

    The names of nodes are those of the columns, and of the rows in the first column. Without a header, nodes are
    numbered from 0. If the options do not say it, edges are directed unless every matrix is symmetric.
    """
    found = {each: _matrix(frames[each], options, path) for each, path in zip(frames, paths, strict=False)}
    every = {node for nodes, _ in found.values() for node in nodes}
    whole = all(node.isascii() and node.isdigit() and str(int(node)) == node for node in every)
    names = sorted(map(int, every)) if whole else sorted(every)
    place = {str(name): index for index, name in enumerate(names)}
    matrices = {}
    for layer, (nodes, matrix) in found.items():
        rows, columns = np.nonzero(matrix)
        at = np.array([place[node] for node in nodes], np.int64)
        matrices[layer] = sp.csr_array((matrix[rows, columns], (at[rows], at[columns])), shape=(len(names), len(names)))
    return cls.from_scipy(matrices, directed=options.directed, node_names=names, **others)


def _matrix(frame: pd.DataFrame, options: TableOptions, path: object) -> tuple[list[str], Any]:
    """Return the names of nodes, and the matrix of one layer."""
    names, more = [str(column).strip() for column in frame.columns], len(frame.columns) - len(frame)
    rows: list[Any] = [*range(1, len(frame) + 1)]  # as users see them
    if not options.header:
        names = [str(index) for index in range(len(names))]
    elif more == 1 or names[:1] == ["Unnamed: 0"] or (more and np.isnan(_numbers(frame.iloc[:, 0], options)).any()):
        rows = [str(cell).strip().removesuffix(".0") for cell in frame.iloc[:, 0]]
        names, frame = names[1:], frame.iloc[:, 1:]
        twice = next((each for each, count in Counter(rows).items() if count > 1), None)
        if twice is not None:
            raise FormatError(f"expected distinct names in the first column, got {twice!r} twice", path=path)
        if set(rows) != set(names):
            odd = next(each for each in [*rows, *names] if (each in rows) != (each in names))
            where = f"only in the first {'column' if odd in rows else 'row'}"
            got = f"{odd!r} {where}; header=False reads a matrix without names"
            raise FormatError(f"expected the same names in the first row and the first column, got {got}", path=path)
        frame, rows = frame.iloc[np.argsort(rows)[np.argsort(np.argsort(names))]], names
    if len(set(names)) < len(names) or len(names) != len(frame):
        got = f"{len(frame):,} rows and {len(names):,} columns" if len(names) != len(frame) else "a name twice"
        raise FormatError(f"expected a square matrix with distinct names, got {got}", path=path)
    matrix = np.array([_numbers(frame.iloc[:, place], options) for place in range(len(names))])
    matrix = matrix.reshape(len(names), len(names)).T
    wrong = np.argwhere(~(matrix >= 0))
    if len(wrong):
        row, column = wrong[0]
        named = names[column] if options.header else str(column + 1)
        message = f"expected a number of at least 0, got {str(frame.iat[row, column])!r}"
        raise FormatError(message, path=path, row=rows[row], column=named)
    return names, matrix
