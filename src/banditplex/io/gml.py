"""GML: nodes by label, layers in the edge attribute `layer`. Files are read line by line, and written by networkx."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html.entities import name2codepoint
from pathlib import Path
from typing import Any, NamedTuple

from banditplex.errors import FormatError
from banditplex.io.attributes import Graph
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.graphs import from_graph, to_graph
from banditplex.io.limits import check_file_size
from banditplex.io.lines import read_text
from banditplex.multiplex import Multiplex

MEMORY = 6  # times its size is what reading a file takes
DEPTH = 100
"""Levels of brackets."""
TOKEN = re.compile(
    r"\s*(?:(?P<key>[A-Za-z][0-9A-Za-z_]*\b)|(?P<real>[+-]?(?:[0-9]*\.[0-9]+|[0-9]+\.[0-9]*|INF)(?:[Ee][+-]?[0-9]+)?)"
    r'|(?P<whole>[+-]?[0-9]+)|(?P<text>"[^"]*")|(?P<open>\[)|(?P<close>\])|(?P<rest>#.*)|(?P<end>$))'
)
ENTITY = re.compile(r"&(?:[0-9A-Za-z]+|#(?:[0-9]+|x[0-9A-Fa-f]+));")
REFERENCES = ("id", "label", "source", "target")
"""Keys whose values need no quotes."""


class Bad(ValueError):
    """What is wrong with a file, and in which line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class Token(NamedTuple):
    """A word of a file: its kind (a group of `TOKEN`, or "eof"), its value, and its line."""

    kind: str
    value: Any
    line: int


def read(
    path: Path,
    *,
    directed: bool | None = None,
    layer: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    types: str | None = None,
    names: str | None = None,
    max_size: int | None = None,
    progress: Progress | None = None,
) -> Multiplex:
    """Read a GML file.

    `names` is the node attribute with the node names: by default "label", or "id" if some node has no label.
    `max_size` is the size of the largest file that is read (1 GiB). The other options are those of
    `banditplex.io.graphs.from_graph`. Parallel edges are allowed unless the file says `multigraph 0`.
    """
    check_file_size(path, max_size, MEMORY)
    try:
        with path.open(encoding="utf-8-sig") as file:
            graph = _Reader(_tokens(file)).read(names)
    except UnicodeDecodeError:
        read_text(path)  # says which line
        raise
    except Bad as error:
        raise FormatError(f"expected GML, got: {error}", path=path, line=error.line) from None
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    return from_graph(
        graph, directed=directed, layer=layer, weight=weight, time=time, features=features, types=types
    )  # fmt: skip


def _tokens(lines: Iterable[str]) -> Iterator[Token]:
    """Yield the tokens of a file; a string may go on in the next lines, which are joined by spaces."""
    number = begun = 0
    open_string: list[str] = []
    for number, text in enumerate(lines, 1):
        line = text.rstrip("\n")
        if open_string:
            open_string.append(line.strip())
            if '"' not in line:
                continue
            line = " ".join(open_string)
            open_string = []
        position = 0
        while position < len(line):
            match = TOKEN.match(line, position)
            if match is None:
                rest = line[position:]
                if rest.lstrip().startswith('"'):
                    open_string, begun = [rest.rstrip()], number
                    break
                raise Bad(f"{rest.strip()[:40]!r}", number)
            position = match.end()
            kind = str(match.lastgroup)
            if kind in ("rest", "end"):
                break
            yield Token(kind, _value(kind, match[kind], number), number)
    if open_string:
        raise Bad("a string without end", begun)
    yield Token("eof", None, number + 1)


def _value(kind: str, text: str, line: int) -> Any:
    try:
        if kind == "whole":
            return int(text)
        if kind == "real":
            return float(text)
    except ValueError as error:  # thousands of digits
        raise Bad(str(error), line) from None
    if kind != "text":
        return text
    return ENTITY.sub(_character, text[1:-1]) if "&" in text else text[1:-1]


def _character(match: re.Match[str]) -> str:
    """Return the character of an entity; what is none stays as it is."""
    text = match[0]
    if not text.startswith("&#"):
        return chr(name2codepoint[text[1:-1]]) if text[1:-1] in name2codepoint else text
    try:
        return chr(int(text[3:-1], 16) if text[2] == "x" else int(text[2:-1]))
    except (ValueError, OverflowError):
        return text


class _Reader:
    """Takes nodes and edges as they end, so that only one of them is in memory as a dictionary."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens, self._next = tokens, next(tokens)
        self._graph = Graph()
        self._nodes = self._edges = self._graphs = 0

    def read(self, names: str | None) -> Graph:
        """Return the graph of a file, its nodes named by an attribute."""
        self._pairs(0, within="")
        if self._next.kind != "eof":
            raise self._unexpected("the end")
        if self._graphs != 1:
            raise Bad("no graph" if not self._graphs else "more than one graph")
        graph = self._graph
        graph.directed = bool(graph.attributes.pop("directed", False))
        many = graph.attributes.pop("multigraph", True)
        graph.finish()
        if graph.undeclared is not None or (self._edges and not self._nodes):
            unknown = graph.undeclared or 0
            row = int(((graph.source == unknown) | (graph.destination == unknown)).argmax())
            end = "source" if graph.source[row] == unknown else "target"
            raise Bad(f"edge #{row} with the undefined {end} {graph.nodes[unknown]!r}")
        _name(graph, names)
        again, _ = graph.repeated(keyless=not many)
        if len(again):
            hint = "" if many else "; multigraph 1 allows it"
            raise Bad(f"{graph.edge(int(again.min()))} twice{hint}")
        return graph

    def _pairs(self, depth: int, within: str) -> dict[str, Any]:
        """Return keys and values up to a closing bracket; a list if a key is repeated."""
        if depth > DEPTH:
            raise Bad(f"more than {DEPTH} levels of brackets", self._next.line)
        found: dict[str, list[Any]] = {}
        while self._next.kind == "key":
            key = self._step().value
            if within == "graph" and key in ("node", "edge"):
                self._element(key, depth)
            elif within == "" and key == "graph":
                self._graphs += 1
                self._graph.attributes = self._group(depth, "graph")
            else:
                found.setdefault(key, []).append(self._one(key, depth))
        return {key: values[0] if len(values) == 1 else _list(values) for key, values in found.items()}

    def _group(self, depth: int, within: str) -> dict[str, Any]:
        if self._next.kind != "open":
            raise self._unexpected("'['")
        self._step()
        found = self._pairs(depth + 1, within)
        if self._next.kind != "close":
            raise self._unexpected("']'")
        self._step()
        return found

    def _one(self, key: str, depth: int) -> Any:
        """Return a value."""
        kind, value, _ = self._next
        if kind == "open":
            return self._group(depth, "other")
        if kind == "key" and key not in REFERENCES and value in ("NAN", "INF"):
            value = float(value)
        elif kind not in ("real", "whole", "text") and not (key in REFERENCES and kind == "key"):
            raise self._unexpected("an int, float, string or '['")
        self._step()
        return {"()": (), "[]": []}.get(value, value) if kind == "text" else value

    def _element(self, kind: str, depth: int) -> None:
        """Take a node or an edge."""
        line = self._next.line
        values = self._group(depth, kind)
        ends = ("id",) if kind == "node" else ("source", "target")
        number = self._nodes if kind == "node" else self._edges
        for end in ends:
            if end not in values:
                raise Bad(f"{kind} #{number} has no {end!r} attribute", line)
            if isinstance(values[end], list | dict):
                raise Bad(f"{kind} #{number} has several values of {end!r}", line)
        if kind == "node":
            self._nodes += 1
            row, known = self._graph.declare(values.pop("id"))
            if known:
                raise Bad(f"node #{number} with an id that another node has", line)
            self._graph.node_values.add(row, values)
        else:
            self._edges += 1
            source, target, key = values.pop("source"), values.pop("target"), values.pop("key", None)
            if isinstance(key, list | dict):
                raise Bad(f"edge #{number} has several values of 'key'", line)
            self._graph.add_edge(source, target, values, key)

    def _step(self) -> Token:
        token, self._next = self._next, next(self._tokens, self._next)
        return token

    def _unexpected(self, expected: str) -> Bad:
        found = "the end of the file" if self._next.kind == "eof" else repr(self._next.value)
        return Bad(f"{found} instead of {expected}", self._next.line)


def _list(values: list[Any]) -> list[Any]:
    """Return a list as networkx writes it: one with a single value has a mark before it."""
    return values[1:] if values[0] == "_networkx_list_start" else values


def _name(graph: Graph, names: str | None) -> None:
    """Name nodes by an attribute: that asked for, else their labels if all have one, else their ids."""
    attribute = names or "label"
    if attribute == "id":
        return
    labels = graph.node_values.column(attribute, len(graph.nodes))
    seen = set[Any]()
    for number, label in enumerate(labels):
        if label is None:
            if names is None:
                return
            raise Bad(f"node #{number} has no {attribute!r} attribute")
        if isinstance(label, list | dict):
            raise Bad(f"node #{number} has several values of {attribute!r}")
        if label in seen:
            raise Bad(f"two nodes with the {attribute} {label!r}")
        seen.add(label)
    graph.node_values.pop(attribute)
    graph.nodes = list(labels)


def write(mx: Multiplex, path: Path) -> None:
    """Write a GML file; non-ASCII characters become entities, and integers beyond 32 bits become strings."""
    import networkx as nx

    with path.open("xb") as file:
        nx.write_gml(to_graph(mx), file)


FORMAT = Format(
    name="gml",
    description="GML, with the layer as an edge attribute",
    suffixes=(".gml",),
    read=read,
    write=write,
    holds=frozenset({"weight", "time", "features", "types"}),
    matches=partial(begins_with, pattern=rb"^[ \t]*graph\s*\["),
)
