"""Tables of pandas with a row per edge, in memory or from a sheet of Excel."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from banditplex.errors import InputError
from banditplex.multiplex.cells import Origin, from_series, integer_names, leave_out_missing
from banditplex.multiplex.dates import with_times
from banditplex.multiplex.names import ONLY_LAYER, as_names, check_distinct
from banditplex.multiplex.notes import note
from banditplex.multiplex.numbers import Spelling, is_guess, with_weights
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import PAIR_ROLES, assign_columns, place
from banditplex.multiplex.table import from_table
from banditplex.multiplex.wide import LAYER, WEIGHT, from_matrices, widened

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex.value import Multiplex


def from_frame(
    cls: type["Multiplex"], frame: "pd.DataFrame", options: TableOptions, *, node_names: Any = None, **others: Any
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
    frame: "pd.DataFrame", options: TableOptions, *, path: object = None, line_of: Callable[[int], int] | None = None
) -> tuple[pa.Table, Origin, str]:
    """Return columns by role, their origin, and the decimal point; `path` and `line_of` say where the rows are from."""
    rows = np.arange(len(frame))
    if options.wide:
        frame, rows = widened(frame, options, path)
        options = replace(options, layer=LAYER, weight=WEIGHT)
    names, head = list(map(str, frame.columns)), frame.head(1000)
    columns = assign_columns(names, options.columns, lambda name: head.iloc[:, names.index(name)].tolist(), path=path)
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
