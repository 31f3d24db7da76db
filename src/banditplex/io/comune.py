"""The format of the CoMuNe collection, read only: lines `layer node node [weight]`, with names in companion files.

`NAME_multiplex.edges` (or `NAME.edges`) lists edges by integer ids. The optional files `NAME_layers.txt` and
`NAME_nodes.txt` have a header and one line per id with its label (`nodeLabel`). Nodes may have more columns.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, locating
from banditplex.io.text import is_number, line_of_row, lines, read_numbers, show
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Ints, NameIndex, factorize

COLUMNS: dict[str, type] = {"layer": int, "source": int, "destination": int, "weight": float}


def read(
    path: Path,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    layers: str | Path | None = None,
    nodes: str | Path | None = None,
    num_nodes: int | None = None,
) -> Multiplex:
    """Read an edge list and its companion files; options: docs/file-formats.md#comune."""
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
            layer_names=layer_ids if layer_file is None else layer_file.names,
            node_names=node_ids if node_file is None else node_file.names,
            directed=bool(directed),
        )


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


class Companion(NamedTuple):
    """A file that names layers or nodes: ids, and their labels, or the ids if there are no distinct labels."""

    path: Path
    ids: Ints
    names: Ints | list[str]


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
    (line, first), *rows = list(lines(path)) or [(1, b"")]
    header = [show(token)[1:-1] for token in first.split()]
    if not header or is_number(first.split()[0], int):
        got = show(first) if header else "an empty file"
        raise FormatError(f"expected a header such as `nodeID nodeLabel`, got {got}", path=path, line=line)
    column = next((place for place, name in enumerate(header) if name.lower().endswith("label")), 0)
    labels: dict[int, str] = {}
    for line, row in rows:
        tokens = row.split(None, 1) if len(header) == 2 else row.split()
        if len(tokens) != len(header):
            message = f"expected {len(header)} columns ({' '.join(header)}), got {len(tokens)}"
        elif not is_number(tokens[0], int):
            message = f"expected an integer as {header[0]}, got {show(tokens[0])}"
        elif int(tokens[0]) in labels:
            message = f"expected distinct ids, got {int(tokens[0])} twice"
        elif not _is_text(tokens[column]):
            message = f"expected UTF-8 text, got {show(tokens[column])}"
        else:
            labels[int(tokens[0])] = tokens[column].decode()
            continue
        raise FormatError(message, path=path, line=line)
    ids, names = np.array(list(labels), np.int64), list(labels.values())
    return Companion(path, ids, names if column and len(set(names)) == len(names) else ids)


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


FORMAT = Format(
    name="comune",
    description="CoMuNe: lines `layer node node [weight]`, names in NAME_layers.txt and NAME_nodes.txt",
    suffixes=(".edges",),
    read=read,
    write=None,
    holds=frozenset({"weight"}),
    matches=_matches,
)
