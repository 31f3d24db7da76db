"""Tables of pandas with a row per edge, in memory or from a sheet of Excel."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from banditplex.errors import InputError
from banditplex.multiplex.cells import Origin, from_series, integer_names, leave_out_missing
from banditplex.multiplex.dates import check_date_format, with_times
from banditplex.multiplex.names import Names, as_names, check_distinct
from banditplex.multiplex.notes import note
from banditplex.multiplex.numbers import check_spelling, is_guess, with_weights
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, assign_columns, place
from banditplex.multiplex.spelling import tidy_names
from banditplex.multiplex.table import TYPES, from_table

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex.value import Multiplex

CELLS = ("decimal", "thousands", "date_format", "missing", "line_of")
"""Options about what is in the cells."""


def from_frame(
    cls: type["Multiplex"],
    frame: "pd.DataFrame",
    *,
    num_nodes: int | None = None,
    node_names: Any = None,
    layer_names: Any = None,
    path: object = None,
    **options: Any,
) -> "Multiplex":
    """Build a multiplex from a table as `from_pandas` does; names in a file (`path`) are tidied."""
    given = {role: options.pop(role) for role in EDGE_ROLES if role in options}
    if options.get("node_types") is not None:
        given |= dict.fromkeys(TYPES, "")
    how = {name: options.pop(name) for name in CELLS if name in options}
    table, origin = read_frame(frame, given, path=path, **how)
    for roles in (PAIR_ROLES, ("layer",)):
        table = table if path is None else tidy_names(table, roles, path)[0]
        table = integer_names(table, roles, origin)
    declared = node_names if num_nodes is None else np.arange(num_nodes)
    mx = from_table(cls, table, origin, nodes=declared, layers=layer_names, **options)
    if num_nodes is None or node_names is None:
        return mx
    return replace(mx, node_names=check_distinct(_named(node_names, num_nodes), "node"))


def read_frame(
    frame: "pd.DataFrame",
    given: Mapping[str, Any],
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    missing: str = "error",
    path: object = None,
    line_of: Callable[[int], int] | None = None,
) -> tuple[pa.Table, Origin]:
    """Return columns by role, and their origin; `path` and `line_of` say where the rows are from."""
    check_spelling(decimal, thousands)
    check_date_format(date_format)
    names, head = list(map(str, frame.columns)), frame.head(1000)
    columns = assign_columns(names, given, lambda name: head.iloc[:, names.index(name)].tolist(), path=path)
    table = from_series({role: frame.iloc[:, names.index(name)] for role, name in columns.items()})
    table, origin = leave_out_missing(table, Origin(path, columns, line_of), missing, blank="spaces" if path else "")
    table, spelling = with_weights(table, origin, decimal, thousands)
    if is_guess(spelling, decimal, thousands):
        note(f"{place(path)}weights are read with {spelling}.")
    return with_times(table, origin, spelling.point, date_format), origin


def _named(names: Any, count: int) -> Names:
    array = as_names(names, "node")
    if len(array) != count:
        raise InputError(f"Expected {count} node names, got {len(array)}.")
    return array
