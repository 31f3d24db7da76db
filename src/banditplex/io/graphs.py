"""Shared by GraphML and GML: a multiplex as a networkx graph with numbers and strings as attributes."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.errors import InputError
from banditplex.io.base import are_strings, parse_names, strings_note
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import EdgeError, Floats, Numbers
from banditplex.multiplex.names import Ints, Names, as_names, factorize
from banditplex.multiplex.roles import suggest_layer
from banditplex.schema import DISTINCT_NAMES, one_of, parse, whole
from banditplex.terminal import warn

if TYPE_CHECKING:
    import networkx as nx

NOTE = "banditplex"  # the graph attribute with the side note, as JSON
SCHEMA = {
    "layers?": DISTINCT_NAMES, "strings?": [one_of("nodes", "layers")], "features?": whole(0), "types?": bool,
}  # fmt: skip
_FEATURE = "feature_{}"
_TYPE = "node_type"


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


def from_graph(
    graph: "nx.Graph",
    *,
    directed: bool | None = None,
    layer: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    types: str | None = None,
) -> Multiplex:
    """Build a multiplex from a graph that was read from a file: names are strings, and numbers may be.

    Parameters
    ----------
    graph
        A networkx graph.
    directed
        None: as the graph. In a directed multiplex, undirected edges are stored in both directions.
    layer
        Edge attribute with the layer. None: "layer" or, if all edges have it, "relation", "type", "kind" or "label";
        otherwise all edges are in the layer "edges".
    weight, time
        Edge attributes with weight (1 if missing) and time. None: "weight" and "time", if some edge has them.
    features
        Node attributes with the node features. None: those written by banditplex, if there are any.
    types
        Node attribute with the node type. None: "node_type", if banditplex wrote it.
    """
    note = _read_note(graph)
    if directed and not graph.is_directed():
        graph = graph.to_directed()
    rows = list(graph.edges(data=True))
    places = {node: place for place, node in enumerate(graph)}
    layers, codes = _layers(rows, layer, note)
    try:
        return Multiplex.from_indices(
            np.array([places[u] for u, _, _ in rows], np.int64),
            np.array([places[v] for _, v, _ in rows], np.int64),
            codes,
            node_names=parse_names([str(node) for node in graph], strings=are_strings("nodes", note)),
            layer_names=layers,
            weight=_edge_numbers(rows, weight, "weight", 1),
            time=_edge_numbers(rows, time, "time", None),
            node_features=_features(graph, features, note),
            node_types=_types(graph, types, note),
            directed=graph.is_directed() if directed is None else directed,
            metadata=_metadata(graph, note),
        )
    except EdgeError as error:
        u, v, _ = rows[error.edge]
        raise InputError(f"{error.message} on the edge from {u!r} to {v!r}") from None


def _read_note(graph: "nx.Graph") -> dict[str, Any]:
    text, what = graph.graph.get(NOTE, "{}"), f"the graph attribute {NOTE!r}"
    note: dict[str, Any] = parse(text if isinstance(text, str) else repr(text), SCHEMA, what=what)
    features = note.get("features", 0)
    for node, values in graph.nodes(data=True):
        if features > len(values):  # a few bytes could ask for any number
            raise InputError(f"expected {features} features on every node, got {len(values)} on {node!r}")
    return note


def _layers(rows: list[Any], layer: str | None, note: dict[str, Any]) -> tuple[Names, Ints]:
    """Return the layer names, and the layer index of each edge."""
    key = layer or _suggested(rows)
    there = sum(key in values for _, _, values in rows)
    if there == 0 and layer is not None:
        known = sorted({name for _, _, values in rows for name in values})
        raise InputError(f"expected an edge attribute ({', '.join(known) or 'there are none'}) as layer, got {layer!r}")
    if 0 < there < len(rows):
        u, v, _ = next(row for row in rows if key not in row[2])
        raise InputError(f"expected {key!r} on every edge, got none on the edge from {u!r} to {v!r}")
    given = [values.get(key, "edges") for _, _, values in rows]
    if "layers" not in note or layer is not None:
        return factorize(as_names(given, "layer"))
    place = {str(name): position for position, name in enumerate(note["layers"])}
    unknown = next((each for each in given if str(each) not in place), None)
    if unknown is not None:
        raise InputError(f"expected one of the layers in the graph attribute {NOTE!r}, got {unknown!r}")
    return as_names(note["layers"], "layer"), np.array([place[str(each)] for each in given], np.int64)


def _suggested(rows: list[Any]) -> str:
    """Return "layer" or, if no edge has this attribute, one that all edges have and that is usual for layers."""
    if not rows or any("layer" in values for _, _, values in rows):
        return "layer"
    whole = [name for name in rows[0][2] if all(name in values for _, _, values in rows)]
    found = suggest_layer(whole, lambda name: [values[name] for _, _, values in rows[:1000]])
    if found is not None:
        warn(f"The edge attribute {found!r} is read as the layer; layer=NAME selects another.")
    return found or "layer"


def _edge_numbers(rows: list[Any], name: str | None, role: str, missing: int | None) -> Numbers | None:
    key = name or role
    if not any(key in values for _, _, values in rows):
        if name is None or not rows:
            return None
        raise InputError(f"expected an edge attribute as {role}, got {name!r}, which no edge has")
    return np.array(
        [_number(values.get(key, missing), f"{key!r} of the edge from {u!r} to {v!r}") for u, v, values in rows]
    )


def _features(graph: "nx.Graph", names: Sequence[str] | None, note: dict[str, Any]) -> Floats | None:
    if names is None:
        if "features" not in note:
            return None
        names = [_FEATURE.format(place) for place in range(note["features"])]
    table = [
        [_number(values.get(name), f"{name!r} of the node {node!r}") for name in names]
        for node, values in graph.nodes(data=True)
    ]
    return np.array(table, np.float64).reshape(len(graph), len(names))


def _types(graph: "nx.Graph", name: str | None, note: dict[str, Any]) -> list[str] | None:
    if name is None:
        return [str(value) for _, value in graph.nodes(data=_TYPE, default="")] if note.get("types") else None
    missing = next((node for node, values in graph.nodes(data=True) if name not in values), None)
    if missing is not None:
        raise InputError(f"expected {name!r} on every node, got none on {missing!r}")
    return [str(value) for _, value in graph.nodes(data=name)]


def _number(value: Any, what: str) -> int | float:
    if isinstance(value, int | float):
        return value
    for kind in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            return kind(value)
    raise InputError(f"expected a number as {what}, got {'none' if value is None else repr(value)}")


def _metadata(graph: "nx.Graph", note: dict[str, Any]) -> dict[str, Any]:
    """Return the graph attributes and, by name and node, the node attributes that are neither features nor types."""
    metadata = {key: value for key, value in graph.graph.items() if key not in (NOTE, "node_default", "edge_default")}
    nodes: dict[str, dict[Any, Any]] = {}
    for node, values in graph.nodes(data=True):
        for key, value in values.items():
            if not key.startswith(_FEATURE.format("")) and not (key == _TYPE and note.get("types")):
                nodes.setdefault(key, {})[node] = value
    return metadata | ({"node_attributes": nodes} if nodes else {})
