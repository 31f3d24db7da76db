"""GML, through networkx: nodes by label, layers in the edge attribute `layer`."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, begins_with
from banditplex.io.graphs import from_graph, to_graph
from banditplex.io.limits import check_file_size
from banditplex.io.lines import read_text
from banditplex.multiplex import Multiplex

if TYPE_CHECKING:
    import networkx as nx


MEMORY = 34  # times its size is what networkx needs for a file


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
    `max_size` is the size of the largest file that is read (64 MiB): networkx needs many times that. The other options
    are those of `banditplex.io.graphs.from_graph`. Parallel edges are allowed even if the file does not declare a
    multigraph.
    """
    check_file_size(path, max_size, MEMORY)
    text = read_text(path).decode()
    if not re.search(r"(?:^|\s)multigraph\s", text):
        text = re.sub(r"((?:^|\s)graph\s*\[)", r"\1 multigraph 1 ", text, count=1)
    lines = text.split("\n")
    try:
        graph = _parse(lines, names or "label", by_id=names is None)
    except Exception as error:  # the parser of networkx raises many types
        message = str(error).partition("\n")[0]
        place = re.search(r" at \((\d+), \d+\)", message)
        line = int(place[1]) if place else None
        raise FormatError(f"expected GML, got: {message}", path=path, line=line) from None
    if progress:
        progress(len(text), len(text))
    return from_graph(
        graph, directed=directed, layer=layer, weight=weight, time=time, features=features, types=types
    )  # fmt: skip


def _parse(lines: list[str], names: str, *, by_id: bool) -> "nx.Graph":
    import networkx as nx

    try:
        return nx.parse_gml(lines, label=names)
    except nx.NetworkXError as error:
        if by_id and "has no 'label' attribute" in str(error):
            return nx.parse_gml(lines, label="id")
        raise


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
