"""Shared by GraphML and GML: a multiplex as a networkx graph with numbers and strings as attributes."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.errors import InputError
from banditplex.io.attributes import Graph
from banditplex.io.base import are_strings, parse_names, strings_note
from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import EdgeError, Floats, Numbers
from banditplex.multiplex.names import Ints, Names, as_names, factorize
from banditplex.multiplex.notes import note
from banditplex.multiplex.roles import suggest_layer
from banditplex.schema import DISTINCT_NAMES, one_of, parse, whole

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
    graph: Graph,
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
        The nodes and edges of the file, with all their attributes.
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
    source, destination = graph.source, graph.destination
    layers, codes = _layers(graph, layer, note)
    numbers = [_edge_numbers(graph, weight, "weight", 1), _edge_numbers(graph, time, "time", None)]
    row = np.arange(len(source))
    if directed and not graph.directed:  # both ways
        row = np.concatenate([row, np.flatnonzero(source != destination)])
        back = np.arange(len(row)) >= len(source)
        source, destination = (
            np.where(back, destination[row], source[row]),
            np.where(back, source[row], destination[row]),
        )
    try:
        return Multiplex.from_indices(
            source,
            destination,
            codes[row],
            node_names=parse_names([str(node) for node in graph.nodes], strings=are_strings("nodes", note)),
            layer_names=layers,
            weight=None if numbers[0] is None else numbers[0][row],
            time=None if numbers[1] is None else numbers[1][row],
            node_features=_features(graph, features, note),
            node_types=_types(graph, types, note),
            directed=graph.directed if directed is None else directed,
            metadata=_metadata(graph, note),
        )
    except EdgeError as error:
        raise InputError(f"{error.message} on {graph.edge(int(row[error.edge]))}") from None


def _read_note(graph: Graph) -> dict[str, Any]:
    text, what = graph.attributes.get(NOTE, "{}"), f"the graph attribute {NOTE!r}"
    note: dict[str, Any] = parse(text if isinstance(text, str) else repr(text), SCHEMA, what=what)
    if note.get("features"):  # a few bytes could ask for any number
        has = graph.node_values.count(len(graph.nodes))
        few = np.flatnonzero(has < note["features"])
        if len(few):
            where = f"got {has[few[0]]} on {graph.nodes[few[0]]!r}"
            raise InputError(f"expected {note['features']} features on every node, {where}")
    return note


def _layers(graph: Graph, layer: str | None, note: dict[str, Any]) -> tuple[Names, Ints]:
    """Return the layer names, and the layer index of each edge."""
    key, size = layer or _suggested(graph), len(graph.source)
    there = graph.edge_values.rows(key)
    if not len(there) and layer is not None:
        known = ", ".join(sorted(graph.edge_values)) or "there are none"
        raise InputError(f"expected an edge attribute ({known}) as layer, got {layer!r}")
    if 0 < len(there) < size:
        missing = int(np.setdiff1d(np.arange(size), there)[0])
        raise InputError(f"expected {key!r} on every edge, got none on {graph.edge(missing)}")
    given = graph.edge_values.column(key, size, "edges")
    if "layers" not in note or layer is not None:
        return factorize(as_names(given, "layer"))
    place = {str(name): position for position, name in enumerate(note["layers"])}
    unknown = next((each for each in given if str(each) not in place), None)
    if unknown is not None:
        raise InputError(f"expected one of the layers in the graph attribute {NOTE!r}, got {unknown!r}")
    return as_names(note["layers"], "layer"), np.array([place[str(each)] for each in given], np.int64)


def _suggested(graph: Graph) -> str:
    """Return "layer" or, if no edge has this attribute, one that all edges have and that is usual for layers."""
    values, size = graph.edge_values, len(graph.source)
    if not size or "layer" in values:
        return "layer"
    whole = [name for name in values if len(values.rows(name)) == size]
    found = suggest_layer(whole, lambda name: values.column(name, size)[:1000])
    if found is not None:
        note(f"The edge attribute {found!r} is read as the layer; layer=NAME selects another.")
    return found or "layer"


def _edge_numbers(graph: Graph, name: str | None, role: str, missing: int | None) -> Numbers | None:
    key, size = name or role, len(graph.source)
    if key not in graph.edge_values:
        if name is None or not size:
            return None
        raise InputError(f"expected an edge attribute as {role}, got {name!r}, which no edge has")
    given = graph.edge_values.column(key, size, missing)
    return np.array([_number(value, key, graph.edge, row) for row, value in enumerate(given)])


def _features(graph: Graph, names: Sequence[str] | None, note: dict[str, Any]) -> Floats | None:
    if names is None:
        if "features" not in note:
            return None
        names = [_FEATURE.format(place) for place in range(note["features"])]
    table = np.empty((len(graph.nodes), len(names)))
    for column, name in enumerate(names):
        given = graph.node_values.column(name, len(graph.nodes))
        table[:, column] = [_number(value, name, graph.node, row) for row, value in enumerate(given)]
    return table


def _types(graph: Graph, name: str | None, note: dict[str, Any]) -> list[str] | None:
    if name is None and not note.get("types"):
        return None
    there = graph.node_values.rows(name or _TYPE)
    if name is not None and len(there) < len(graph.nodes):
        missing = graph.nodes[np.setdiff1d(np.arange(len(graph.nodes)), there)[0]]
        raise InputError(f"expected {name!r} on every node, got none on {missing!r}")
    return [str(value) for value in graph.node_values.column(name or _TYPE, len(graph.nodes), "")]


def _number(value: Any, name: str, owner: Callable[[int], str], row: int) -> int | float:
    if isinstance(value, int | float):
        return value
    for kind in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            return kind(value)
    got = "none" if value is None else repr(value)
    raise InputError(f"expected a number as {name!r} of {owner(row)}, got {got}")


def _metadata(graph: Graph, note: dict[str, Any]) -> dict[str, Any]:
    """Return the graph attributes and, by name and node, the node attributes that are neither features nor types."""
    metadata = {key: value for key, value in graph.attributes.items() if key != NOTE}
    nodes: dict[str, dict[Any, Any]] = {
        key: {graph.nodes[row]: value for row, value in graph.node_values.items(key)}
        for key in graph.node_values
        if not key.startswith(_FEATURE.format("")) and not (key == _TYPE and note.get("types"))
    }
    return metadata | ({"node_attributes": nodes} if nodes else {})
