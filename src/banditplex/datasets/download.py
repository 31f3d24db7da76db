"""Getting files that are not at hand: downloaded beside their place, checked, and only then moved there."""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from banditplex.datasets.base import Dataset, File, data_folder
from banditplex.errors import InputError

Progress = Callable[[int, int], None]  # called with (bytes done, bytes in all)

TIMEOUT = 30  # seconds without an answer


def fetch_files(dataset: Dataset, *, known: Iterable[File] = (), progress: Progress | None = None) -> Path:
    """Return the folder that holds the files of a data set, each checked; what is missing is downloaded first.

    Parameters
    ----------
    dataset
        What is wanted.
    known
        Files of all data sets: one of them that comes in place of what was asked for is kept under its own name.
    progress
        Called with (done, total) while a file comes in.
    """
    dataset.check_files()
    folder = data_folder()
    missing = [file for file in dataset.files if not file.find(folder)]
    if missing:
        folder = _download(dataset, missing, folder, tuple(known), progress)
    assert folder is not None
    return (folder / dataset.files[0].path).parent


def _download(
    dataset: Dataset, missing: list[File], folder: Path | None, known: tuple[File, ...], progress: Progress | None
) -> Path:
    try:
        import pooch  # noqa: F401
    except ImportError:
        folder = None
    if folder is None:
        raise InputError(
            f"{dataset.name} is not at hand, and pooch, which downloads it, is not installed: install it, or put "
            f"{missing[0].path} into a folder that BANDITPLEX_DATA names."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as stage:
            _Errand(dataset, folder, Path(stage), known, progress).run(missing)
    except OSError as error:
        raise InputError(f"{dataset.name}: {folder} cannot be written: {error.strerror or error}.") from None
    return folder


@dataclass(frozen=True)
class _Errand:
    """One attempt to bring the missing files of a data set into the data folder, by way of a staging folder."""

    dataset: Dataset
    folder: Path
    stage: Path
    known: tuple[File, ...]
    progress: Progress | None

    def run(self, missing: list[File]) -> None:
        """Try the archive, then the mirrors; move the files to their places once all are there and right."""
        got: dict[File, Path] = {}
        troubles = []
        for source in (self.from_archive, self.from_mirrors):
            try:
                got |= source([file for file in missing if file not in got])
            except InputError as error:
                troubles.append(str(error))
        if len(got) < len(missing):
            why = " ".join(troubles) or f"Put {missing[0].path} into {self.folder}."
            raise InputError(f"{self.dataset.name} is not at hand and could not be downloaded. {why}")
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
            found = f"something else or a damaged one ({error})"
            raise InputError(f"{address}: expected a zip archive, got {found}.") from None

    def extract(self, archive: zipfile.ZipFile, file: File) -> Path:
        """Unpack a file, wherever it is in the archive; another release of it is kept, but not taken for it."""
        address, path = self.dataset.archive, self.stage / file.name
        members = [each for each in archive.namelist() if PurePosixPath(each).name == file.name]
        if not members:
            raise InputError(f"{address}: expected an archive with {file.name}, got one without.")
        with archive.open(min(members, key=len)) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        alike = (each for each in self.known if each.name == file.name and each != file)
        other = next((each for each in alike if each.is_in(path)), None)
        if other is None:
            file.check(path, called=f"{file.name} of {address}")
            return path
        if not (self.folder / other.path).exists():
            _move(path, self.folder / other.path)
        release = PurePosixPath(other.path).parts[0]
        raise InputError(f"{address} serves another release, that of {release!r}; it was kept under that name.")

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
    """Turns pooch's progress bar into calls of a function."""

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
    """Download an address into a new file; a file that is not whole is an error."""
    import pooch
    import requests

    bar = _Bar(progress)
    try:
        pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 13, timeout=TIMEOUT)(address, str(path), None)
    except requests.HTTPError as error:
        status = "an error" if error.response is None else error.response.status_code
        raise InputError(f"{address}: the server answers {status}.") from None
    except requests.Timeout:
        raise InputError(f"{address}: no answer within {TIMEOUT} seconds.") from None
    except requests.RequestException as error:
        if isinstance(error, requests.ConnectionError) and not bar.total:
            raise InputError(f"{address}: no connection.") from None
        raise _broken_off(address, path, bar.total) from None
    if path.stat().st_size < bar.total:
        raise _broken_off(address, path, bar.total)


def _broken_off(address: str, path: Path, total: int) -> InputError:
    of = f" of {total:,}" if total else ""
    return InputError(f"{address}: the download broke off after {path.stat().st_size:,}{of} bytes.")
