"""The format of multinet and uunet, read only: sections (#LAYERS, #ACTORS, #EDGES, ...) of comma-separated lines.

Magnani, Rossi and Vega, Analysis of Multiplex Social Networks with R, Journal of Statistical Software 98 (2021).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Bools
from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.lines import index_names, read_text, tokens
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import EdgeError

SECTIONS = (
    *("VERSION", "TYPE", "ACTOR ATTRIBUTES", "VERTEX ATTRIBUTES", "EDGE ATTRIBUTES"),
    *("LAYERS", "ACTORS", "VERTICES", "EDGES"),
)
_ALIASES = {
    "NODES": "VERTICES", "VERTEXES": "VERTICES", "NODE ATTRIBUTES": "VERTEX ATTRIBUTES", "INTRALAYER EDGES": "EDGES",
}  # fmt: skip
_NUMERIC = ("NUMERIC", "DOUBLE", "INTEGER", "INT")
_TYPES = (*_NUMERIC, "STRING", "TEXT", "TIME")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class Row(NamedTuple):
    """The fields of a line."""

    path: Path
    line: int
    fields: list[str]

    def error(self, expected: str, got: str = "") -> FormatError:
        """Return an error about the line; by default, it shows all of it."""
        got = got or repr(",".join(self.fields))
        return FormatError(f"expected {expected}, got {got}", path=self.path, line=self.line)


class Edge(NamedTuple):
    """An edge, and its attributes by name."""

    row: Row
    source: str
    destination: str
    layer: str
    values: dict[str, str]


def read(
    path: Path, *, directed: bool | None = None, weight: str | None = None, time: str | None = None,
    progress: Progress | None = None,
) -> Multiplex:  # fmt: skip
    """Read a multinet file, without edges between layers. Options: docs/file-formats.md#multinet."""
    sections = _split(path)
    for row in sections["TYPE"]:
        if row.fields[0].lower() not in ("multiplex", "multilayer"):
            raise row.error("type multiplex or multilayer")
    multilayer = any(row.fields[0].lower() == "multilayer" for row in sections["TYPE"])  # a layer at each end of edges
    declared = _read_layers(sections["LAYERS"], multilayer)
    attributes = _read_attributes(sections["EDGE ATTRIBUTES"])
    edges = [_read_edge(row, multilayer, attributes) for row in sections["EDGES"]]
    actors, vertices = sections["ACTORS"], sections["VERTICES"]
    _check_listed(actors, vertices, edges, declared)
    nodes, (source, destination) = index_names(
        [tokens(edge.source for edge in edges), tokens(edge.destination for edge in edges)],
        declared=[tokens(row.fields[0] for row in (*actors, *vertices))],
    )
    listed = tokens([*declared, *(row.fields[1] for row in vertices)])
    layers, (layer,) = index_names([tokens(edge.layer for edge in edges)], declared=[listed])
    numeric = {name for types in attributes.values() for name, kind in types.items() if kind in _NUMERIC}
    columns: dict[str, Any] = {
        "source": source, "destination": destination, "layer": layer,
        "weight": _edge_values(edges, "weight", weight, numeric), "time": _edge_values(edges, "time", time, numeric),
    }  # fmt: skip
    arrows = np.array([declared.get(str(name), False) for name in layers.tolist()], np.bool_)
    directed = bool(arrows.any()) if directed is None else directed
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    columns = _both_ways(columns, ~arrows) if directed else columns
    about = {"undirected_layers": layers[~arrows].tolist()} if directed and not arrows.all() else {}
    try:
        names: dict[str, Any] = {"node_names": nodes, "layer_names": layers}
        return Multiplex.from_indices(**columns, **names, directed=directed, metadata=about)
    except EdgeError as error:
        raise FormatError(error.message, path=path, line=edges[error.edge].row.line) from None


def _split(path: Path) -> dict[str, list[Row]]:
    """Return the lines of each section; lines before the first title are edges."""
    text = read_text(path, comments=[b"--"]).decode()
    if not text.strip():
        raise FormatError("expected sections or edges, got an empty file", path=path)
    sections: dict[str, list[Row]] = {name: [] for name in SECTIONS}
    name = "EDGES"
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(" \t")
        if line.startswith("#"):
            title = line[1:].upper()
            valued = re.match("VERSION|TYPE", title)  # their value may be on the same line
            name = valued[0] if valued else _ALIASES.get(title, title)
            if name not in SECTIONS:
                raise Row(path, number, [line]).error(f"a section title, one of {', '.join(SECTIONS)}", line)
            line = line[1 + len(name) :].strip() if valued else ""
        if line:
            sections[name].append(Row(path, number, [field.strip(" \t") for field in line.split(",")]))
    return sections


def _read_layers(rows: Sequence[Row], multilayer: bool) -> dict[str, bool]:
    """Return the declared layers, and whether each is directed."""
    directed: dict[str, bool] = {}
    for row in rows:
        names, traits = row.fields[: 1 + multilayer], [each.upper() for each in row.fields[1 + multilayer :]]
        if not {"DIRECTED", "UNDIRECTED"} & set(traits):
            raise row.error(f"{'layer,' * len(names)}DIRECTED or UNDIRECTED[,LOOPS]")
        if names[0] != names[-1]:
            continue  # declares edges between two layers
        if names[0] in directed:
            raise row.error("distinct layers", f"{names[0]!r} twice")
        directed[names[0]] = "DIRECTED" in traits
    return directed


def _read_attributes(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """Return the types of the edge attributes of each layer, in column order; those of all layers under ""."""
    found: dict[str, dict[str, str]] = {"": {}}
    for row in rows:
        if len(row.fields) not in (2, 3) or row.fields[-1].upper() not in _TYPES:
            raise row.error(f"[layer,]attribute,type with a type of {', '.join(_TYPES)}")
        *layer, name, kind = row.fields
        found.setdefault("".join(layer), {})[name] = kind.upper()
    return found


def _read_edge(row: Row, multilayer: bool, attributes: Mapping[str, Mapping[str, str]]) -> Edge:
    """Return the edge of a line: two ends, the layer (of each end), and a value per attribute, its layer's first."""
    ends = row.fields[: 3 + multilayer]
    layer = ends[-1]
    names = [*attributes.get(layer, {}), *attributes[""]]
    if len(row.fields) != 3 + multilayer + len(names):
        raise row.error(f"{3 + multilayer + len(names)} columns")
    if "" in ends:
        raise row.error(f"a name in column {ends.index('') + 1}")
    if multilayer and ends[1] != layer:
        raise row.error("an edge inside one layer", f"one from {ends[1]!r} to {layer!r}")
    return Edge(row, ends[0], ends[-2], layer, dict(zip(names, row.fields[len(ends) :], strict=True)))


def _check_listed(
    actors: Sequence[Row], vertices: Sequence[Row], edges: Sequence[Edge], layers: Collection[str]
) -> None:
    """Refuse vertices without a layer, actors that are listed twice, and edges of actors or layers that are not."""
    listed: set[str] = set()
    for row in actors:
        if row.fields[0] in listed:
            raise row.error("distinct actors", f"{row.fields[0]!r} twice")
        listed.add(row.fields[0])
    for row in vertices:
        if len(row.fields) < 2 or not row.fields[1] or (layers and row.fields[1] not in layers):
            raise row.error("an actor and a layer from #LAYERS" if layers else "an actor and a layer")
    for edge in edges:
        odd = next((end for end in (edge.source, edge.destination) if listed and end not in listed), None)
        if odd is not None:
            raise edge.row.error("an actor from #ACTORS", repr(odd))
        if layers and edge.layer not in layers:
            raise edge.row.error("a layer from #LAYERS", repr(edge.layer))


def _edge_values(edges: Sequence[Edge], role: str, name: str | None, known: set[str]) -> npt.NDArray[Any] | None:
    """Return an attribute of all edges, None if there is none; a missing weight is 1, a missing time is refused."""
    attribute = role if name is None else name
    if attribute not in known:
        if name is None:
            return None
        listed = ", ".join(sorted(known)) or "there are none"
        raise InputError(f"Expected a numeric edge attribute ({listed}) as {role}, got {name!r}.")
    found: list[float] = []
    for edge in edges:
        text = edge.values.get(attribute, "1" if role == "weight" else "")
        try:
            found.append(int(text) if _INTEGER.fullmatch(text) else float(text))
        except ValueError:
            raise edge.row.error(f"a number as {role}", repr(text) if text else f"none in {edge.layer!r}") from None
    return np.array(found)


def _both_ways(columns: dict[str, Any], undirected: Bools) -> dict[str, Any]:
    """Append the reverse of each edge in an undirected layer, except self loops."""
    source, destination = columns["source"], columns["destination"]
    again = undirected[columns["layer"]] & (source != destination)
    reverse = columns | {"source": destination, "destination": source}
    return {name: None if each is None else np.append(each, reverse[name][again]) for name, each in columns.items()}


FORMAT = Format(
    name="multinet",
    description="sections of comma-separated lines, of multinet and uunet",
    suffixes=(".mpx",),
    read=read,
    holds=frozenset({"weight", "time"}),
    matches=partial(begins_with, pattern=rb"(?i)^[ \t]*#(?:" + "|".join(SECTIONS).encode() + rb")\s*$"),
)
