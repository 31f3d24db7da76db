"""What a data set is: facts about it, the files it needs, and a function that loads it."""

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
        Where it stands in the data folder, as "ckm/CKM_layers.txt".
    checksum
        What is in it: "sha256:...", "git:..." (the id git gives to a file), or, for a folder of files trans1.txt,
        trans2.txt, ... with the two node columns of a layer each, "joined:...", the sha256 of the four-column file
        that they make.
    mirror
        An address of the file itself; archives are the data set's affair.
    stand_in
        A file that will do where this one is not at hand.
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
        """Return this file or the nearest stand-in that is in the data folder, and its path."""
        if folder is None:
            return None
        if (folder / self.path).exists():
            return self, folder / self.path
        return self.stand_in.find(folder) if self.stand_in else None

    def check(self, path: Path, *, called: str = "") -> None:
        """Refuse a file at `path` that holds something else; errors speak of it as `called`."""
        kind, _, expected = self.checksum.partition(":")
        found = _CHECKSUMS[kind](path)
        if found != expected:
            raise InputError(f"{called or path}: the checksum differs: expected {kind} {expected}, got {found}.")

    def is_in(self, path: Path) -> bool:
        """Say whether `path` holds this file."""
        kind, _, expected = self.checksum.partition(":")
        return _CHECKSUMS[kind](path) == expected


@dataclass(frozen=True)
class Dataset:
    """A data set that `load_dataset` knows by name.

    Parameters
    ----------
    name, title
        What users type, and a line that says what it is.
    load
        `load(**options) -> Multiplex`; the files are at hand and checked when it is called.
    num_nodes, num_layers, num_edges, num_undirected
        What it loads to, and how many edges `to_undirected` leaves; None where that is not fixed.
    directed, weighted
        How it loads.
    terms, citation, address, note
        Terms of use; what to cite; where it comes from; what a user should know.
    files
        What must be in the data folder; empty for built-in data sets.
    archive
        The address of a zip file that holds those files.
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
        """Whether nothing has to be downloaded."""
        folder = data_folder()
        return all(file.find(folder) for file in self.files)

    def check_files(self) -> None:
        """Refuse a file in the data folder that holds something else than it should; what is missing is no matter."""
        folder = data_folder()
        for found in (file.find(folder) for file in self.files):
            if found:
                found[0].check(found[1])


def data_folder() -> Path | None:
    """Return the folder with a sub-folder per data set: `BANDITPLEX_DATA`, else one in the user's cache.

    It need not exist yet. None where there is neither: without pooch there is no cache.
    """
    chosen = os.environ.get("BANDITPLEX_DATA")
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.exists() and not folder.is_dir():
            raise InputError(f"Expected BANDITPLEX_DATA to name a folder, got the file {chosen!r}.")
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


def joined(folder: Path) -> bytes:
    """Return the four-column file that a folder of extracts trans1.txt, trans2.txt, ... makes, with weights 1."""
    lines = []
    for layer in range(1, len(list(folder.glob("trans*.txt"))) + 1):
        path = folder / f"trans{layer}.txt"
        if not path.is_file():
            raise InputError(f"{path}: no such file.")
        lines += [b"%d %s 1\n" % (layer, b" ".join(line.split())) for line in path.read_bytes().splitlines()]
    return b"".join(lines)


def _joined(folder: Path) -> str:
    return hashlib.sha256(joined(folder)).hexdigest()


_CHECKSUMS = {"sha256": _sha256, "git": _git, "joined": _joined}
