"""The format of multinet and uunet: sections (#LAYERS, #ACTORS, #EDGES, ...) of comma-separated lines.

Magnani, Rossi and Vega, Analysis of Multiplex Social Networks with R, Journal of Statistical Software 98 (2021).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, are_strings, begins_with, read_side_note, strings_note, write_side_note
from banditplex.io.lines import Rows, filled_lines, index_names, naming_rows, parse_rows, read_text, tokens
from banditplex.io.text import as_strings, refuse_names, write_rows
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import Floats, Numbers
from banditplex.multiplex.names import Ints, Names

SECTIONS = (
    *("VERSION", "TYPE", "ACTOR ATTRIBUTES", "VERTEX ATTRIBUTES", "EDGE ATTRIBUTES"),
    *("LAYERS", "ACTORS", "VERTICES", "EDGES", "INTERLAYER EDGES"),
)
_ALIASES = {
    "NODES": "VERTICES",
    "VERTEXES": "VERTICES",
    "NODE ATTRIBUTES": "VERTEX ATTRIBUTES",
    "INTRALAYER EDGES": "EDGES",
}
_VERSIONS = ("1.0", "2", "2.0", "3", "3.0")
_TRAITS = ("DIRECTED", "UNDIRECTED", "LOOPS", "NO LOOPS", "MULTI", "SIMPLE", "UNWEIGHTED", "STATIC")
_NUMERIC = ("NUMERIC", "DOUBLE", "INTEGER", "INT")
_TYPES = (*_NUMERIC, "STRING", "TEXT", "TIME")

Types = dict[str, str]  # from attribute names to types, in column order


class Section(NamedTuple):
    """A section: its name, its text, and the line number where the text starts."""

    name: str
    text: bytes
    line: int

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and fields of each line."""
        for number, line in filled_lines(self.text, self.line):
            fields = [each.strip(" \t") for each in line.decode().split(",")]
            if fields != [""]:
                yield number, fields


def split_sections(text: bytes, path: Path) -> list[Section]:
    """Split a text into sections; lines before the first title are edges."""
    if not text.strip():
        raise FormatError("expected sections or edges, got an empty file", path=path)
    sections, name, start, line = [], "EDGES", 0, 1
    for place, mark, end in _titles(text):
        sections.append(Section(name, text[start:place], line))
        line += text.count(b"\n", start, place)
        title = text[mark + 1 : end].decode().rstrip()
        valued = re.match("VERSION|TYPE", title.upper())  # their value may be on the same line
        name = valued[0] if valued else _ALIASES.get(title.upper(), title.upper())
        if name not in SECTIONS:
            raise FormatError(
                f"expected a section title, one of {', '.join(SECTIONS)}, got #{title}", path=path, line=line
            )
        start = mark + 1 + len(name) if valued else end
    return [*sections, Section(name, text[start:], line)]


def _titles(text: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the positions of line start, # and line end for each line that starts with #."""
    mark = text.find(b"#")
    while mark >= 0:
        start, end = text.rfind(b"\n", 0, mark) + 1, text.find(b"\n", mark)
        end = len(text) if end < 0 else end
        if not text[start:mark].strip(b" \t"):
            yield start, mark, end
        mark = text.find(b"#", end)


@dataclass
class Header:
    """The declared layers and attributes of a file."""

    multilayer: bool = False
    directed: dict[str, bool] = field(default_factory=dict)  # by layer
    actor: Types = field(default_factory=dict)
    vertex: dict[str, Types] = field(default_factory=dict)  # by layer
    edge: dict[str, Types] = field(default_factory=dict)  # by layer
    every_edge: Types = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The declared layers; if there are none, the layers with attributes and "" for all others."""
        return list(self.directed) or ["", *self.vertex, *self.edge]

    @property
    def num_ends(self) -> int:
        """Number of columns of an edge before its attributes."""
        return 4 if self.multilayer else 3

    def edge_attributes(self, layer: str) -> list[str]:
        """Return the edge attributes of a layer in column order: its own, then those of all layers."""
        return [*self.edge.get(layer, {}), *self.every_edge]

    def numeric_edge_attributes(self) -> set[str]:
        """Return the edge attributes that are numeric in all their declarations."""
        declared = [item for types in (self.every_edge, *self.edge.values()) for item in types.items()]
        return {name for name, _ in declared} - {name for name, kind in declared if kind not in _NUMERIC}

    def numeric_actor_attributes(self) -> list[str]:
        """Return the numeric actor attributes."""
        return [name for name, kind in self.actor.items() if kind in _NUMERIC]


def read_header(sections: list[Section], path: Path) -> Header:
    """Read all sections except the data."""
    header = Header()
    for section in sorted(sections, key=lambda each: SECTIONS.index(each.name)):  # others depend on the type
        for line, fields in section.rows() if section.name in _READERS else ():
            try:
                _READERS[section.name](header, fields)
            except InputError as error:
                raise FormatError(str(error), path=path, line=line) from None
    return header


def _read_version(header: Header, fields: list[str]) -> None:
    if fields[0] not in _VERSIONS:
        raise InputError(f"expected a version up to 3.0, got {fields[0]!r}")


def _read_type(header: Header, fields: list[str]) -> None:
    if fields[0].lower() not in ("multiplex", "multilayer"):
        raise InputError(f"expected type multiplex or multilayer, got {fields[0]!r}")
    header.multilayer = fields[0].lower() == "multilayer"


def _read_layer(header: Header, fields: list[str]) -> None:
    names = fields[: 2 if header.multilayer else 1]
    traits = [each.upper() for each in fields[len(names) :]]
    if not traits or any(each not in _TRAITS for each in traits):
        wanted = ",".join(["layer"] * len(names))
        raise InputError(f"expected {wanted},DIRECTED or UNDIRECTED[,LOOPS], got {','.join(fields)!r}")
    if names[0] != names[-1]:
        return  # declares edges between two layers
    if names[0] in header.directed:
        raise InputError(f"expected distinct layers, got {names[0]!r} twice")
    header.directed[names[0]] = "DIRECTED" in traits


def _read_actor_attribute(header: Header, fields: list[str]) -> None:
    _declare(header.actor, fields, "attribute,type", len(fields) == 2)


def _read_vertex_attribute(header: Header, fields: list[str]) -> None:
    _declare(header.vertex.setdefault(fields[0], {}), fields, "layer,attribute,type", len(fields) == 3)


def _read_edge_attribute(header: Header, fields: list[str]) -> None:
    types = header.edge.setdefault(fields[0], {}) if len(fields) == 3 else header.every_edge
    _declare(types, fields, "[layer,]attribute,type", len(fields) in (2, 3))


def _declare(types: Types, fields: list[str], wanted: str, fits: bool) -> None:
    if not fits or fields[-1].upper() not in _TYPES:
        raise InputError(f"expected {wanted} with a type of {', '.join(_TYPES)}, got {','.join(fields)!r}")
    if fields[-2] in types:
        raise InputError(f"expected distinct attributes, got {fields[-2]!r} twice")
    types[fields[-2]] = fields[-1].upper()


def _refuse(header: Header, fields: list[str]) -> None:
    raise InputError(f"expected edges inside one layer, got an edge between layers: {','.join(fields)!r}")


_READERS = {
    "VERSION": _read_version,
    "TYPE": _read_type,
    "LAYERS": _read_layer,
    "ACTOR ATTRIBUTES": _read_actor_attribute,
    "VERTEX ATTRIBUTES": _read_vertex_attribute,
    "EDGE ATTRIBUTES": _read_edge_attribute,
    "INTERLAYER EDGES": _refuse,
}


FEATURE = "feature_{}"  # node features are stored in actor attributes of these names
TYPE = "node_type"  # and node types in this one


def read(
    path: Path,
    *,
    directed: bool | None = None,
    weight: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    types: str | None = None,
    progress: Progress | None = None,
) -> Multiplex:
    """Read a multinet file; files of type multilayer must not have edges between layers.

    Options: docs/formats.md#multinet.
    """
    body = _read_body(path, progress)
    arrows = np.array([body.header.directed.get(str(name), False) for name in body.layers], np.bool_)
    directed = bool(arrows.any() or body.note.get("directed", False)) if directed is None else directed
    columns = {
        "source": body.source,
        "destination": body.destination,
        "layer": body.layer,
        "weight": _edge_values(body, weight, "weight"),
        "time": _edge_values(body, time, "time"),
    }
    with naming_rows(body.edges):
        return Multiplex.from_indices(
            **(_both_ways(columns, ~arrows) if directed else columns),
            node_names=body.nodes,
            layer_names=body.layers,
            node_features=_features(body, features),
            node_types=_types(body, types),
            directed=directed,
            metadata={"undirected_layers": body.layers[~arrows].tolist()} if directed and not arrows.all() else {},
        )


def _both_ways(columns: dict[str, Any], undirected: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Append the reverse of each edge in an undirected layer, except self loops."""
    source, destination = columns["source"], columns["destination"]
    again = undirected[columns["layer"]] & (source != destination)
    reverse = columns | {"source": destination, "destination": source}
    return {name: None if each is None else np.append(each, reverse[name][again]) for name, each in columns.items()}


# From text to indices


@dataclass(frozen=True)
class Body:
    """The content of a file, with names as indices; edges are the concatenated rows of `edges`."""

    header: Header
    note: dict[str, Any]
    actors: list[Rows]
    edges: list[Rows]
    nodes: Names  # actors of #ACTORS first
    layers: Names
    source: Ints
    destination: Ints
    layer: Ints


def _read_body(path: Path, progress: Progress | None) -> Body:
    sections = split_sections(read_text(path, comments=[b"--"]), path)
    header, note = read_header(sections, path), read_side_note(path)
    actors = list(_parse(sections, "ACTORS", path, {1 + len(header.actor)}))
    vertices = list(_parse(sections, "VERTICES", path, {2 + len(header.vertex.get(each, {})) for each in header.kinds}))
    widths = {header.num_ends + len(header.edge_attributes(each)) for each in header.kinds}
    edges = list(_parse(sections, "EDGES", path, widths, progress))
    for rows in actors:
        _refuse_repeated(rows)
    layers, layer = _index_layers(header, vertices, edges, are_strings("layers", note))
    nodes, source, destination = _index_nodes(header, actors, vertices, edges, are_strings("nodes", note))
    return Body(header, note, actors, edges, nodes, layers, source, destination, layer)


def _parse(
    sections: list[Section], name: str, path: Path, widths: set[int], progress: Progress | None = None
) -> Iterator[Rows]:
    """Parse all sections called `name`; lines of different widths are parsed separately."""
    for section in sections:
        for width, text in _by_width(section, path, sorted(widths)) if section.name == name else ():
            just = range(width, width + 1)
            yield parse_rows(text, path, delimiter=",", widths=just, first_line=section.line, progress=progress)


def _by_width(section: Section, path: Path, widths: list[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the text of a section once per width, with lines of other widths left blank."""
    if len(widths) == 1:
        yield widths[0], section.text
        return
    lines = section.text.split(b"\n")
    counts = [line.count(b",") + 1 if line.strip() else 0 for line in lines]
    wrong = next((place for place, count in enumerate(counts) if count and count not in widths), None)
    if wrong is not None:
        message = f"expected {' or '.join(map(str, widths))} columns, got {counts[wrong]}: {lines[wrong].decode()!r}"
        raise FormatError(message, path=path, line=section.line + wrong)
    for width in widths:
        kept = (line if count == width else b"" for line, count in zip(lines, counts, strict=True))
        yield width, b"\n".join(kept)


def _refuse_repeated(actors: Rows) -> None:
    names = actors.columns[0]
    if pc.count_distinct(names).as_py() < len(names):
        first: dict[str, int] = {}
        row = next(row for row, name in enumerate(names.to_pylist()) if first.setdefault(name, row) != row)
        raise actors.error(f"expected distinct actors, got {names[row].as_py()!r} twice", row)


def _index_nodes(
    header: Header, actors: list[Rows], vertices: list[Rows], edges: list[Rows], strings: bool
) -> tuple[Names, Ints, Ints]:
    """Return all nodes, and source and destination of each edge; if #ACTORS lists actors, others are errors."""
    ends = [(rows, column) for column in (0, header.num_ends - 2) for rows in edges]
    known = [rows.names(0) for rows in (*actors, *vertices)]
    nodes, num_known, codes = index_names([rows.names(end) for rows, end in ends], declared=known, strings=strings)
    if any(map(len, actors)):
        _refuse_unlisted(ends, codes, num_known, "an actor from #ACTORS")
    return nodes, _join(codes[: len(edges)]), _join(codes[len(edges) :])


def _refuse_unlisted(parts: list[tuple[Rows, int]], codes: list[Ints], num_listed: int, expected: str) -> None:
    for (rows, column), indices in zip(parts, codes, strict=True):
        rows.refuse(indices >= num_listed, column, expected)


def _index_layers(header: Header, vertices: list[Rows], edges: list[Rows], strings: bool) -> tuple[Names, Ints]:
    parts = [(rows, 1) for rows in vertices] + [(rows, 1 if header.multilayer else 2) for rows in edges]
    declared = [tokens(list(header.directed))] if header.directed else []
    columns = [rows.names(column) for rows, column in parts]
    layers, num_declared, codes = index_names(columns, declared=declared, strings=strings)
    if declared:
        _refuse_unlisted(parts, codes, num_declared, "a layer from #LAYERS")
    for rows, indices in zip(edges, codes[len(vertices) :], strict=True):
        _check_edges(header, rows, layers, indices)
    return layers, _join(codes[len(vertices) :])


def _check_edges(header: Header, rows: Rows, layers: Names, indices: Ints) -> None:
    """Refuse edges between layers, and edges without exactly one value per attribute."""
    if header.multilayer:
        inside = np.asarray(pc.equal(rows.columns[1], rows.columns[3]))
        if not inside.all():
            row = int(np.argmin(inside))
            pair = " to ".join(repr(rows.columns[column][row].as_py()) for column in (1, 3))
            raise rows.error(f"expected an edge inside one layer, got one from {pair}", row)
    wanted = [header.num_ends + len(header.edge_attributes(str(name))) for name in layers.tolist()]
    widths = np.array(wanted, np.int64)[indices]
    if (widths != rows.width).any():
        row = int(np.argmax(widths != rows.width))
        name = layers.tolist()[indices[row]]
        raise rows.error(f"expected {widths[row]} columns in layer {name!r}, got {rows.width}", row)


def _join(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])


# Attributes


def _edge_values(body: Body, name: str | None, role: str) -> Numbers | None:
    """Return an edge attribute of all edges; None if none was requested and the default is not declared."""
    known = body.header.numeric_edge_attributes()
    if (name or role) not in known:
        if name is None:
            return None
        listed = ", ".join(sorted(known)) or "there are none"
        raise InputError(f"Expected a numeric edge attribute ({listed}) as {role}, got {name!r}.")
    attributes = [body.header.edge_attributes(str(layer)) for layer in body.layers.tolist()]
    columns = [each.index(name or role) + body.header.num_ends if (name or role) in each else -1 for each in attributes]
    places = np.split(np.array(columns, np.int64)[body.layer], np.cumsum([len(rows) for rows in body.edges])[:-1])
    parts = [_values(rows, column, role) for rows, column in zip(body.edges, places, strict=False)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _values(rows: Rows, columns: Ints, role: str) -> Numbers:
    """Return the number in a given column of each row; column -1 means weight 1, and is an error for times."""
    pieces: list[tuple[Ints, Numbers]] = []
    for column in np.unique(columns).tolist():
        chosen = np.flatnonzero(columns == column)
        if column < 0 and role == "time":
            raise rows.error("expected the time attribute in every layer, got a layer without it", chosen[0])
        numbers = np.ones(len(chosen), np.int64) if column < 0 else rows.numbers(column, f"a number as {role}", chosen)
        pieces.append((chosen, numbers))
    values = np.empty(len(rows), np.result_type(np.int64, *(numbers.dtype for _, numbers in pieces)))
    for chosen, numbers in pieces:
        values[chosen] = numbers
    return values


def _features(body: Body, names: Sequence[str] | None) -> Floats | None:
    known = body.header.numeric_actor_attributes()
    if names is None:
        names = [FEATURE.format(place) for place in range(len(known)) if FEATURE.format(place) in known]
        if not names and body.note.get("features") == 0:
            return np.empty((len(body.nodes), 0))
    if not names:
        return None
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        listed = ", ".join(known) or "there are none"
        raise InputError(f"Expected numeric actor attributes ({listed}) as features, got {unknown!r}.")
    parts = [_feature_rows(rows, [list(body.header.actor).index(name) + 1 for name in names]) for rows in body.actors]
    table = np.concatenate([np.empty((0, len(names))), *parts])
    if len(table) < len(body.nodes):
        raise InputError(f"Expected features for every node, got none for {body.nodes.tolist()[len(table)]!r}.")
    return table


def _types(body: Body, name: str | None) -> list[str] | None:
    known = list(body.header.actor)
    if (name or TYPE) not in known:
        if name is None:
            return None
        raise InputError(f"Expected an actor attribute ({', '.join(known) or 'there are none'}) as type, got {name!r}.")
    column = known.index(name or TYPE) + 1
    types = [each for rows in body.actors for each in rows.columns[column].to_pylist()]
    if len(types) < len(body.nodes):
        raise InputError(f"Expected a type for every node, got none for {body.nodes.tolist()[len(types)]!r}.")
    return types


def _feature_rows(rows: Rows, columns: list[int]) -> Floats:
    table = np.stack([rows.numbers(column, "a number").astype(np.float64) for column in columns], axis=1)
    wrong = ~np.isfinite(table)
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        raise rows.error(f"expected a finite number, got {table[row, place]}", row)
    return table


# Writing


def write(mx: Multiplex, path: Path) -> None:
    """Write a multiplex; weights and times become edge attributes, features and types become actor attributes."""
    because = "multinet files cannot store empty names, commas, line breaks, spaces at the ends, or names like # or --"
    every = ("node", mx.node_names.tolist()), ("layer", mx.layer_names), ("type", mx.type_names)
    for what, names in every:
        refuse_names(names, r"[,\n\r]|^[ \t]|[ \t]$|^#|^--|^$", what, because)
    values = {role: each for role, each in (("weight", mx.weight), ("time", mx.time)) if each is not None}
    features = np.empty((mx.num_nodes, 0)) if mx.node_features is None else mx.node_features.astype(np.float64)
    nodes, layers = as_strings(mx.node_names.tolist()), as_strings(mx.layer_names)
    source, destination = mx.edge_index
    with path.open("xb") as file:
        file.write(b"#VERSION\n3.0\n\n#TYPE\nmultiplex\n")
        actor = [f"{FEATURE.format(k)},NUMERIC" for k in range(features.shape[1])]
        actor += [] if mx.node_types is None else [f"{TYPE},STRING"]
        if actor:
            _write_section(file, "ACTOR ATTRIBUTES", actor)
        if values:
            _write_section(file, "EDGE ATTRIBUTES", [f"{role},NUMERIC" for role in values])
        _write_section(file, "LAYERS", _layer_lines(mx))
        _write_section(file, "ACTORS", [])
        types = [] if mx.node_types is None else [as_strings(mx.node_types.tolist())]
        write_rows(file, [nodes, *features.T, *types], ",")
        if mx.num_edges:
            _write_section(file, "EDGES", [])
            ends = [nodes.take(source), nodes.take(destination), layers.take(mx.edge_layer)]
            write_rows(file, [*ends, *values.values()], ",")
    note = strings_note(mx)
    if mx.directed and not mx.num_layers:
        note["directed"] = True
    if mx.node_features is not None and not features.shape[1]:
        note["features"] = 0
    write_side_note(path, note)


def _write_section(file: BinaryIO, title: str, lines: list[str]) -> None:
    file.write("".join(f"{line}\n" for line in ("", f"#{title}", *lines)).encode())


def _layer_lines(mx: Multiplex) -> list[str]:
    kind = "DIRECTED" if mx.directed else "UNDIRECTED"
    loops = np.bincount(mx.edge_layer[mx.edge_index[0] == mx.edge_index[1]], minlength=mx.num_layers)
    return [f"{name},{kind}" + ",LOOPS" * bool(count) for name, count in zip(mx.layer_names, loops, strict=True)]


FORMAT = Format(
    name="multinet",
    description="sections of comma-separated lines, for multinet and uunet",
    suffixes=(".mpx",),
    read=read,
    write=write,
    holds=frozenset({"weight", "time", "features", "types"}),
    matches=partial(begins_with, pattern=rb"(?i)^[ \t]*#(?:" + "|".join(SECTIONS).encode() + rb")\s*$"),
)
