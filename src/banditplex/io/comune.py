"""The format of the CoMuNe collection: lines `layer node node [weight]`, with names in companion files.

`NAME_multiplex.edges` (or `NAME.edges`) lists edges by integer ids. The optional files `NAME_layers.txt` and
`NAME_nodes.txt` have a header and one line per id with its label (`nodeLabel`). Nodes may have more columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, locating, read_side_note, write_side_note
from banditplex.io.text import is_number, line_of_row, lines, read_numbers, show
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Ints, NameIndex, Names, as_names, factorize

COLUMNS: dict[str, type] = {"layer": int, "source": int, "destination": int, "weight": float}


def read(
    path: Path,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    layers: str | Path | None = None,
    nodes: str | Path | None = None,
    num_nodes: int | None = None,
    labels: bool = True,
    features: Sequence[str] = (),
    types: str | None = None,
) -> Multiplex:
    """Read an edge list and its companion files; options: docs/formats.md#comune."""
    layer_file, node_file = _find_companion(path, "layers", layers), _find_companion(path, "nodes", nodes)
    columns = _read_columns(path, progress)
    if not columns and (layer_file is None or node_file is None):
        raise FormatError("expected lines of `layer node node [weight]`, got an empty file", path=path)
    layer, ends = columns.get("layer", np.empty(0, np.int64)), columns.get("ends", np.empty((2, 0), np.int64))
    layer_ids, layer = _index(layer, None if layer_file is None else layer_file.ids, path, "layer")
    node_ids, ends = _index(ends, _declare(ends, num_nodes) if node_file is None else node_file.ids, path, "node")
    if node_file is not None and num_nodes not in (None, len(node_ids)):
        raise FormatError(f"expected {num_nodes} nodes, got {len(node_ids)}", path=node_file.path)
    with locating(lambda message, edge: FormatError(message, path=path, line=line_of_row(path, edge))):
        return Multiplex.from_indices(
            ends[0],
            ends[1],
            layer,
            weight=columns.get("weight"),
            layer_names=layer_file.names() if layer_file and labels else layer_ids,
            node_names=node_file.names() if node_file and labels else node_ids,
            node_features=_features(path, node_file, features) if features else None,
            node_types=None if types is None else _column(path, node_file, types, "types"),
            directed=read_side_note(path).get("directed", False) if directed is None else directed,
        )


def write(mx: Multiplex, path: Path) -> None:
    """Write edges by id, and both companion files; integer names are used as ids."""
    layer_ids = _write_companion(path, "layer", as_names(list(mx.layer_names), "layer"))
    node_ids = _write_companion(path, "node", mx.node_names)
    weight = np.ones(mx.num_edges, np.int64) if mx.weight is None else mx.weight
    table = pa.table([layer_ids[mx.edge_layer], *node_ids[mx.edge_index], weight], names=list(COLUMNS))
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(include_header=False, delimiter=" "))
    write_side_note(path, {"directed": True} if mx.directed else {})


def _matches(path: Path) -> bool:
    if not path.is_file():
        return False
    tokens = next((line.split() for _, line in lines(path)), [])
    return len(tokens) == len(COLUMNS) and all(map(is_number, tokens, COLUMNS.values()))


# Edges


def _read_columns(path: Path, progress: Progress | None) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an edge file; an empty file has none."""
    number, first = next(lines(path), (0, b""))
    width = len(first.split())
    if width == 0:
        return {}
    if width not in (3, 4):
        raise FormatError(f"expected 3 or 4 columns ({', '.join(COLUMNS)}), got {width}", path=path, line=number)
    table = read_numbers(path, dict(list(COLUMNS.items())[:width]), progress)
    columns = {name: table[name].to_numpy() for name in table.column_names if name in ("layer", "weight")}
    ends = np.empty((2, len(table)), np.int64)
    for row, name in zip(ends, ("source", "destination"), strict=True):
        np.concatenate([chunk.to_numpy() for chunk in table[name].chunks], out=row)
    return columns | {"ends": ends}


def _declare(ends: Ints, num_nodes: int | None) -> Ints | None:
    if num_nodes is None:
        return None
    first = 0 if ends.size and ends.min() == 0 else 1
    return np.arange(first, first + num_nodes)


def _index(values: Ints, ids: Ints | None, path: Path, what: str) -> tuple[Ints, Ints]:
    """Return all ids, and `values` (..., E) as indices into the ids."""
    if ids is None:
        ids, codes = factorize(values.ravel())
        return ids, codes.reshape(values.shape)
    codes = NameIndex(ids, what).find(values.ravel()).reshape(values.shape)
    if (codes < 0).any():
        edge = int(np.argwhere(codes < 0)[:, -1].min())
        got = values[..., edge][codes[..., edge] < 0].flat[0]
        raise FormatError(f"expected {_among(ids, what)}, got {got}", path=path, line=line_of_row(path, edge))
    return ids, codes


def _among(ids: Ints, what: str) -> str:
    if len(ids) and ids.max() - ids.min() == len(ids) - 1:
        return f"a {what} id from {ids.min()} to {ids.max()}"
    return f"one of the {len(ids)} declared {what} ids"


# Companion files


@dataclass(frozen=True)
class Companion:
    """A file that names layers or nodes: its ids, and all its columns as strings, by name."""

    path: Path
    ids: Ints
    columns: dict[str, list[str]]

    def names(self) -> Ints | list[str]:
        """Return the labels, or the ids if there are no labels or some are equal."""
        labels = next((column for name, column in self.columns.items() if name.lower().endswith("label")), None)
        return self.ids if labels is None or len(set(labels)) < len(labels) else labels


def companion_path(path: Path, kind: str) -> Path:
    """Return the path of the file of "layers" or "nodes" of an edge file.

    >>> companion_path(Path("CKM_multiplex.edges"), "layers").name
    'CKM_layers.txt'
    """
    return path.with_name(f"{path.stem.removesuffix('_multiplex')}_{kind}.txt")


def _find_companion(path: Path, kind: str, given: str | Path | None) -> Companion | None:
    where = companion_path(path, kind) if given is None else Path(given)
    if where.is_file():
        return _read_companion(where)
    if given is not None:
        raise FormatError(f"expected a file of {kind}, got none", path=where)
    return None


def _read_companion(path: Path) -> Companion:
    """Read a companion file. In a file with two columns, labels may contain spaces."""
    numbered = list(lines(path)) or [(1, b"")]
    header = numbered[0][1].split()
    if not header or is_number(header[0], int):
        got = show(numbered[0][1]) if header else "an empty file"
        raise FormatError(f"expected a header such as `nodeID nodeLabel`, got {got}", path=path, line=numbered[0][0])
    rows = [line.split(None, 1) if len(header) == 2 else line.split() for _, line in numbered]
    try:
        columns = [b"\n".join(column).decode().split("\n") for column in zip(*rows, strict=True)]
        ids = np.array([int(token) for token in columns[0][1:]], np.int64)
    except (ValueError, OverflowError):
        raise _first_error(path, [number for number, _ in numbered], rows) from None
    if len(np.unique(ids)) < len(ids):
        raise _first_error(path, [number for number, _ in numbered], rows)
    return Companion(path, ids, {name: column for name, *column in columns})


def _first_error(path: Path, numbers: list[int], rows: list[list[bytes]]) -> FormatError:
    """Return an error about the first bad row of a companion file."""
    seen: set[int] = set()
    header = [show(token)[1:-1] for token in rows[0]]
    for number, row in zip(numbers, rows, strict=True):
        odd = next((token for token in row if not _is_text(token)), None)
        if odd is not None:
            complaint = f"expected UTF-8 text, got {show(odd)}"
        elif len(row) != len(header):
            complaint = f"expected {len(header)} columns ({' '.join(header)}), got {len(row)}"
        elif number == numbers[0]:
            continue
        elif not is_number(row[0], int):
            complaint = f"expected an integer as {header[0]}, got {show(row[0])}"
        elif int(row[0]) in seen:
            complaint = f"expected distinct ids, got {int(row[0])} twice"
        else:
            seen.add(int(row[0]))
            continue
        return FormatError(complaint, path=path, line=number)
    return FormatError("expected a header and one row per id", path=path)


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _features(path: Path, nodes: Companion | None, wanted: Sequence[str]) -> npt.NDArray[np.float64]:
    parts = [_column(path, nodes, name, "features") for name in wanted]
    assert nodes is not None
    features = np.empty((len(nodes.ids), len(wanted)))
    for name, tokens, numbers in zip(wanted, parts, features.T, strict=True):
        for row, token in enumerate(tokens):
            if not is_number(token.encode(), float) or not np.isfinite(float(token)):
                line = line_of_row(nodes.path, row + 1)
                raise FormatError(f"expected a number as {name}, got {token!r}", path=nodes.path, line=line)
            numbers[row] = float(token)
    return features


def _column(path: Path, nodes: Companion | None, name: str, what: str) -> list[str]:
    """Return a column of the node file."""
    if nodes is None:
        raise FormatError(f"expected a node file for {what}, got no {companion_path(path, 'nodes')}", path=path)
    if name not in nodes.columns:
        raise FormatError(f"expected a column {name!r}, got {' '.join(nodes.columns)}", path=nodes.path, line=1)
    return nodes.columns[name]


def _write_companion(path: Path, what: str, names: Names) -> Ints:
    """Write the names of nodes or layers, and return their ids in the edge file."""
    where = companion_path(path, f"{what}s")
    if names.dtype != object:
        where.write_text("\n".join([f"{what}ID", *map(str, names.tolist())]) + "\n", encoding="utf-8")
        return names
    for name in names.tolist():
        if not name or name.encode() != name.encode().strip() or "\n" in name or "\r" in name:
            raise InputError(f"Expected {what} names without line breaks or spaces at the ends, got {name!r}.")
    rows = [f"{i} {name}" for i, name in enumerate(names.tolist(), 1)]
    where.write_text("\n".join([f"{what}ID {what}Label", *rows]) + "\n", encoding="utf-8", newline="\n")
    return np.arange(1, len(names) + 1)


FORMAT = Format(
    name="comune",
    description="CoMuNe: lines `layer node node [weight]`, names in NAME_layers.txt and NAME_nodes.txt",
    suffixes=(".edges",),
    read=read,
    write=write,
    holds=frozenset({"weight"}),
    matches=_matches,
)
