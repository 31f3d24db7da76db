"""The real data sets, as catalog.toml declares them; docs/datasets.md has a table of all data sets."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from banditplex.datasets.base import Dataset, File, data_folder
from banditplex.multiplex import Multiplex


def load_comune(
    edges: File, layers: File | Sequence[str], nodes: File | None, *, num_nodes: int, directed: bool
) -> Multiplex:
    """Read an edge file of the CoMuNe collection, whose stand-ins have no weights; layers are in a file, or names."""
    from banditplex.io import read

    found, path = _locate(edges)
    named = {"layers": layers, "nodes": nodes}
    options: dict[str, Any] = {what: _locate(file)[1] for what, file in named.items() if isinstance(file, File)}
    mx = read(path, format="comune", num_nodes=num_nodes, directed=directed, **options)
    if not isinstance(layers, File):
        mx = replace(mx, layer_names=tuple(layers))
    return mx if found == edges else mx.with_metadata(missing=["weight"])


def load_folder(reader: str, train: File, *, part: str = "all") -> Multiplex:
    """Read a folder that has a split: all parts, or one of them, such as "train"."""
    from banditplex.io import read
    from banditplex.io.gatne import read_all_parts

    folder = _locate(train)[1].parent
    if reader == "split-tables":
        return read_all_parts(folder, part=part)
    return read(folder, format=reader, part=part, directed=True)


def _locate(file: File) -> tuple[File, Path]:
    found = file.find(data_folder())
    assert found is not None, "files are fetched before they are loaded"
    return found


COLLECTION = "https://manliodedomenico.com/data.php"  # of Manlio De Domenico and the CoMuNe Lab
ARCHIVE = "https://manliodedomenico.com/data/{}.zip"


def _catalog() -> dict[str, Dataset]:
    text = resources("banditplex.datasets").joinpath("catalog.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)
    found: dict[str, Dataset] = {}
    for name, entry in declared["datasets"].items():
        mirror = declared["mirrors"].get(entry.pop("mirror", ""), "").format(entry.get("folder"))
        entry["terms"] = declared["terms"].get(entry["terms"], entry["terms"])
        others = found[entry.pop("also")].files[1:] if "also" in entry else ()
        found[name] = _dataset(name, entry, mirror, others)
    return found


def _dataset(name: str, entry: dict[str, Any], mirror: str, others: tuple[File, ...]) -> Dataset:
    """Return a data set; `mirror` is the URL of a folder with its files, `others` are files of another data set."""
    stand_in = None
    for path, checksum in reversed(entry.pop("stand_ins", [])):
        stand_in = File(path, checksum, stand_in=stand_in)
    files = tuple(
        File(path, checksum, mirror and mirror + path.rpartition("/")[2], None if place else stand_in)
        for place, (path, checksum) in enumerate(entry.pop("files"))
    )
    files += others
    num_nodes, num_layers, num_edges, num_undirected = entry.pop("counts")
    reader, folder, names = entry.pop("reader"), entry.pop("folder", ""), entry.pop("layer_names", None)
    comune = reader == "comune"
    if comune:
        layers, nodes = (next((file for file in files if file.name.endswith(end)), None) for end in _COMPANIONS)
        known = {"num_nodes": num_nodes, "directed": entry["directed"]}
        load = partial(load_comune, files[0], layers or tuple(names), nodes, **known)
    else:
        load = partial(load_folder, reader, files[0])
    archive = ARCHIVE.format(folder) if comune else ""
    facts: dict[str, Any] = {"address": COLLECTION, "weighted": False, "archive": archive} | entry
    title = facts.pop("title")
    return Dataset(name, title, load, num_nodes, num_layers, num_edges, num_undirected, files=files, **facts)


_COMPANIONS = ("_layers.txt", "_nodes.txt")
_FOUND = _catalog()
CATALOG = tuple(_FOUND.values())
CKM, VICKERS = _FOUND["ckm"], _FOUND["vickers"]
