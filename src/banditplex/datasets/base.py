"""Classes for data sets: `Dataset` holds facts, files and a load function, `File` a path and a checksum."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex


@dataclass(frozen=True)
class File:
    """A file that a data set needs.

    Parameters
    ----------
    path
        Path inside the data folder, such as "ckm/CKM_layers.txt".
    checksum
        "sha256:...", or "git:..." (git's blob id).
    mirror
        URL of the file itself; the URL of an archive belongs to the data set.
    stand_in
        A file to use if this one is missing.
    """

    path: str
    checksum: str
    mirror: str = ""
    stand_in: "File | None" = None

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
        kind, _, expected = self.checksum.partition(":")
        if path.is_dir():
            raise InputError(f"{called or path}: expected a file, got a folder.")
        found = _CHECKSUMS[kind](path)
        if found != expected:
            raise InputError(f"{called or path}: expected checksum {kind} {expected}, got {found}.")

    def is_in(self, path: Path) -> bool:
        """Return whether the file at `path` has this checksum."""
        kind, _, expected = self.checksum.partition(":")
        return _CHECKSUMS[kind](path) == expected


@dataclass(frozen=True)
class Dataset:
    """A data set that `load_dataset` knows by name.

    Parameters
    ----------
    name, title
        The name to load it by, and a short description.
    load
        `load(**options) -> Multiplex`, called once the files are in the data folder and checked.
    num_nodes, num_layers, num_edges, num_undirected
        Counts of the loaded multiplex, and its number of edges after `to_undirected`; None if a count is not fixed.
    directed, weighted
        Whether the loaded multiplex is directed, and whether it has weights.
    terms, citation, address, note
        Terms of use, what to cite, URL of the source, and remarks for users.
    files
        Files needed in the data folder; empty for built-in data sets.
    archive
        URL of a zip file with those files.
    """

    name: str
    title: str
    load: Callable[..., Multiplex]
    num_nodes: int | None = None
    num_layers: int | None = None
    num_edges: int | None = None
    num_undirected: int | None = None
    directed: bool | None = None
    weighted: bool | None = None
    terms: str = ""
    citation: str = ""
    address: str = ""
    note: str = ""
    files: tuple[File, ...] = ()
    archive: str = ""

    @property
    def at_hand(self) -> bool:
        """Whether all files are in the data folder."""
        folder = data_folder()
        return all(file.find(folder) for file in self.files)

    @property
    def can_be_downloaded(self) -> bool:
        """Whether there is a URL for any of the files."""
        return bool(self.archive) or any(file.mirror for file in self.files)

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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git(path: Path) -> str:
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


_CHECKSUMS = {"sha256": _sha256, "git": _git}
