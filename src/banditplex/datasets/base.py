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
        kind, _, expected = self.checksum.partition(":")
        if path.is_dir():
            raise InputError(f"{called or path}: expected a file, got a folder.")
        found = _checksum(kind, path)
        if found != expected:
            raise InputError(f"{called or path}: expected checksum {kind} {expected}, got {found}.")

    def is_in(self, path: Path) -> bool:
        """Return whether the file at `path` has this checksum."""
        kind, _, expected = self.checksum.partition(":")
        return _checksum(kind, path) == expected


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


def _checksum(kind: str, path: Path) -> str:
    if kind == "git":
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()
