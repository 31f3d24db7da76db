"""The sections of a multinet file, and the declarations in its header."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from banditplex.errors import FormatError, InputError
from banditplex.io.lines import filled_lines

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
