"""Read pairs of nodes to score: a CSV, TSV or Parquet file with columns source and target."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from banditplex.errors import InputError
from banditplex.io import delimited, parquet
from banditplex.io.text_table import read_columns
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin
from banditplex.multiplex.names import Ints, Names
from banditplex.multiplex.roles import PAIR_ROLES
from banditplex.multiplex.table import stem


def read_pairs(path: Path, mx: Multiplex, *, columns: Mapping[str, Any] | None = None) -> Names:
    """Return the pairs of a file as names (n, 2); each pair must be two different nodes of `mx`.

    `columns` gives the column names of `source` and `destination`, or tuples of names. Other columns are ignored. Of
    nodes named as in "user/7", the id is enough in a column called user or user_id.
    """
    if not path.is_file():
        raise InputError(f"{path}: {'expected a file, got a folder' if path.is_dir() else 'no such file'}.")
    table, origin = _read(path, columns or {})
    known = {str(name): index for index, name in enumerate(mx.node_names.tolist())}
    pairs = np.stack([_index(table[role], role, known, mx, origin) for role in PAIR_ROLES], axis=1)
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise origin.error(f"expected two different nodes, got {table['source'][row].as_py()!r} twice", row)
    names: Names = mx.node_names[pairs]
    return names


def _read(path: Path, columns: Mapping[str, Any]) -> tuple[pa.Table, Origin]:
    name = path.name.lower()
    if name.endswith(parquet.FORMAT.suffixes):
        return parquet.read_columns(path, columns, roles=PAIR_ROLES)[:2]
    for format, delimiter in ((delimited.CSV, ","), (delimited.TSV, "\t")):
        if name.endswith(format.suffixes):
            return read_columns(path, delimiter, columns, roles=PAIR_ROLES)[:2]
    raise InputError(f"{path}: expected a name that ends in .csv, .tsv or .parquet, got {path.name!r}.")


def _find(token: str, kind: str, known: dict[str, int]) -> int:
    """Return the index of a node: by name, without spaces around it, as 7 for 7.0, or by id of a kind; -1: none."""
    tidy = normalize("NFC", token.strip())
    names = token, tidy, tidy.removesuffix(".0"), f"{kind}/{tidy}", f"{kind}/{tidy.removesuffix('.0')}"
    return next((known[name] for name in names if name in known), -1)


def _index(column: pa.ChunkedArray, role: str, known: dict[str, int], mx: Multiplex, origin: Origin) -> Ints:
    """Return the node indices of a column; each distinct name is looked up once."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    tokens = encoded.dictionary.to_pylist()
    kind = stem(str(origin.columns[role]))  # of nodes named as in user/7
    places = [_find(token, kind, known) for token in tokens]
    found: Ints = np.array(places, np.int64)[encoded.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        try:
            mx.node_index([tokens[encoded.indices[row].as_py()]])
        except InputError as error:
            raise origin.error(str(error), row, role) from None
    return found
