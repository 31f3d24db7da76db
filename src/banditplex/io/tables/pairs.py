"""Read pairs of nodes to score: a table with columns source and target."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.io.tables.files import load
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin
from banditplex.multiplex.names import Names
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import PAIR_ROLES
from banditplex.multiplex.spelling import folded, tidy
from banditplex.multiplex.table import stem

_WHOLE = re.compile(r"^(0|-?[1-9][0-9]*)[.]0+$")


class NodeFinder:
    """Finds nodes by what is written for them, as reading does: " anna" for anna, 7.0 for 7, with `fold_case` ANNA."""

    def __init__(self, mx: Multiplex, *, fold_case: bool = False) -> None:
        self._known = {str(name): index for index, name in enumerate(mx.node_names.tolist())}
        self._folded: dict[str, int] = {}
        if fold_case and mx.node_names.dtype == object:
            self._folded = dict(zip(folded(mx.node_names).to_pylist(), range(mx.num_nodes), strict=True))

    def find(self, texts: Sequence[str], kind: str = "") -> Ints:
        """Return the index of each node, -1 if there is none; of nodes named as in "user/7", 7 is enough as a user."""
        folds = folded(tidy(pa.array(texts, pa.string()))).to_pylist() if self._folded else texts
        return np.array([self._find(*each, kind) for each in zip(texts, folds, strict=True)], np.int64)

    def _find(self, text: str, fold: str, kind: str) -> int:
        tidied = normalize("NFC", text.strip())
        whole = _WHOLE.sub(r"\1", tidied)
        names = text, tidied, whole, f"{kind}/{tidied}", f"{kind}/{whole}"
        found = next((self._known[name] for name in names if name in self._known), None)
        return self._folded.get(fold, self._folded.get(f"{kind}/{fold}", -1)) if found is None else found


def read_pairs(
    path: Path,
    mx: Multiplex,
    *,
    columns: Mapping[str, Any] | None = None,
    fold_case: bool = False,
    max_size: int | None = None,
) -> Names:
    """Return the pairs of a file as names (n, 2); each pair must be two different nodes of `mx`.

    `columns` gives the column names of `source` and `destination`, or tuples of names. Other columns are ignored. Of
    nodes named as in "user/7", the id is enough in a column called user or user_id. With `fold_case`, names may differ
    from those of nodes by case or spaces.
    """
    if not path.is_file():
        raise InputError(f"{path}: {'expected a file, got a folder' if path.is_dir() else 'no such file'}.")
    part = load(path, TableOptions(max_size=max_size, **(columns or {})), roles=PAIR_ROLES)
    table, origin = part.table, part.origin
    finder = NodeFinder(mx, fold_case=fold_case)
    pairs = np.stack([_index(table[role], role, finder, mx, origin) for role in PAIR_ROLES], axis=1)
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise origin.error(f"expected two different nodes, got {table['source'][row].as_py()!r} twice", row)
    return mx.node_names[pairs]


def _index(column: pa.ChunkedArray, role: str, finder: NodeFinder, mx: Multiplex, origin: Origin) -> Ints:
    """Return the node indices of a column; each distinct name is looked up once."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    tokens = encoded.dictionary.to_pylist()
    kind = stem(str(origin.columns[role]))  # of nodes named as in user/7
    found: Ints = finder.find(tokens, kind)[encoded.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        try:
            mx.node_index([tokens[encoded.indices[row].as_py()]])
        except InputError as error:
            raise origin.error(str(error), row, role) from None
    return found
