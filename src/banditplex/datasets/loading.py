"""Data sets by name: list, register, describe, download into a draft folder, check, and load them."""

import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

from banditplex.datasets.base import CATALOG, Dataset, File, data_folder, made
from banditplex.datasets.groups import groups, mixed
from banditplex.datasets.planted import rand_internship, small_3_layers, twins
from banditplex.errors import InputError
from banditplex.io.base import Progress, unpacked_limit
from banditplex.multiplex import Multiplex
from banditplex.multiplex.stored import from_arrays
from banditplex.registry import Registry
from banditplex.storage.files import clear_drafts, draft_folder

TIMEOUT = 30  # seconds without an answer


def fetch_files(dataset: Dataset, *, known: Iterable[File] = (), progress: Progress | None = None) -> Path:
    """Return the folder of a data set with its checked files, downloaded if missing; other `known` files are kept."""
    dataset.check_files()
    folder = data_folder()
    if folder is not None and folder.is_dir() and dataset.files:
        clear_drafts(folder)
    missing = [file for file in dataset.files if not file.find(folder)]
    if missing and not dataset.archive and not any(file.mirror for file in dataset.files):
        where = folder or "the folder in BANDITPLEX_DATA"
        raise InputError(f"{dataset.name}: expected {missing[0].path} in {where}, got no such file. {dataset.note}")
    if missing and (folder is None or find_spec("pooch") is None):
        hint = f"install pooch, or set BANDITPLEX_DATA to a folder with {missing[0].path}"
        raise InputError(f"{dataset.name}: expected pooch, which downloads it, got no such package; {hint}.")
    assert folder is not None
    try:
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
            with draft_folder(folder / dataset.name) as stage:
                _Download(dataset, folder, stage, tuple(known), progress).run(missing)
    except OSError as error:
        raise InputError(f"{dataset.name}: {folder} cannot be written: {error.strerror or error}.") from None
    return (folder / dataset.files[0].path).parent


@dataclass(frozen=True)
class _Download:
    """One attempt to download the missing files of a data set, through a draft folder."""

    dataset: Dataset
    folder: Path
    stage: Path
    known: tuple[File, ...]
    progress: Progress | None

    def run(self, missing: list[File]) -> None:
        """Try the archive, then the mirrors; move the files into the data folder once all are complete and checked."""
        got: dict[File, Path] = {}
        failures = []
        for source in (self.from_archive, self.from_mirrors):
            try:
                got |= source([file for file in missing if file not in got])
            except InputError as error:
                failures.append(str(error))
        if len(got) < len(missing):
            why = " ".join(failures) or f"Put {missing[0].path} into {self.folder}."
            raise InputError(f"{self.dataset.name}: download failed. {why}")
        for file, path in got.items():
            _move(path, self.folder / file.path)

    def from_archive(self, wanted: list[File]) -> dict[File, Path]:
        address = self.dataset.archive
        if not address:
            return {}
        path = self.stage / "archive.zip"
        _get(address, path, self.progress)
        try:
            with zipfile.ZipFile(path) as archive:
                return {file: self.extract(archive, file) for file in wanted}
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise InputError(f"{address}: expected a valid zip archive, got {str(error).rstrip('.')!r}.") from None

    def extract(self, archive: zipfile.ZipFile, file: File) -> Path:
        """Extract a file from any folder of the archive; another release is kept under its own name."""
        address, path = self.dataset.archive, self.stage / file.name
        members = [each for each in archive.namelist() if PurePosixPath(each).name == file.name]
        if not members:
            raise InputError(f"{address}: expected an archive with {file.name}, got none.")
        member = archive.getinfo(min(members, key=len))
        limit = unpacked_limit(member.compress_size)
        if member.file_size > limit:  # zipfile reads no more than that
            raise InputError(f"{address}: expected {file.name} of at most {limit:,} bytes, got {member.file_size:,}.")
        with archive.open(member) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        alike = (each for each in self.known if each.name == file.name and each != file)
        other = next((each for each in alike if each.checksum_of(path) == each.checksum), None)
        if other is None:
            file.check(path, called=f"{file.name} of {address}")
            return path
        if not (self.folder / other.path).exists():
            _move(path, self.folder / other.path)
        release = PurePosixPath(other.path).parts[0]
        raise InputError(f"{address}: expected the release of {self.dataset.name!r}, got {release!r}, kept as such.")

    def from_mirrors(self, wanted: list[File]) -> dict[File, Path]:
        got = {}
        for file in wanted:
            if file.mirror:
                got[file] = self.stage / file.name
                _get(file.mirror, got[file], self.progress)
                file.check(got[file], called=file.mirror)
        return got


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)


class _Bar:
    """A progress bar for pooch that calls a function."""

    def __init__(self, progress: Progress | None) -> None:
        self.total, self._done, self._progress = 0, 0, progress

    def update(self, size: int) -> None:
        self._done = min(self._done + size, self.total) if self.total else self._done + size
        if self._progress:
            self._progress(self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


def _get(address: str, path: Path, progress: Progress | None) -> None:
    """Download a URL into a new file; an incomplete file is an error."""
    import pooch
    import requests

    def check(answer: Any, *_: Any, **__: Any) -> None:
        check_address(answer.url)  # each time the server sends us elsewhere
        check_address(urljoin(answer.url, answer.headers.get("Location", answer.url)))

    check_address(address)
    bar = _Bar(progress)
    get = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 13, timeout=TIMEOUT, hooks={"response": check})
    try:
        get(address, str(path), None)
    except requests.HTTPError as error:
        status = "unknown" if error.response is None else error.response.status_code
        raise InputError(f"{address}: expected a file, got status {status} from the server.") from None
    except requests.Timeout:
        raise InputError(f"{address}: no answer within {TIMEOUT} seconds.") from None
    except requests.RequestException as error:
        if isinstance(error, requests.ConnectionError) and not bar.total:
            raise InputError(f"{address}: no connection.") from None
        raise _incomplete(address, path, bar.total) from None
    if path.stat().st_size < bar.total:
        raise _incomplete(address, path, bar.total)


def check_address(address: str) -> None:
    """Refuse an address that is not https, unless it is of this machine.

    >>> check_address("http://example.org/a.zip")
    Traceback (most recent call last):
    banditplex.errors.InputError: http://example.org/a.zip: expected an address that begins with https://, got another.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1")):
        raise InputError(f"{address}: expected an address that begins with https://, got another.")


def _incomplete(address: str, path: Path, total: int) -> InputError:
    of = f" of {total:,}" if total else ""
    return InputError(f"{address}: the download stopped after {path.stat().st_size:,}{of} bytes.")


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
        "name": dataset.name, "title": dataset.title, "kind": "download" if dataset.files else "built-in",
        "nodes": dataset.num_nodes, "layers": dataset.num_layers, "edges": dataset.num_edges,
        "undirected_edges": dataset.num_undirected, "directed": dataset.directed, "weighted": dataset.weighted,
        "terms": dataset.terms, "citation": dataset.citation, "address": dataset.archive or dataset.address,
        "note": dataset.note, "at_hand": dataset.at_hand,
    }  # fmt: skip


for _dataset in (
    made("twins", twins), made("mixed", mixed), made("groups", groups), *CATALOG,
    made("rand-internship", rand_internship), made("small-3-layers", small_3_layers),
):  # fmt: skip
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
        "nodes": mx.num_nodes, "layers": mx.num_layers, "edges": mx.num_edges, "undirected_edges": undirected.num_edges,
        "directed": mx.directed, "weighted": mx.weight is not None or "weight" in mx.metadata.get("missing", ()),
    }  # fmt: skip
    for fact, value in found.items():
        if facts[fact] is not None and not options:
            assert value == facts[fact], f"{name}: expected {fact} {facts[fact]}, got {value}"
    assert mx.metadata["name"] == name, f"{name}: expected this name in the metadata, got {mx.metadata['name']!r}"
    for fact in ("title", "terms", "citation"):
        assert mx.metadata.get(fact, "") == facts[fact], f"{name}: expected its {fact} in the metadata"
    for each in (mx, undirected):
        arrays, names = {part: getattr(each, part) for part in ("edge_index", "layer_offsets")}, each.node_names
        try:
            from_arrays(arrays, each.layer_names, names, files=f"{name}, {{}}".format, directed=each.directed)
        except InputError as error:
            raise AssertionError(str(error)) from None
    relevant = mx.metadata.get("relevant", dict.fromkeys(mx.layer_names, ()))
    assert list(relevant) == list(mx.layer_names), f"{name}: expected every layer, in order, in metadata['relevant']"
    for layer, others in relevant.items():
        expected = f"{name}: expected other layers for {layer!r}, got {others}"
        assert set(others) <= set(mx.layer_names) - {layer}, expected
    assert load_dataset(name, **options) == mx, f"{name}: expected the same multiplex from a second load, got another"
    return mx
