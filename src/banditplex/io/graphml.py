"""GraphML, read by networkx: layers in an edge attribute, and numbers and strings as attributes."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np

from banditplex.arrays import Floats
from banditplex.errors import FormatError, InputError
from banditplex.io.base import FLOOR, Format, Progress, begins_with, parse_names
from banditplex.multiplex import Multiplex
from banditplex.multiplex.convert import as_number, from_attributes, redirect
from banditplex.multiplex.options import check_max_size

if TYPE_CHECKING:
    import networkx as nx

MEMORY = 34  # times its size is what reading a file takes


def read(
    path: Path, *, directed: bool | None = None, layer: str | None = None, weight: str | None = None,
    time: str | None = None, features: Sequence[str] = (), types: str | None = None, names: str | None = None,
    max_size: int | None = None, progress: Progress | None = None,
) -> Multiplex:  # fmt: skip
    """Read a graph file; other edge attributes are ignored. Options: docs/file-formats.md#graphml."""
    check_max_size(max_size)
    size, limit = path.stat().st_size, FLOOR if max_size is None else max_size
    if size > limit:
        memory = f"reading it takes about {MEMORY} times as much memory; max_size={size} allows it"
        raise FormatError(f"expected a file of at most {limit:,} bytes, got {size:,}; {memory}", path=path)
    graph = _parse(path)
    if progress:
        progress(size, size)
    nodes = [str(node) for node in graph] if names is None else _names(graph, names)
    attributes = dict(zip(nodes, (each for _, each in graph.nodes(data=True)), strict=True))
    mx = from_attributes(
        Multiplex, graph, layer=layer, weight=weight, time=time, layer_names=None, node_names=parse_names(nodes),
        node_features=_features(attributes, features) if features else None,
        node_types=None if types is None else _types(attributes, types), metadata=_metadata(graph, attributes),
    )  # fmt: skip
    return redirect(mx, directed)


def _parse(path: Path) -> "nx.Graph":
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
    try:
        with warnings.catch_warnings(action="ignore"):  # of networkx, on keys without a type
            graph = next(iter(Reader(str, int, True)(path=str(path))), None)
    except ParseError as error:
        line, column = error.position
        message = f"expected GraphML, got {error.msg.partition(':')[0]} in column {column}"
        raise FormatError(message, path=path, line=line) from None
    except OSError:
        raise
    except Exception as error:  # networkx raises many types
        message = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"expected GraphML, got: {message}", path=path) from None
    if graph is None:
        raise FormatError("expected GraphML, got: no graph", path=path)
    for default in ("node_default", "edge_default"):
        graph.graph.pop(default, None)
    return graph


def _names(graph: "nx.Graph", attribute: str) -> list[str]:
    """Return the names of nodes in an attribute, which is then none of their other attributes."""
    names = [attributes.pop(attribute, None) for _, attributes in graph.nodes(data=True)]
    if None in names:
        got = f"node #{names.index(None)} with no {attribute!r}"
        raise InputError(f"expected {attribute!r} as the name of every node, got {got}")
    return [str(name) for name in names]


def _features(attributes: Mapping[str, Mapping[str, Any]], wanted: Sequence[str]) -> Floats:
    rows = [
        [as_number(values.get(name), name, f"the node {node!r}") for name in wanted]
        for node, values in attributes.items()
    ]
    return np.array(rows, np.float64).reshape(len(attributes), len(wanted))


def _types(attributes: Mapping[str, Mapping[str, Any]], wanted: str) -> list[str]:
    missing = next((node for node, values in attributes.items() if wanted not in values), None)
    if missing is not None:
        raise InputError(f"expected {wanted!r} on every node, got none on {missing!r}")
    return [str(values[wanted]) for values in attributes.values()]


def _metadata(graph: "nx.Graph", attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the graph attributes and, by name and node, the node attributes."""
    found: dict[str, dict[str, Any]] = {}
    for node, values in attributes.items():
        for name, value in values.items():
            found.setdefault(name, {})[node] = value
    return dict(graph.graph) | ({"node_attributes": found} if found else {})


FORMAT = Format(
    name="graphml", description="GraphML, with the layer as an edge attribute; read only", suffixes=(".graphml",),
    read=read, holds=frozenset({"weight", "time", "features", "types"}),
    matches=partial(begins_with, pattern=rb"<(?:[\w.-]+:)?graphml[\s>]"),
)  # fmt: skip
