"""Helpers for the tests of all formats: round trips, files from text, errors about a file."""

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from banditplex.errors import FormatError
from banditplex.io import read, write
from tests.refusals import refuses


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


@contextmanager
def refuses_file(path, *values, line=None, row=None):
    """Expect a FormatError about a file (and a line or row of it): one line of text that names `values`."""
    with refuses(error=FormatError) as caught:
        yield
    place = "".join(f", {kind} {number}" for kind, number in (("line", line), ("row", row)) if number is not None)
    where, message = f"{path}{place}: ", str(caught.value)
    assert message.startswith(where), f"{message} is not about {where}"
    missing = [str(value) for value in values if str(value) not in message.removeprefix(where)]
    assert not missing, f"{message} does not name {missing}"
    assert "\n" not in message


def edges_by_name(mx):
    """Return every edge as (layer, source, destination, weight, time), with names."""
    weight = np.ones(mx.num_edges) if mx.weight is None else mx.weight
    time = [None] * mx.num_edges if mx.time is None else mx.time.tolist()
    names = mx.node_names.tolist()
    layers = [mx.layer_names[layer] for layer in mx.edge_layer]
    ends = [(names[u], names[v]) for u, v in mx.edge_index.T.tolist()]
    return [(layer, *pair, w, t) for layer, pair, w, t in zip(layers, ends, weight.tolist(), time, strict=True)]
