"""What the tests of all formats do: write and read back in a folder that vanishes, and lay out files to refuse."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from banditplex.io import read, write


def comes_back(mx, name, format, **options):
    """Write a multiplex, read it, and say whether it is the same, kinds of names and order included."""
    if not mx.num_edges:
        mx = replace(mx, time=None)  # times of no edges are nowhere in a list of edges
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(mx, path, format=format, **options)
        back = read(path)  # the format is found by name or content
        assert [type(each) for each in back.layer_names] == [type(each) for each in mx.layer_names]
        assert (back.node_names.dtype == object) == (mx.node_names.dtype == object)
        return back == mx


def lay_out(folder, files):
    """Write a dictionary from file names to texts (or bytes) into a folder."""
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Path(folder)


def edges_by_name(mx):
    """Return every edge as (layer, source, destination, weight, time), with names."""
    weight = np.ones(mx.num_edges) if mx.weight is None else mx.weight
    time = [None] * mx.num_edges if mx.time is None else mx.time.tolist()
    names = mx.node_names.tolist()
    layers = [mx.layer_names[layer] for layer in mx.edge_layer]
    ends = [(names[u], names[v]) for u, v in mx.edge_index.T.tolist()]
    return [(layer, *pair, w, t) for layer, pair, w, t in zip(layers, ends, weight.tolist(), time, strict=True)]
