"""GraphML, through networkx: nodes by id, layers in the edge attribute `layer`."""

import re
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import ParseError

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.graphs import from_graph, to_graph
from banditplex.io.limits import check_file_size
from banditplex.io.writing import refuse_names
from banditplex.multiplex import Multiplex

MEMORY = 24  # times its size is what networkx needs for a file


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
    """Read a GraphML file of at most `max_size` bytes (64 MiB); all else is as in `banditplex.io.graphs.from_graph`."""
    import networkx as nx

    check_file_size(path, max_size, MEMORY)
    text = path.read_bytes()
    try:
        with warnings.catch_warnings(action="ignore"):  # about ports and other unused features
            graph = nx.read_graphml(path, force_multigraph=True)
    except ParseError as error:
        line, column = error.position
        raise FormatError(
            f"expected GraphML, got {error.msg.partition(':')[0]} in column {column}", path=path, line=line
        ) from None
    except Exception as error:  # the parser of networkx raises many types
        raise FormatError(f"expected GraphML, got: {' '.join(str(error).split())}", path=path) from None
    declared = len(re.findall(rb"<(?:[\w.-]+:)?node[\s/>]", text))
    if 0 < declared < len(graph):  # networkx appends nodes that only edges name
        raise FormatError(f"expected edges between declared nodes, got an edge of {list(graph)[declared]!r}", path=path)
    if progress:
        progress(len(text), len(text))
    return from_graph(
        graph, directed=directed, layer=layer, weight=weight, time=time, features=features, types=types
    )  # fmt: skip


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
