"""Data sets by name: list, register, describe, download, load and check them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.datasets.base import CATALOG, CKM, VICKERS, Dataset
from banditplex.datasets.download import Progress, fetch_files
from banditplex.datasets.groups import groups, mixed
from banditplex.datasets.paper import rand_internship, small_3_layers
from banditplex.datasets.planted import twins
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.registry import Registry

_datasets: Registry[Dataset] = Registry("data set")


def register(dataset: Dataset) -> None:
    """Register a data set of your own, to be loaded by name.

    >>> from banditplex.multiplex import Multiplex
    >>> register(Dataset("triangle", "Three nodes", lambda: Multiplex.from_edges([0, 1, 2], [1, 2, 0], "only")))
    >>> load_dataset("triangle")
    Multiplex(3 nodes, 1 layer, 3 edges, undirected): 'only' (3)
    """
    _datasets.add(dataset.name, dataset)


def list_datasets() -> list[str]:
    """Return the names of all data sets, built-in ones first."""
    return list(_datasets)


def load_dataset(name: str, *, progress: Progress | None = None, **options: Any) -> Multiplex:
    """Load a data set by name; missing files are downloaded and checked first.

    Parameters
    ----------
    name
        One of `list_datasets()`.
    progress
        Called with (bytes done, bytes in total) during a download.
    options
        Options of the data set: `seed` and `whole` for the paper's synthetic sets, `seed` for "mixed", those of
        `banditplex.datasets.groups` for "groups", `part` for "gatne-amazon", "polypharmacy" and
        the knowledge graphs "nations", "kinships" and "umls".

    Returns
    -------
    Multiplex
        As stored: directed if the file lists directed edges. Its `metadata` has `name`, `title`, `citation`, `terms`,
        `source` and, if the relevant layers are known, `relevant`.

    >>> load_dataset("twins").metadata["relevant"]["a"]
    ['a-twin']
    >>> load_dataset("twin")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    banditplex.errors.InputError: Unknown data set 'twin'; did you mean 'twins'? Known: twins, mixed, groups, ...
    """
    dataset = _datasets[name]
    if dataset.files:
        fetch(name, progress=progress)
    mx = dataset.load(**options)
    facts = {"title": dataset.title, "citation": dataset.citation, "terms": dataset.terms, "source": dataset.address}
    return mx.with_metadata(name=name, **{fact: text for fact, text in facts.items() if text})


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """Download the missing files of a data set, check all of them, and return their folder."""
    dataset = _datasets[name]
    if not dataset.files:
        raise InputError(f"Expected a data set with files to download, got {name!r}, which is built in.")
    known = [file for each in _datasets.values() for file in each.files]
    return fetch_files(dataset, known=known, progress=progress)


def check_files(name: str) -> None:
    """Check the local files of a data set against their checksums; missing files are ignored."""
    _datasets[name].check_files()


def dataset_info(name: str) -> dict[str, Any]:
    """Return the facts about a data set without loading it; a count that is not fixed is None.

    >>> facts = dataset_info("lazega")
    >>> facts["kind"], facts["nodes"], facts["layers"], facts["edges"], facts["undirected_edges"], facts["directed"]
    ('download', 71, 3, 2223, 1659, True)
    """
    dataset = _datasets[name]
    return {
        "name": dataset.name,
        "title": dataset.title,
        "kind": "download" if dataset.files else "built-in",
        "nodes": dataset.num_nodes,
        "layers": dataset.num_layers,
        "edges": dataset.num_edges,
        "undirected_edges": dataset.num_undirected,
        "directed": dataset.directed,
        "weighted": dataset.weighted,
        "terms": dataset.terms,
        "citation": dataset.citation,
        "address": dataset.archive or dataset.address,
        "note": dataset.note,
        "at_hand": dataset.at_hand,
    }


_PAPER = "C. Baykal, V. K. Potluru, S. Shah, M. M. Veloso, Bandit Sampling for Multiplex Networks (2022)"


def _built_in(name: str, title: str, load: Callable[..., Multiplex], counts: tuple[int, int, int]) -> Dataset:
    terms = "Part of banditplex, under its licence (Apache-2.0)."
    return Dataset(name, title, load, *counts, counts[-1], directed=False, weighted=False, terms=terms)


for _dataset in (
    _built_in("twins", "Three pairs of twin layers and two layers of noise", twins, (200, 8, 4800)),
    _built_in(
        "mixed", "Communities, places in a plane, hubs: each with a related layer, and noise", mixed, (300, 9, 5394)
    ),
    _built_in("groups", "Twelve groups of five layers that share communities", groups, (400, 60, 48000)),
    *CATALOG,
    replace(
        CKM,
        name="rand-internship",
        title="A layer of ckm and similar ones, as in the paper",
        load=rand_internship,
        num_nodes=106,
        num_layers=6,
        num_edges=1386,
        num_undirected=1386,
        directed=False,
        citation=f"{_PAPER}; {CKM.citation}",
        note="The others are 90, 10, 10, 5 and 1 % similar to it. The paper reports 51 nodes and 1,382 edges, which do "
        "not follow from its description. whole=True uses the whole layer: 246 nodes, 2,694 edges.",
    ),
    replace(
        VICKERS,
        name="small-3-layers",
        title="A layer of vickers and similar ones, as in the paper",
        load=small_3_layers,
        num_nodes=20,
        num_edges=522,
        num_undirected=363,
        citation=f"{_PAPER}; {VICKERS.citation}",
        note="The others are 90 and 10 % similar to it. The paper reports 18 nodes and 541 edges, which do not follow "
        "from its description. whole=True uses the whole layer: 29 nodes, 1,083 edges.",
    ),
):
    register(_dataset)


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
    relevant = mx.metadata.get("relevant", dict.fromkeys(mx.layer_names, ()))
    assert list(relevant) == list(mx.layer_names), f"{name}: expected every layer, in order, in metadata['relevant']"
    for layer, others in relevant.items():
        expected = f"{name}: expected other layers for {layer!r}, got {others}"
        assert set(others) <= set(mx.layer_names) - {layer}, expected
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
