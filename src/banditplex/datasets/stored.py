"""Load a multiplex from the checked files of a data set."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from banditplex.datasets.base import File, data_folder
from banditplex.multiplex import Multiplex


def load_comune(
    edges: File,
    layers: File | Sequence[str],
    nodes: File | None,
    *,
    num_nodes: int,
    directed: bool,
) -> Multiplex:
    """Read an edge file of the CoMuNe collection.

    Parameters: `edges`: the edge file. Its stand-ins have no weights. `layers`: the file that names the layers, or
    their names. `nodes`: the file that names the nodes, or None. `num_nodes`: number of nodes, isolated ones included.
    `directed`: whether the file lists directed edges.
    """
    from banditplex.io import read

    found, path = _locate(edges)
    options: dict[str, Any] = {
        what: _locate(file)[1] for what, file in (("layers", layers), ("nodes", nodes)) if isinstance(file, File)
    }
    mx = read(path, format="comune", num_nodes=num_nodes, directed=directed, **options)
    if not isinstance(layers, File):
        mx = replace(mx, layer_names=tuple(layers))
    return mx if found == edges else mx.with_metadata(missing=["weight"])


def load_gatne(train: File, *, part: str = "all") -> Multiplex:
    """Read a GATNE folder: the training edges (`part="train"`), or also those of valid.txt and test.txt ("all")."""
    from banditplex.io import read

    return read(_locate(train)[1].parent, format="gatne", part=part, directed=True)


def load_triples(train: File, *, part: str = "all") -> Multiplex:
    """Read a folder of triples, or one part of it ("train", "valid" or "test")."""
    from banditplex.io import read

    return read(_locate(train)[1].parent, format="triples", part=part)


def load_split_tables(train: File, *, part: str = "all") -> Multiplex:
    """Read a folder of tables: the training edges (`part="train"`), or also those for validation and test ("all")."""
    from banditplex.io.split_tables import read_all_parts

    return read_all_parts(_locate(train)[1].parent, part=part)


def _locate(file: File) -> tuple[File, Path]:
    found = file.find(data_folder())
    assert found is not None, "files are fetched before they are loaded"
    return found
