"""muxViz configurations: one line `edges;label;layout` per layer, with the paths of an edge list and a node table.

De Domenico, Porter and Arenas, MuxViz: a tool for multilayer analysis and visualization of networks, Journal of
Complex Networks 3 (2015).
"""

import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, parse_names
from banditplex.io.lines import BLANKS, Rows, index_names, join_weights, naming_rows, parse_rows, read_text, tokens
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import check_weight
from banditplex.multiplex.names import Ints, Names

COMMENTS = (b"#",)
TYPE = "nodeType"  # the column of a layout with node types
_LIST = re.compile(r"\.(?:txt|edges|edgelist|dat|net|ncol|csv|tsv)\s*$", re.IGNORECASE)  # usual endings of edge lists


def read(
    path: Path,
    *,
    directed: bool = False,
    labels: bool = True,
    interlayer: str = "refuse",
    types: str | None = None,
    allow_outside: bool = False,
    progress: Progress | None = None,
) -> Multiplex:
    """Read a muxViz configuration of edge lists `u v [weight]`, or of one extended list `u layer v layer [weight]`.

    Paths are relative to the configuration's folder or to a parent of it: muxViz writes them relative to its own. The
    files must be in that folder. Options: docs/formats.md#muxviz.
    """
    if interlayer not in ("refuse", "drop"):
        raise InputError(f"Expected interlayer 'refuse' or 'drop', got {interlayer!r}.")
    entries = _read_config(path, allow_outside)
    if entries[0].layers is None:
        edges = _read_layers(entries, progress)
    else:
        edges = _read_extended(entries[0].edges, entries[0].layers, drop=interlayer == "drop", progress=progress)
    nodes, source, destination = _index_nodes(entries, edges, labels)
    with naming_rows(edges.parts):
        weight = check_weight(join_weights(edges.parts, 2 if edges.ends == (0, 1) else 4), len(source))
    return Multiplex.from_indices(
        source[edges.kept],
        destination[edges.kept],
        edges.layer[edges.kept],
        weight=None if weight is None else weight[edges.kept],
        node_names=nodes,
        layer_names=parse_names(edges.names),
        node_types=_types(entries, nodes, types),
        directed=directed,
    )


# The configuration


class Entry(NamedTuple):
    """A line of the configuration, with resolved paths."""

    edges: Path
    label: str
    layers: Path | None  # the layer table of an extended list
    layout: Path | None  # the node table


def _read_config(path: Path, outside: bool) -> list[Entry]:
    lines = [(number, line) for number, line in enumerate(read_text(path).decode().split("\n"), 1) if line.strip()]
    if not lines:
        raise FormatError("expected lines edges;label;layout, got an empty file", path=path)
    entries: dict[str, Entry] = {}
    for number, line in lines:
        fields = line.split(";")
        if len(fields) > 3:
            raise FormatError(f"expected edges;label;layout, got {len(fields)} fields", path=path, line=number)
        name, label, layout = [*fields, "", ""][:3]
        edges, nodes = _find(path, name, outside), _find(path, layout, outside)
        if edges is None or (nodes is None and layout.strip()):
            missing = name if edges is None else layout
            where = "" if outside else " in the folder of the configuration"
            away = not outside and (Path(missing).is_absolute() or ".." in missing)
            hint = "; allow_outside=True looks elsewhere, too" * away
            raise FormatError(f"expected an existing file{where}, got {missing!r}{hint}", path=path, line=number)
        label = label or edges.stem
        if label in entries:
            raise FormatError(f"expected distinct labels, got {label!r} twice", path=path, line=number)
        layers = _find(path, label, outside) if len(lines) == 1 and _is_extended(edges) else None
        entries[label] = Entry(edges, label, layers, nodes)
    return list(entries.values())


def _find(config: Path, name: str, outside: bool = False) -> Path | None:
    """Return the file for a path in a configuration: relative to its folder or a parent, or by file name alone.

    Files out of that folder, also behind links, are found only if `outside`.
    """
    wanted = Path(name.strip())
    if not wanted.name:
        return None
    folders = [config.parent, *config.absolute().parent.parents[: len(wanted.parts) - 1]]
    places = [*(folder / wanted for folder in folders), config.parent / wanted.name]
    try:
        home = config.parent.resolve()
        inside = (place for place in places if outside or place.resolve().is_relative_to(home))
        return next((place for place in inside if place.is_file()), None)
    except (OSError, ValueError, RuntimeError):  # not a valid file name, or a loop of links
        return None


def _is_extended(path: Path) -> bool:
    with path.open("rb") as file:
        return next((len(line.split()) > 3 for line in file if line.strip() and line[:1] not in COMMENTS), False)


# Edges


@dataclass(frozen=True)
class Edges:
    """The edges of a configuration: the concatenated rows of all parts."""

    parts: list[Rows]
    ends: tuple[int, int]  # the columns of the nodes; the weight is the last column
    names: list[str]  # layer names
    layer: Ints
    kept: Any  # mask or slice of the rows inside one layer


def _read_layers(entries: list[Entry], progress: Progress | None) -> Edges:
    done = np.cumsum([entry.edges.stat().st_size for entry in entries]).tolist()
    parts = []
    for entry in entries:
        text = read_text(entry.edges, comments=COMMENTS)
        parts.append(parse_rows(text, entry.edges, delimiter=BLANKS, widths=range(2, 4)))
        if progress:
            progress(done[len(parts) - 1], done[-1])
    layer = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])
    return Edges(parts, (0, 1), [entry.label for entry in entries], layer, slice(None))


def _read_extended(path: Path, layers: Path, *, drop: bool, progress: Progress | None) -> Edges:
    text = read_text(path, comments=COMMENTS)
    rows = parse_rows(text, path, delimiter=BLANKS, widths=range(4, 6), progress=progress)
    known = _read_table(layers, "layer")
    columns = [rows.columns[column] for column in (1, 3)]
    _, num_known, (tail, head) = index_names(columns, declared=[tokens(list(known))])
    for column, codes in ((1, tail), (3, head)):
        rows.refuse(codes >= num_known, column, f"a layer from {layers.name}")
    if not drop and (tail != head).any():
        row = int(np.argmax(tail != head))
        pair = " to ".join(repr(column[row].as_py()) for column in columns)
        raise rows.error(f"expected an edge inside one layer, got one from {pair}; interlayer='drop' drops those", row)
    return Edges([rows], (0, 2), list(known.values()), tail, tail == head)


# Tables of nodes and layers


def _read_table(path: Path, what: str) -> dict[str, str]:
    """Read a table with a header `nodeID nodeLabel ...` (or layerID layerLabel) as a dictionary from id to label."""
    return {each: label for each, label, _ in _read_rows(path, what)}


def _read_rows(path: Path, what: str, extra: str = "") -> list[tuple[str, str, str | None]]:
    """Return id, label and another column (None if there is none) of each row of a table."""
    text = read_text(path, comments=COMMENTS)
    unquoted = re.sub(rb'"([^"\n]*)"', lambda quoted: quoted[1].replace(b" ", b"\0"), text)  # \0 does not split lines
    rows = parse_rows(unquoted, path, delimiter=BLANKS, widths=range(1, 100))
    header = [column[0].as_py().lower() for column in rows.columns if len(rows)]
    wanted = [f"{what}id", f"{what}label"]
    if not set(wanted) & set(header):
        raise FormatError(f"expected a header with {what}ID or {what}Label, got {' '.join(header)!r}", path=path)
    wanted.append(extra.lower())
    columns = [rows.columns[header.index(name)] if name in header else None for name in wanted]
    ids, labels, more = (column and pc.replace_substring(column, "\0", " ").to_pylist()[1:] for column in columns)
    ids, labels = ids or labels or [], labels or ids or []
    seen: set[str] = set()
    for row, each in enumerate(ids, 1):
        if each in seen:
            raise rows.error(f"expected distinct {what}s, got {each!r} twice", row)
        seen.add(each)
    return list(zip(ids, labels, more or [None] * len(ids), strict=True))


def _types(entries: list[Entry], nodes: Names, column: str | None) -> list[str] | None:
    """Return the node types in the layouts, in the order of the nodes; None if no layout has them."""
    types: dict[str, str] = {}
    for layout in _layouts(entries):
        for each, _, kind in _read_rows(layout, "node", column or TYPE):
            if kind is not None and types.setdefault(each, kind) != kind:
                raise FormatError(f"expected type {types[each]!r} for node {each}, got {kind!r}", path=layout)
    if not types and column is None:
        return None
    known = list(_join_layouts(entries))
    missing = next((place for place in range(len(nodes)) if place >= len(known) or known[place] not in types), None)
    if missing is not None:
        where = f"a column {column or TYPE} with a type for every node"
        raise InputError(f"Expected {where} in the layout, got none for {nodes.tolist()[missing]!r}.")
    return [types[each] for each in known]


def _layouts(entries: list[Entry]) -> list[Path]:
    return list(dict.fromkeys(entry.layout for entry in entries if entry.layout is not None))


def _index_nodes(entries: list[Entry], edges: Edges, labels: bool) -> tuple[Names, Ints, Ints]:
    """Return the names of the nodes and the indices of the two ends of every row."""
    table = _join_layouts(entries)
    columns = [rows.columns[end] for end, rows in product(edges.ends, edges.parts)]
    names, num_known, codes = index_names(columns, declared=[tokens(list(table))])
    listed = list(table.values() if labels else table)
    if not all(entry.layout for entry in entries):
        listed += [str(name) for name in names[num_known:].tolist()]
    elif len(names) > num_known:  # not ids: the edges may use labels
        _, num_labels, by_label = index_names(columns, declared=[tokens(list(table.values()))])
        if num_labels < len(table) or any((each >= num_labels).any() for each in by_label):
            for (end, rows), each in zip(product(edges.ends, edges.parts), codes, strict=True):
                rows.refuse(each >= num_known, end, f"one of the {num_known} nodes of the layout")
        codes = by_label
    if len(set(listed)) < len(listed):
        raise InputError("Expected distinct node labels, got duplicates; labels=False names nodes by their ids.")
    num_parts = len(edges.parts)
    source, destination = (np.concatenate(half) for half in (codes[:num_parts], codes[num_parts:]))
    return parse_names(listed), source, destination


def _join_layouts(entries: list[Entry]) -> dict[str, str]:
    table: dict[str, str] = {}
    for layout in _layouts(entries):
        for each, label in _read_table(layout, "node").items():
            if table.setdefault(each, label) != label:
                raise FormatError(f"expected label {table[each]!r} for node {each}, got {label!r}", path=layout)
    return table


def _matches(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        lines = [line for line in file.read(1 << 16).split(b"\n")[:100] if line.strip()]
    if not lines or any(line.count(b";") not in (1, 2) for line in lines[:-1] or lines):
        return False
    names = [line.split(b";")[0].decode(errors="replace") for line in lines]
    return all(map(_LIST.search, names)) or any(_find(path, name) for name in names)


FORMAT = Format(
    name="muxviz",
    description="muxViz configuration, one line edges;label;layout per layer",
    suffixes=(),
    read=read,
    write=None,
    holds=frozenset({"weight", "types"}),
    matches=_matches,
)
