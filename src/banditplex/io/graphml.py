"""GraphML: nodes by id, layers in the edge attribute `layer`. Read piece by piece, and written by networkx."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, iterparse

from banditplex.errors import FormatError
from banditplex.io.attributes import Graph
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.graphs import from_graph, to_graph
from banditplex.io.limits import check_file_size
from banditplex.io.writing import refuse_names
from banditplex.multiplex import Multiplex

MEMORY = 6  # times its size is what reading a file takes
SPACE, YED = "{http://graphml.graphdrawing.org/xmlns}", "{http://www.yworks.com/xml/graphml}"
TYPES: dict[str, Any] = {
    "int": int, "integer": int, "long": int, "float": float, "double": float, "string": str, "yfiles": str,
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text.lower()],
}  # fmt: skip
SHAPES, LINES = (
    ("GenericNode", "ShapeNode", "SVGNode", "ImageNode"),
    ("PolyLine", "Spline", "QuadCurve", "Bezier", "Arc"),
)
"""Elements of yEd with the labels of nodes and edges."""


def read(
    path: Path,
    *,
    directed: bool | None = None,
    layer: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    types: str | None = None,
    max_size: int | None = None,
    progress: Progress | None = None,
) -> Multiplex:
    """Read a GraphML file of at most `max_size` bytes (1 GiB); all else is as in `banditplex.io.graphs.from_graph`.

    Of several graphs in a file, the first is read. Groups of yEd are opened; other graphs inside of nodes are not read.
    """
    check_file_size(path, max_size, MEMORY)
    try:
        graph = _Reader(path).read()
    except ParseError as error:
        line, column = error.position
        raise FormatError(
            f"expected GraphML, got {error.msg.partition(':')[0]} in column {column}", path=path, line=line
        ) from None
    except (ValueError, TypeError, LookupError) as error:
        raise FormatError(f"expected GraphML, got: {' '.join(str(error).split())}", path=path) from None
    if graph.undeclared is not None:
        unknown = graph.nodes[graph.undeclared]
        raise FormatError(f"expected edges between declared nodes, got an edge of {unknown!r}", path=path)
    graph.merge_repeated()
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    return from_graph(
        graph, directed=directed, layer=layer, weight=weight, time=time, features=features, types=types
    )  # fmt: skip


class _Reader:
    """Reads elements as they end, and forgets them. When one begins, the parser may have read on already."""

    def __init__(self, path: Path) -> None:
        self._path, self._graph = path, Graph()
        self._keys: dict[str | None, tuple[str, Any]] = {}
        self._all_keys = False
        self._found = False

    def read(self) -> Graph:
        """Return the first graph."""
        with self._path.open("rb") as file:
            self._read_all(iterparse(file, ("start", "end")))
        if not self._found:
            raise ValueError("no graph")
        self._graph.finish()
        return self._graph

    def _read_all(self, events: Iterator[tuple[str, Element]]) -> None:
        stack: list[Element] = []
        active: list[Element] = []  # graphs that are read: the first one, and groups inside of it
        for event, element in events:
            name = element.tag.removeprefix(SPACE)
            if event == "start":
                inside = bool(active) and stack[-1] is active[-1]
                if name == "graph" and self._opens(element, stack, active):
                    active.append(element)
                elif name == "hyperedge" and inside:
                    raise ValueError("hyperedges")
                elif name == "node" and inside:
                    self._graph.declare(str(element.get("id")))
                stack.append(element)
                continue
            stack.pop()
            parent = stack[-1] if stack else None
            if active and element is active[-1]:
                active.pop()
            elif active and parent is active[-1]:
                self._take(name, element)
            elif name == "key" and len(stack) == 1:
                self._take_key(element)
            if parent is not None and (len(stack) == 1 or parent.tag.removeprefix(SPACE) == "graph"):
                parent.remove(element)

    def _opens(self, graph: Element, stack: list[Element], active: list[Element]) -> bool:
        """Return whether a graph that begins is read: the first one, or the first inside of a group that is read."""
        if len(stack) == 1 and not self._found:
            self._found = True
            self._graph.directed = graph.get("edgedefault") == "directed"
            return True
        if not active or stack[-2] is not active[-1] or stack[-1].get("yfiles.foldertype") != "group":
            return False
        return graph is next(each for each in stack[-1] if each.tag == graph.tag)

    def _take(self, name: str, element: Element) -> None:
        """Take what ends inside of a graph."""
        if name == "node":
            row, _ = self._graph.declare(str(element.get("id")))
            self._graph.node_values.add(row, self._data(element))
        elif name == "edge":
            directed = element.get("directed")
            if directed == ("false" if self._graph.directed else "true"):
                raise ValueError(f"an edge with directed={directed} in a graph of the other kind")
            values = self._data(element)
            key = element.get("id") or values.get("key")
            with suppress(TypeError, ValueError):
                key = int(key)  # type: ignore[arg-type]
            self._graph.add_edge(str(element.get("source")), str(element.get("target")), values, key)
        elif name == "data":
            self._graph.attributes |= self._value(element)

    def _data(self, element: Element) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for child in element:
            if child.tag.removeprefix(SPACE) == "data":
                values |= self._value(child)
        return values

    def _value(self, element: Element) -> Mapping[str, Any]:
        key = element.get("key")
        if key not in self._keys and not self._all_keys:
            self._find_keys()
        if key not in self._keys:
            raise ValueError(f"data without key {key!r}")
        name, kind = self._keys[key]
        if len(element):
            return dict(_drawn(element))
        return {name: "" if element.text is None else kind(element.text)}

    def _take_key(self, element: Element) -> None:
        name, kind = element.get("attr.name"), element.get("attr.type") or "string"
        if element.get("yfiles.type") is not None:
            name, kind = element.get("yfiles.type"), "yfiles"
        if name is None:
            raise ValueError(f"a key {element.get('id')!r} without attr.name")
        if kind not in TYPES:
            raise ValueError(f"the type {kind!r} of key {element.get('id')!r}")
        self._keys[element.get("id")] = name, TYPES[kind]

    def _find_keys(self) -> None:
        """Read the keys that stand behind the graph."""
        self._all_keys = True
        stack: list[Element] = []
        with self._path.open("rb") as file:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    stack.append(element)
                    continue
                stack.pop()
                if len(stack) == 1 and element.tag.removeprefix(SPACE) == "key":
                    self._take_key(element)
                if stack:
                    stack[-1].remove(element)


def _drawn(element: Element) -> Iterator[tuple[str, Any]]:
    """Yield place, shape and label of a node or edge that yEd has drawn."""
    generic = element.find(f"{YED}GenericNode")
    if generic is not None:
        yield "shape_type", generic.get("configuration")
    labels = []
    for shape in SHAPES:
        for name in ("Geometry", "NodeLabel", "Shape"):
            found = element.find(f"{YED}{shape}/{YED}{name}")
            if found is None:
                continue
            if name == "Geometry":
                yield from (("x", found.get("x")), ("y", found.get("y")))
            elif name == "Shape":
                yield "shape_type", found.get("type")
            else:
                labels.append(found)
    edges = (element.find(f"{YED}{line}Edge/{YED}EdgeLabel") for line in LINES)
    last = next((found for found in edges if found is not None), None)
    for label in (*labels[:1], *([] if last is None else [last])):
        yield "label", label.text


def write(mx: Multiplex, path: Path) -> None:
    """Write a GraphML file, for networkx, igraph, Gephi and others."""
    import networkx as nx

    every = ("node", mx.node_names.tolist()), ("layer", mx.layer_names), ("type", mx.type_names)
    for what, names in every:
        refuse_names(names, "[\x00-\x1f\ud800-\udfff\ufffe\uffff]", what, "XML cannot store all of its characters")
    with path.open("xb") as file:
        nx.write_graphml_xml(to_graph(mx), file)


FORMAT = Format(
    name="graphml",
    description="GraphML, with the layer as an edge attribute",
    suffixes=(".graphml",),
    read=read,
    write=write,
    holds=frozenset({"weight", "time", "features", "types"}),
    matches=partial(begins_with, pattern=rb"<(?:[\w.-]+:)?graphml[\s>]"),
)
