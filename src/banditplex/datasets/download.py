"""Download missing files into a draft folder, check them, and only then move them into the data folder."""

import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

from banditplex.datasets.base import Dataset, File, data_folder
from banditplex.errors import InputError
from banditplex.io.base import unpacked_limit
from banditplex.storage.files import clear_drafts, draft_folder

Progress = Callable[[int, int], None]  # called with (bytes done, bytes in all)

TIMEOUT = 30  # seconds without an answer


def fetch_files(dataset: Dataset, *, known: Iterable[File] = (), progress: Progress | None = None) -> Path:
    """Return the folder of a data set with its checked files, downloaded if missing; other `known` files are kept."""
    dataset.check_files()
    folder = data_folder()
    if folder is not None and folder.is_dir() and dataset.files:
        clear_drafts(folder)
    missing = [file for file in dataset.files if not file.find(folder)]
    if missing and not dataset.can_be_downloaded:
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
        other = next((each for each in alike if each.is_in(path)), None)
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
