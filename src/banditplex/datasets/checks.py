"""Check a data set against its declaration: for the built-in data sets and for your own."""

from typing import Any

import numpy as np

from banditplex.datasets.loading import dataset_info, load_dataset
from banditplex.multiplex import Multiplex


def check_dataset(name: str, **options: Any) -> Multiplex:
    """Load a data set and check it against its declaration; an AssertionError names the first difference.

    The counts match, as stored and undirected. Edges are sorted and distinct. A second load returns the same
    multiplex. The metadata has name, title, terms and citation, and its relevant layers exist.

    >>> check_dataset("twins")
    Multiplex(200 nodes, 8 layers, 4,800 edges, undirected): 'a' (600), 'a-twin' (600), 'b' (600), 'b-twin' (600),
    ... 4 more
    """
    facts, mx = dataset_info(name), load_dataset(name, **options)
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
            assert value == facts[fact], f"{name}: expected {fact} {facts[fact]}, got {value}"
    assert mx.metadata["name"] == name, f"{name}: expected this name in the metadata, got {mx.metadata['name']!r}"
    for fact in ("title", "terms", "citation"):
        assert mx.metadata.get(fact, "") == facts[fact], f"{name}: expected its {fact} in the metadata"
    _check_edges(name, mx)
    _check_edges(name, undirected)
    _check_relevant(name, mx)
    assert load_dataset(name, **options) == mx, f"{name}: expected the same multiplex from a second load, got another"
    return mx


def _check_edges(name: str, mx: Multiplex) -> None:
    assert mx.layer_offsets[0] == 0, f"{name}: expected layer_offsets from 0, got {mx.layer_offsets[0]}"
    assert mx.layer_offsets[-1] == mx.num_edges, f"{name}: expected layer_offsets up to {mx.num_edges}"
    source, destination = mx.edge_index
    order = np.lexsort((destination, source, mx.edge_layer))
    assert (order == np.arange(mx.num_edges)).all(), f"{name}: expected sorted edges"
    same = (np.diff(mx.edge_layer) == 0) & (np.diff(source) == 0) & (np.diff(destination) == 0)
    assert not same.any(), f"{name}: expected distinct edges, got duplicates"
    assert mx.directed or (source <= destination).all(), f"{name}: expected the smaller index first in each edge"


def _check_relevant(name: str, mx: Multiplex) -> None:
    relevant = mx.metadata.get("relevant")
    if relevant is None:
        return
    assert list(relevant) == list(mx.layer_names), f"{name}: expected every layer, in order, in metadata['relevant']"
    for layer, others in relevant.items():
        assert set(others) <= set(mx.layer_names) - {layer}, (
            f"{name}: expected other layers for {layer!r}, got {others}"
        )
