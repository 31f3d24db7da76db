"""The CoMuNe collection's format: `layer node node [weight]` lines, with names in companion files.

`NAME_multiplex.edges` (or `NAME.edges`) lists edges by integer ids. Beside it, `NAME_layers.txt` and `NAME_nodes.txt`
may name them: a header, then an id and a label (`nodeLabel`) per line. Nodes may have further columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, naming_lines, read_side_note, write_side_note
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
) -> Multiplex:
    """Read an edge list with what its companion files say.

    Parameters
    ----------
    path
        The `.edges` file; its fourth column, the weight, is optional.
    progress
        Told how many bytes have been read.
    directed
        Whether edges have a direction; by default what the side note says, else not.
    layers, nodes
        Companion files, where they do not stand beside the edge file under its name.
    num_nodes
        Declares the ids 1..num_nodes, or 0..num_nodes-1 where the id 0 occurs, if there is no file of nodes.
    labels
        Whether labels become names where they are distinct; otherwise ids do.
    features
        Columns of the file of nodes that become node features.
    """
    layer_file, node_file = _find_companion(path, "layers", layers), _find_companion(path, "nodes", nodes)
    columns = _read_columns(path, progress)
    if not columns and (layer_file is None or node_file is None):
        raise FormatError("expected lines of `layer node node [weight]`, got an empty file", path=path)
    layer, source, destination = (columns.get(name, np.empty(0, np.int64)) for name in list(COLUMNS)[:3])
    ends = np.stack([source, destination])
    layer_ids, layer = _index(layer, None if layer_file is None else layer_file.ids, path, "layer")
    node_ids, ends = _index(ends, _declare(ends, num_nodes) if node_file is None else node_file.ids, path, "node")
    if node_file is not None and num_nodes not in (None, len(node_ids)):
        raise FormatError(f"expected {num_nodes} nodes, got {len(node_ids)}", path=node_file.path)
    with naming_lines(path, lambda edge: line_of_row(path, edge)):
        return Multiplex.from_indices(
            ends[0],
            ends[1],
            layer,
            weight=columns.get("weight"),
            layer_names=_names(layer_ids, layer_file if labels else None),
            node_names=_names(node_ids, node_file if labels else None),
            node_features=_features(path, node_file, features) if features else None,
            directed=read_side_note(path).get("directed", False) if directed is None else directed,
        )


def write(mx: Multiplex, path: Path) -> None:
    """Write edges by id, and both companion files; names that are integers are their own ids."""
    import pyarrow as pa
    from pyarrow import csv

    layer_ids = _write_companion(path, "layer", as_names(list(mx.layer_names), "layer"))
    node_ids = _write_companion(path, "node", mx.node_names)
    weight = np.ones(mx.num_edges, np.int64) if mx.weight is None else mx.weight
    table = pa.table([layer_ids[mx.edge_layer], *node_ids[mx.edge_index], weight], names=list(COLUMNS))
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, delimiter=" "))
    write_side_note(path, {"directed": True} if mx.directed else {})


def _matches(path: Path) -> bool:
    if not path.is_file():
        return False
    tokens = next((line.split() for _, line in lines(path)), [])
    return len(tokens) == len(COLUMNS) and all(map(is_number, tokens, COLUMNS.values()))


# Edges


def _read_columns(path: Path, progress: Progress | None) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an edge file, none where it is empty."""
    number, first = next(lines(path), (0, b""))
    width = len(first.split())
    if width == 0:
        return {}
    if width not in (3, 4):
        raise FormatError(f"expected 3 or 4 columns ({', '.join(COLUMNS)}), got {width}", path=path, line=number)
    table = read_numbers(path, dict(list(COLUMNS.items())[:width]), progress)
    return {name: table[name].to_numpy() for name in table.column_names}


def _declare(ends: Ints, num_nodes: int | None) -> Ints | None:
    if num_nodes is None:
        return None
    first = 0 if ends.size and ends.min() == 0 else 1
    return np.arange(first, first + num_nodes)


def _index(values: Ints, ids: Ints | None, path: Path, what: str) -> tuple[Ints, Ints]:
    """Return the ids there are, and `values` (..., E) as indices into them."""
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
    """A file that names layers or nodes: its header, its ids and, as text, all its columns."""

    path: Path
    header: list[str]
    ids: Ints
    rows: list[list[str]]
    numbers: list[int]  # the line each row stands on

    def labels(self) -> list[str] | None:
        """Return the column of labels, None where there is none."""
        found = [index for index, name in enumerate(self.header) if name.lower().endswith("label")]
        return [row[found[0]] for row in self.rows] if found else None


def companion_path(path: Path, kind: str) -> Path:
    """Return where the file of "layers" or "nodes" of an edge file stands.

    >>> companion_path(Path("CKM_multiplex.edges"), "layers").name
    'CKM_layers.txt'
    """
    return path.with_name(f"{path.stem.removesuffix('_multiplex')}_{kind}.txt")


def _find_companion(path: Path, kind: str, given: str | Path | None) -> Companion | None:
    where = companion_path(path, kind) if given is None else Path(given)
    if where.is_file():
        return _read_companion(where)
    if given is not None:
        raise FormatError(f"expected a file of {kind}, got no such file", path=where)
    return None


def _read_companion(path: Path) -> Companion:
    """Read a companion file. A label that is the last of two columns may contain blanks."""
    numbered = list(lines(path))
    if not numbered or is_number(numbered[0][1].split()[0], int):
        got = show(numbered[0][1]) if numbered else "an empty file"
        raise FormatError(f"expected a header such as `nodeID nodeLabel`, got {got}", path=path, line=1)
    header = [_text(token, path, numbered[0][0]) for token in numbered[0][1].split()]
    width, rows, lines_of = len(header), [], {}
    for number, line in numbered[1:]:
        row = [_text(token, path, number) for token in (line.split(None, 1) if width == 2 else line.split())]
        if len(row) != width:
            raise FormatError(f"expected {width} columns ({' '.join(header)}), got {len(row)}", path=path, line=number)
        if not is_number(row[0].encode(), int):
            raise FormatError(f"expected an integer as {header[0]}, got {row[0]!r}", path=path, line=number)
        if int(row[0]) in lines_of:
            raise FormatError(f"expected each id once, got {row[0]} again", path=path, line=number)
        lines_of[int(row[0])] = number
        rows.append(row)
    return Companion(path, header, np.array(list(lines_of), np.int64), rows, list(lines_of.values()))


def _text(token: bytes, path: Path, number: int) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise FormatError(f"expected UTF-8 text, got {show(token)}", path=path, line=number) from None


def _names(ids: Ints, companion: Companion | None) -> Names | list[str]:
    labels = None if companion is None else companion.labels()
    return ids if labels is None or len(set(labels)) < len(labels) else labels


def _features(path: Path, nodes: Companion | None, wanted: Sequence[str]) -> npt.NDArray[np.float64]:
    if nodes is None:
        raise FormatError(f"expected a file of nodes for features, got no {companion_path(path, 'nodes')}", path=path)
    features = np.empty((len(nodes.rows), len(wanted)))
    for i, name in enumerate(wanted):
        if name not in nodes.header:
            raise FormatError(f"expected a column {name!r}, got {' '.join(nodes.header)}", path=nodes.path, line=1)
        column = nodes.header.index(name)
        for j, (row, number) in enumerate(zip(nodes.rows, nodes.numbers, strict=True)):
            if not is_number(row[column].encode(), float) or not np.isfinite(float(row[column])):
                raise FormatError(f"expected a number as {name}, got {row[column]!r}", path=nodes.path, line=number)
            features[j, i] = float(row[column])
    return features


def _write_companion(path: Path, what: str, names: Names) -> Ints:
    """Write the names of nodes or layers and return the ids they go by in the edge file."""
    where = companion_path(path, f"{what}s")
    if names.dtype != object:
        where.write_text("\n".join([f"{what}ID", *map(str, names.tolist())]) + "\n", encoding="utf-8")
        return names
    for name in names.tolist():
        if not name or name.encode() != name.encode().strip() or "\n" in name or "\r" in name:
            raise InputError(f"Expected {what} names without blanks at the ends or line breaks, got {name!r}.")
    rows = [f"{i} {name}" for i, name in enumerate(names.tolist(), 1)]
    where.write_text("\n".join([f"{what}ID {what}Label", *rows]) + "\n", encoding="utf-8", newline="\n")
    return np.arange(1, len(names) + 1)


FORMAT = Format(
    name="comune",
    description="CoMuNe: `layer node node [weight]` lines, names in NAME_layers.txt and NAME_nodes.txt",
    suffixes=(".edges",),
    read=read,
    write=write,
    holds=frozenset({"weight"}),
    matches=_matches,
)
