"""GraphML and GML, read and written by networkx: layers in an edge attribute, and numbers and strings as attributes."""

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np

from banditplex.arrays import Floats
from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, are_strings, begins_with, parse_names, strings_note
from banditplex.io.lines import read_text
from banditplex.io.text import check_file_size, refuse_names
from banditplex.multiplex import Multiplex
from banditplex.multiplex.convert import as_number, from_attributes, redirect
from banditplex.schema import DISTINCT_NAMES, one_of, parse, whole

if TYPE_CHECKING:
    import networkx as nx

MEMORY = 34  # times its size is what reading a file takes
NOTE = "banditplex"  # the graph attribute with the side note, as JSON
SCHEMA = {
    "layers?": DISTINCT_NAMES, "strings?": [one_of("nodes", "layers")], "features?": whole(0), "types?": bool,
}  # fmt: skip
Attributes = Mapping[Any, Mapping[str, Any]]
"""The attributes of each node."""
_FEATURE = "feature_{}"
_TYPE = "node_type"


def read(
    path: Path,
    parse_file: Callable[[Path], "nx.Graph"],
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
    """Read a graph file; other edge attributes are ignored. Options: docs/file-formats.md#graphml-and-gml."""
    check_file_size(path, max_size, MEMORY)
    graph = _parse(path, parse_file)
    if progress:
        progress(path.stat().st_size, path.stat().st_size)
    note = _read_note(graph)
    if names is None and parse_file is _parse_gml and all("label" in each for _, each in graph.nodes(data=True)):
        names = "label"
    nodes = [str(node) for node in graph] if names in (None, "id") else _names(graph, str(names))
    attributes = dict(graph.nodes(data=True))
    mx = from_attributes(
        Multiplex,
        graph,
        layer=layer,
        weight=weight,
        time=time,
        layer_names=_layers(graph, note) if layer is None else None,
        node_names=parse_names(nodes, strings=are_strings("nodes", note)),
        node_features=_features(attributes, nodes, features, note),
        node_types=_types(attributes, nodes, types, note),
        metadata=_metadata(graph, nodes, note),
    )
    return redirect(mx, directed)


def _parse(path: Path, parse_file: Callable[[Path], "nx.Graph"]) -> "nx.Graph":
    what = "GML" if parse_file is _parse_gml else "GraphML"
    try:
        with warnings.catch_warnings(action="ignore"):  # of networkx, on keys without a type
            return parse_file(path)
    except ParseError as error:
        line, column = error.position
        message = f"expected GraphML, got {error.msg.partition(':')[0]} in column {column}"
        raise FormatError(message, path=path, line=line) from None
    except (FormatError, OSError):
        raise
    except Exception as error:  # networkx raises many types
        message = " ".join(str(error).split()) or type(error).__name__
        where = re.search(r" at \((\d+), \d+\)$", message)  # line and column
        if where is None:
            raise FormatError(f"expected {what}, got: {message}", path=path) from None
        raise FormatError(f"expected {what}, got: {message[: where.start()]}", path=path, line=int(where[1])) from None


def _parse_graphml(path: Path) -> "nx.Graph":
    from networkx.readwrite.graphml import GraphMLReader

    class Reader(GraphMLReader):  # type: ignore[misc]
        """Refuses edges of nodes that are not declared, if some are."""

        def add_edge(self, graph: Any, edge: Any, keys: Any) -> None:
            unknown = next((end for end in (edge.get("source"), edge.get("target")) if end not in graph), None)
            if declared and unknown is not None:
                raise ValueError(f"an edge of {unknown!r}, which is no declared node")
            super().add_edge(graph, edge, keys)

        def add_node(self, graph: Any, *others: Any) -> None:
            declared.append(True)
            super().add_node(graph, *others)

    declared: list[bool] = []
    graph = next(iter(Reader(str, int, True)(path=str(path))), None)
    if graph is None:
        raise ValueError("no graph")
    for default in ("node_default", "edge_default"):
        graph.graph.pop(default, None)
    return graph


def _parse_gml(path: Path) -> "nx.Graph":
    import networkx as nx

    text = read_text(path).decode()
    if not re.search(r"\bmultigraph\b", text):  # parallel edges are allowed, unless a file says otherwise
        text = re.sub(r"^(\s*graph\s*\[)", r"\1 multigraph 1 ", text, count=1, flags=re.MULTILINE)
    return nx.parse_gml(text.split("\n"), label="id")


def _read_note(graph: "nx.Graph") -> dict[str, Any]:
    text, what = graph.graph.pop(NOTE, "{}"), f"the graph attribute {NOTE!r}"
    note: dict[str, Any] = parse(text if isinstance(text, str) else repr(text), SCHEMA, what=what)
    for node, attributes in graph.nodes(data=True) if note.get("features") else ():  # a few bytes could ask for many
        if len(attributes) < note["features"]:
            wanted = f"expected {note['features']} features on every node"
            raise InputError(f"{wanted}, got {len(attributes)} on {node!r}")
    return note


def _names(graph: "nx.Graph", attribute: str) -> list[str]:
    """Return the names of nodes in an attribute, which is then none of their other attributes."""
    names = [attributes.pop(attribute, None) for _, attributes in graph.nodes(data=True)]
    for number, name in enumerate(names):
        if name is None or isinstance(name, list | dict):
            got = "no" if name is None else "several values of"
            raise InputError(
                f"expected {attribute!r} as the name of every node, got node #{number} with {got} {attribute!r}"
            )
    return [str(name) for name in names]


def _layers(graph: "nx.Graph", note: Mapping[str, Any]) -> list[Any] | None:
    """Return the layers of the note, and write those of edges as they are there: 1 for "1"."""
    if "layers" not in note:
        return None
    known = {str(name): name for name in note["layers"]}
    for _, _, attributes in graph.edges(data=True):
        if "layer" in attributes and str(attributes["layer"]) not in known:
            got = attributes["layer"]
            raise InputError(f"expected one of the layers in the graph attribute {NOTE!r}, got {got!r}")
        if "layer" in attributes:
            attributes["layer"] = known[str(attributes["layer"])]
    return list(note["layers"])


def _features(
    attributes: Mapping[Any, Mapping[str, Any]],
    nodes: Sequence[str],
    wanted: Sequence[str] | None,
    note: Mapping[str, Any],
) -> Floats | None:
    if wanted is None:
        if "features" not in note:
            return None
        wanted = [_FEATURE.format(place) for place in range(note["features"])]
    table = np.empty((len(nodes), len(wanted)))
    for row, (node, values) in enumerate(zip(nodes, attributes.values(), strict=True)):
        table[row] = [as_number(values.get(name), name, f"the node {node!r}") for name in wanted]
    return table


def _types(
    attributes: Attributes, nodes: Sequence[str], wanted: str | None, note: Mapping[str, Any]
) -> list[str] | None:
    if wanted is None:
        return [str(values.get(_TYPE, "")) for values in attributes.values()] if note.get("types") else None
    pairs = zip(nodes, attributes.values(), strict=True)
    missing = next((node for node, values in pairs if wanted not in values), None)
    if missing is not None:
        raise InputError(f"expected {wanted!r} on every node, got none on {missing!r}")
    return [str(values[wanted]) for values in attributes.values()]


def _metadata(graph: "nx.Graph", nodes: Sequence[str], note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the graph attributes and, by name and node, the node attributes that are neither features nor types."""
    found: dict[str, dict[str, Any]] = {}
    for node, (_, attributes) in zip(nodes, graph.nodes(data=True), strict=True):
        for name, value in attributes.items():
            if not name.startswith(_FEATURE.format("")) and not (name == _TYPE and note.get("types")):
                found.setdefault(name, {})[node] = value
    return dict(graph.graph) | ({"node_attributes": found} if found else {})


# Writing


def write_graphml(mx: Multiplex, path: Path) -> None:
    """Write a GraphML file, for networkx, igraph, Gephi and others."""
    import networkx as nx

    every = ("node", mx.node_names.tolist()), ("layer", mx.layer_names), ("type", mx.type_names)
    for what, names in every:
        refuse_names(names, "[\x00-\x1f\ud800-\udfff\ufffe\uffff]", what, "XML cannot store all of its characters")
    with path.open("xb") as file:
        nx.write_graphml_xml(to_graph(mx), file)


def write_gml(mx: Multiplex, path: Path) -> None:
    """Write a GML file; non-ASCII characters become entities, and integers beyond 32 bits become strings."""
    import networkx as nx

    with path.open("xb") as file:
        nx.write_gml(to_graph(mx), file)


def to_graph(mx: Multiplex) -> "nx.MultiGraph":
    """Return a multigraph with layer, weight and time on edges, features and types on nodes, a note of all layers."""
    import networkx as nx

    note = {"layers": list(mx.layer_names)} | strings_note(mx)
    names = [str(name) for name in mx.node_names.tolist()]
    features: Any = [{}] * mx.num_nodes
    if mx.node_features is not None:
        note["features"] = mx.node_features.shape[1]
        keys = [_FEATURE.format(place) for place in range(mx.node_features.shape[1])]
        features = [dict(zip(keys, row, strict=True)) for row in mx.node_features.tolist()]
    if mx.node_types is not None:
        note["types"] = True
        features = [row | {_TYPE: each} for row, each in zip(features, mx.node_types.tolist(), strict=True)]
    columns = {"layer": [mx.layer_names[place] for place in mx.edge_layer.tolist()]}
    columns |= {role: each.tolist() for role, each in (("weight", mx.weight), ("time", mx.time)) if each is not None}
    values = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    graph = (nx.MultiDiGraph if mx.directed else nx.MultiGraph)(**{NOTE: json.dumps(note)})
    graph.add_nodes_from(zip(names, features, strict=True))
    graph.add_edges_from(
        (names[u], names[v], key, value)
        for key, ((u, v), value) in enumerate(zip(mx.edge_index.T.tolist(), values, strict=True))
    )
    return graph


GRAPHML, GML = (
    Format(
        name=title.lower(),
        description=f"{title}, with the layer as an edge attribute",
        suffixes=(f".{title.lower()}",),
        read=partial(read, parse_file=parse_file),
        write=write,
        holds=frozenset({"weight", "time", "features", "types"}),
        matches=partial(begins_with, pattern=pattern),
    )
    for title, parse_file, write, pattern in (
        ("GraphML", _parse_graphml, write_graphml, rb"<(?:[\w.-]+:)?graphml[\s>]"),
        ("GML", _parse_gml, write_gml, rb"^[ \t]*graph\s*\["),
    )
)
