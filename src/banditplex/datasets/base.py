"""Data sets: `Dataset` holds facts, files and a load function; their facts are those of catalog.toml."""

import hashlib
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files as resources
from pathlib import Path, PurePosixPath
from typing import Any

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex


@dataclass(frozen=True)
class File:
    """A file that a data set needs."""

    path: str  # inside the data folder, such as "ckm/CKM_layers.txt"
    checksum: str  # "sha256:...", or "git:..." (git's blob id)
    mirror: str = ""  # URL of the file itself; the URL of an archive belongs to the data set
    stand_in: "File | None" = None  # a file to use if this one is missing

    @property
    def name(self) -> str:
        """The name of the file, without folders."""
        return PurePosixPath(self.path).name

    def find(self, folder: Path | None) -> "tuple[File, Path] | None":
        """Return the first of this file and its stand-ins that is in the data folder, and its path."""
        if folder is None:
            return None
        if (folder / self.path).exists():
            return self, folder / self.path
        return self.stand_in.find(folder) if self.stand_in else None

    def check(self, path: Path, *, called: str = "") -> None:
        """Check the file at `path` against the checksum; errors name it `called`, by default `path`."""
        if path.is_dir():
            raise InputError(f"{called or path}: expected a file, got a folder.")
        found = self.checksum_of(path)
        if found != self.checksum:
            raise InputError(f"{called or path}: expected checksum {self.checksum}, got {found}.")

    def checksum_of(self, path: Path) -> str:
        """Return the checksum of the file at `path`, of the kind that this file has."""
        kind = self.checksum.partition(":")[0]
        if kind == "git":
            content = path.read_bytes()
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
            return f"git:{blob.hexdigest()}"
        with path.open("rb") as file:
            return f"{kind}:{hashlib.file_digest(file, kind).hexdigest()}"


@dataclass(frozen=True)
class Dataset:
    """A data set that `load_dataset` knows by name, with counts of the loaded multiplex (None: not fixed)."""

    name: str
    title: str
    load: Callable[..., Multiplex]  # load(**options), called once the files are in the data folder and checked
    num_nodes: int | None = None
    num_layers: int | None = None
    num_edges: int | None = None
    num_undirected: int | None = None  # edges after `to_undirected`
    directed: bool | None = None
    weighted: bool | None = None
    terms: str = ""  # of use
    citation: str = ""
    address: str = ""  # URL of the source
    note: str = ""  # remarks for users
    files: tuple[File, ...] = ()  # needed in the data folder; none of built-in data sets
    archive: str = ""  # URL of a zip file with those files

    @property
    def at_hand(self) -> bool:
        """Whether all files are in the data folder."""
        folder = data_folder()
        return all(file.find(folder) for file in self.files)

    def check_files(self) -> None:
        """Check the files in the data folder against their checksums; missing files are ignored."""
        folder = data_folder()
        for found in (file.find(folder) for file in self.files):
            if found:
                found[0].check(found[1])


def data_folder() -> Path | None:
    """Return the folder with one sub-folder per data set: `BANDITPLEX_DATA`, or one in the user's cache.

    It need not exist yet. The cache needs pooch: without pooch and without `BANDITPLEX_DATA`, return None.
    """
    chosen = os.environ.get("BANDITPLEX_DATA")
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.exists() and not folder.is_dir():
            raise InputError(f"Expected a folder in BANDITPLEX_DATA, got the file {chosen!r}.")
        return folder
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("banditplex"))


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
COUNTS = ("num_nodes", "num_layers", "num_edges", "num_undirected")
_DECLARED = tomllib.loads(resources("banditplex.datasets").joinpath("catalog.toml").read_text(encoding="utf-8"))


def _catalog() -> dict[str, Dataset]:
    found: dict[str, Dataset] = {}
    for name, entry in _DECLARED["datasets"].items():
        mirror = _DECLARED["mirrors"].get(entry.pop("mirror", ""), "").format(entry.get("folder"))
        entry["terms"] = _DECLARED["terms"].get(entry["terms"], entry["terms"])
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
    counts = dict(zip(COUNTS, entry.pop("counts"), strict=True))
    reader, folder, names = entry.pop("reader"), entry.pop("folder", ""), entry.pop("layer_names", None)
    comune = reader == "comune"
    if comune:
        layers, nodes = (next((file for file in files if file.name.endswith(end)), None) for end in _COMPANIONS)
        known = {"num_nodes": counts["num_nodes"], "directed": entry["directed"]}
        load = partial(load_comune, files[0], layers or tuple(names), nodes, **known)
    else:
        load = partial(load_folder, reader, files[0])
    archive = ARCHIVE.format(folder) if comune else ""
    facts: dict[str, Any] = {"address": COLLECTION, "weighted": False, "archive": archive} | entry
    return Dataset(name, load=load, files=files, **counts, **facts)


_COMPANIONS = ("_layers.txt", "_nodes.txt")
_FOUND = _catalog()
CATALOG = tuple(_FOUND.values())
CKM, VICKERS = _FOUND["ckm"], _FOUND["vickers"]


def made(name: str, load: Callable[..., Multiplex]) -> Dataset:
    """Return the data set of the catalogue that a function makes, from nothing or `of` another one."""
    facts = dict(_DECLARED["made"][name])
    facts |= zip(COUNTS, facts.pop("counts"), strict=True)
    built_in = Dataset(name, "", load, weighted=False, terms=_DECLARED["terms"]["ours"])
    return replace(_FOUND.get(facts.pop("of", ""), built_in), name=name, load=load, **facts)
