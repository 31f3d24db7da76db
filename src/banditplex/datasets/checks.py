"""What it means to be a data set, written once: for ours and for users' own."""

from typing import Any

import numpy as np

from banditplex.datasets.loading import describe, load_dataset
from banditplex.multiplex import Multiplex


def check_dataset(name: str, **options: Any) -> Multiplex:
    """Load a data set and check that it is what it says; an AssertionError tells what is not.

    Its counts are those declared, as stored and undirected; edges are sorted and distinct; it loads the same way twice;
    its metadata names it, its terms and what to cite; the layers it calls relevant are there.

    >>> check_dataset("twins")
    Multiplex(200 nodes, 8 layers, 4,800 edges, undirected): 'a' (600), 'a-twin' (600), 'b' (600), 'b-twin' (600),
    ... 4 more
    """
    facts, mx = describe(name), load_dataset(name, **options)
    undirected = mx.to_undirected()
    found = {
        "nodes": mx.num_nodes,
        "layers": mx.num_layers,
        "edges": mx.num_edges,
        "undirected_edges": undirected.num_edges,
        "directed": mx.directed,
        "weighted": mx.weight is not None or "weight" in mx.metadata.get("missing", ()),
    }
    for fact, value in found.items():
        if facts[fact] is not None and not options:
            assert value == facts[fact], f"{name}: {fact}: declared {facts[fact]}, found {value}"
    assert mx.metadata["name"] == name, f"{name}: metadata calls it {mx.metadata['name']}"
    for fact in ("title", "terms", "citation"):
        assert mx.metadata.get(fact, "") == facts[fact], f"{name}: metadata lacks its {fact}"
    _check_edges(name, mx)
    _check_edges(name, undirected)
    _check_relevant(name, mx)
    assert load_dataset(name, **options) == mx, f"{name}: loads to something else the second time"
    return mx


def _check_edges(name: str, mx: Multiplex) -> None:
    assert mx.layer_offsets[0] == 0, f"{name}: the first layer does not begin at 0"
    assert mx.layer_offsets[-1] == mx.num_edges, f"{name}: the last layer does not end with the edges"
    source, destination = mx.edge_index
    order = np.lexsort((destination, source, mx.edge_layer))
    assert (order == np.arange(mx.num_edges)).all(), f"{name}: edges are not sorted"
    same = (np.diff(mx.edge_layer) == 0) & (np.diff(source) == 0) & (np.diff(destination) == 0)
    assert not same.any(), f"{name}: an edge stands there twice"
    assert mx.directed or (source <= destination).all(), f"{name}: an undirected edge has the larger index first"


def _check_relevant(name: str, mx: Multiplex) -> None:
    relevant = mx.metadata.get("relevant")
    if relevant is None:
        return
    assert list(relevant) == list(mx.layer_names), f"{name}: relevant does not list every layer, in order"
    for layer, others in relevant.items():
        assert set(others) <= set(mx.layer_names) - {layer}, f"{name}: {layer} has relevant layers that are not others"
