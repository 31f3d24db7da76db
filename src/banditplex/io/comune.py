"""The format of the CoMuNe collection, read only: lines `layer node node [weight]`, with names in companion files.

`NAME_multiplex.edges` (or `NAME.edges`) lists edges by integer ids. The optional files `NAME_layers.txt` and
`NAME_nodes.txt` have a header and one line per id with its label (`nodeLabel`). Nodes may have more columns.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.lines import BLANKS, Rows, filled_lines, naming_rows, parse_rows, read_text
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import NameIndex, factorize

COLUMNS = ("layer", "source", "destination", "weight")
_ID = re.compile("-?[0-9]{1,18}")


def read(
    path: Path, *, progress: Progress | None = None, directed: bool | None = None, layers: str | Path | None = None,
    nodes: str | Path | None = None, num_nodes: int | None = None,
) -> Multiplex:  # fmt: skip
    """Read an edge list and its companion files; options: docs/file-formats.md#comune."""
    layer_file, node_file = _find_companion(path, "layers", layers), _find_companion(path, "nodes", nodes)
    rows = parse_rows(read_text(path), path, delimiter=BLANKS, widths=range(3, 5))
    if not len(rows) and (layer_file is None or node_file is None):
        raise FormatError("expected lines of `layer node node [weight]`, got an empty file", path=path)
    layer, *ends = (rows.integers(column, name) for column, name in enumerate(COLUMNS[:3]))
    layer_ids, (layer,) = _index([layer], None if layer_file is None else layer_file.ids, rows, "layer")
    declared = None if node_file is None else node_file.ids
    if declared is None and num_nodes is not None:
        declared = np.arange(num_nodes) + (not any((each == 0).any() for each in ends))  # ids begin with 0 or 1
    node_ids, ends = _index(ends, declared, rows, "node")
    if node_file is not None and num_nodes not in (None, len(node_ids)):
        raise FormatError(f"expected {num_nodes} nodes, got {len(node_ids)}", path=node_file.path)
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    layer_names = layer_ids if layer_file is None else layer_file.names
    node_names = node_ids if node_file is None else node_file.names
    names: dict[str, Any] = {"layer_names": layer_names, "node_names": node_names, "directed": bool(directed)}
    with naming_rows([rows]):
        weight = rows.numbers(3, "a number as weight") if rows.width == 4 else None
        return Multiplex.from_indices(ends[0], ends[1], layer, weight=weight, **names)


def _index(columns: list[Ints], ids: Ints | None, rows: Rows, what: str) -> tuple[Ints, list[Ints]]:
    """Return all ids, and columns as indices into the ids."""
    if ids is None:
        ids, codes = factorize(np.concatenate(columns))
        return ids, np.split(codes, len(columns))
    found = [NameIndex(ids, what).find(column) for column in columns]
    unknown = np.any([codes < 0 for codes in found], axis=0)
    if unknown.any():
        row = int(np.argmax(unknown))
        got = next(column[row] for column, codes in zip(columns, found, strict=True) if codes[row] < 0)
        known = f"one of the {len(ids)} declared {what} ids"
        if len(ids) and ids.max() - ids.min() == len(ids) - 1:
            known = f"a {what} id from {ids.min()} to {ids.max()}"
        raise rows.error(f"expected {known}, got {got}", row)
    return ids, found


# Companion files


class Companion(NamedTuple):
    """A file that names layers or nodes: ids, and their labels, or the ids if there are no distinct labels."""

    path: Path
    ids: Ints
    names: Ints | list[str]


def _find_companion(path: Path, kind: str, given: str | Path | None) -> Companion | None:
    """Return the given file of "layers" or "nodes", or the one beside an edge file: CKM_layers.txt."""
    usual = path.with_name(f"{path.stem.removesuffix('_multiplex')}_{kind}.txt")
    where = usual if given is None else Path(given)
    if where.is_file():
        return _read_companion(where)
    if given is not None:
        raise FormatError(f"expected a file of {kind}, got none", path=where)
    return None


def _read_companion(path: Path) -> Companion:
    """Read a companion file. In a file with two columns, labels may contain spaces."""
    filled = [(number, text.decode().strip()) for number, text in filled_lines(read_text(path)) if text.strip()]
    (line, first), *rows = filled or [(1, "")]
    header = first.split()
    if not header or _ID.fullmatch(header[0]):
        got = repr(first) if header else "an empty file"
        raise FormatError(f"expected a header such as `nodeID nodeLabel`, got {got}", path=path, line=line)
    column = next((place for place, name in enumerate(header) if name.lower().endswith("label")), 0)
    labels: dict[int, str] = {}
    for line, row in rows:
        tokens = row.split(None, 1) if len(header) == 2 else row.split()
        if len(tokens) != len(header):
            message = f"expected {len(header)} columns ({' '.join(header)}), got {len(tokens)}"
        elif not _ID.fullmatch(tokens[0]):
            message = f"expected an integer as {header[0]}, got {tokens[0]!r}"
        elif int(tokens[0]) in labels:
            message = f"expected distinct ids, got {int(tokens[0])} twice"
        else:
            labels[int(tokens[0])] = tokens[column]
            continue
        raise FormatError(message, path=path, line=line)
    ids, names = np.array(list(labels), np.int64), list(labels.values())
    return Companion(path, ids, names if column and len(set(names)) == len(names) else ids)


FORMAT = Format(
    name="comune", description="CoMuNe: lines `layer node node [weight]`, names in NAME_layers.txt and NAME_nodes.txt",
    suffixes=(".edges",), read=read, holds=frozenset({"weight"}),
    matches=partial(begins_with, pattern=rb"\A\s*(-?[0-9]+[ \t]+){3}[-+]?[0-9.]+(e[-+]?[0-9]+)?[ \t\r]*$"),
)  # fmt: skip
