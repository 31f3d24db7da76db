"""Read pairs of nodes to score: a CSV, TSV or Parquet file with columns source and target."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from banditplex.errors import InputError
from banditplex.io import delimited, parquet
from banditplex.io.table import PAIR_ROLES, Origin, refuse_nulls
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Ints, Names


def read_pairs(path: Path, mx: Multiplex, *, columns: Mapping[str, str] | None = None) -> Names:
    """Return the pairs of a file as names (n, 2); each pair must be two different nodes of `mx`.

    `columns` gives the column names of `source` and `destination`. Other columns are ignored.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    table, origin = _read(path, columns or {})
    known = {str(name): index for index, name in enumerate(mx.node_names.tolist())}
    pairs = np.stack([_index(table[role], role, known, mx, origin) for role in PAIR_ROLES], axis=1)
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise origin.error(f"expected two different nodes, got {table['source'][row].as_py()!r} twice", row)
    names: Names = mx.node_names[pairs]
    return names


def _read(path: Path, columns: Mapping[str, str]) -> tuple[pa.Table, Origin]:
    name = path.name.lower()
    if name.endswith(parquet.FORMAT.suffixes):
        return parquet.read_columns(path, columns, roles=PAIR_ROLES)[:2]
    for format, delimiter in ((delimited.CSV, ","), (delimited.TSV, "\t")):
        if name.endswith(format.suffixes):
            return delimited.read_columns(path, delimiter, columns, roles=PAIR_ROLES)
    raise InputError(f"{path}: expected a name that ends in .csv, .tsv or .parquet, got {path.name!r}.")


def _index(column: pa.ChunkedArray, role: str, known: dict[str, int], mx: Multiplex, origin: Origin) -> Ints:
    """Return the node indices of a column; each distinct name is looked up once."""
    refuse_nulls(column, f"a name as {role}", origin)
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    tokens = encoded.dictionary.to_pylist()
    found: Ints = np.array([known.get(token, -1) for token in tokens], np.int64)[encoded.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        try:
            mx.node_index([tokens[encoded.indices[row].as_py()]])
        except InputError as error:
            raise origin.error(str(error), row, role) from None
    return found
