"""Getting files that are not at hand: downloaded beside their place, checked, and only then moved there."""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

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
    folder = data_folder()
    missing = [file for file in dataset.files if not file.find(folder)]
    if missing:
        folder = _download(dataset, missing, folder, list(known), progress)
    assert folder is not None
    for file in dataset.files:
        found = file.find(folder)
        assert found is not None
        found[0].check(found[1])
    return (folder / dataset.files[0].path).parent


def _download(
    dataset: Dataset, missing: list[File], folder: Path | None, known: list[File], progress: Progress | None
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
            _gather(dataset, missing, folder, Path(stage), known, progress)
    except OSError as error:
        raise InputError(f"{dataset.name}: {folder} cannot be written: {error.strerror or error}.") from None
    return folder


def _gather(
    dataset: Dataset, missing: list[File], folder: Path, stage: Path, known: list[File], progress: Progress | None
) -> None:
    """Try the archive, then the mirrors; move the files to their places once all are there and right."""
    got: dict[File, Path] = {}
    troubles = []
    if dataset.archive:
        try:
            got = _from_archive(dataset.archive, missing, folder, stage, known, progress)
        except InputError as error:
            troubles.append(str(error))
    for file in missing:
        if file not in got and file.mirror:
            try:
                got[file] = _from_mirror(file, stage, progress)
            except InputError as error:
                troubles.append(str(error))
    if len(got) < len(missing):
        raise InputError(f"{dataset.name} is not at hand and could not be downloaded. " + " ".join(troubles))
    for file, path in got.items():
        _move(path, folder / file.path)


def _from_archive(
    address: str, wanted: list[File], folder: Path, stage: Path, known: list[File], progress: Progress | None
) -> dict[File, Path]:
    path = stage / "archive.zip"
    _get(address, path, progress)
    try:
        with zipfile.ZipFile(path) as archive:
            return {file: _extract(address, archive, file, folder, stage, known) for file in wanted}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{address}: expected a zip archive, got something else or a damaged one ({error}).") from None


def _extract(address: str, archive: zipfile.ZipFile, file: File, folder: Path, stage: Path, known: list[File]) -> Path:
    members = [each for each in archive.namelist() if PurePosixPath(each).name == file.name]
    if not members:
        raise InputError(f"{address}: expected an archive with {file.name}, got one without.")
    path = stage / file.name
    with archive.open(min(members, key=len)) as source, path.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    other = next((each for each in known if each != file and each.name == file.name and _holds(path, each)), None)
    if other is None:
        _check(file, path, f"{file.name} of {address}")
        return path
    if not (folder / other.path).exists():
        _move(path, folder / other.path)
    release = PurePosixPath(other.path).parts[0]
    raise InputError(f"{address} serves another release, that of {release!r}; it was kept under that name.")


def _from_mirror(file: File, stage: Path, progress: Progress | None) -> Path:
    path = stage / file.name
    _get(file.mirror, path, progress)
    _check(file, path, file.mirror)
    return path


def _check(file: File, path: Path, what: str) -> None:
    try:
        file.check(path)
    except InputError as error:
        raise InputError(str(error).replace(str(path), what, 1)) from None


def _holds(path: Path, file: File) -> bool:
    try:
        file.check(path)
    except InputError:
        return False
    return True


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
    """Download an address into a new file, whole or not at all."""
    import pooch
    import requests

    bar: Any = _Bar(progress)
    try:
        pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, timeout=TIMEOUT)(address, str(path), None)
    except requests.HTTPError as error:
        raise InputError(f"{address}: the server answers {error.response.status_code}.") from None
    except requests.Timeout:
        raise InputError(f"{address}: no answer within {TIMEOUT} seconds.") from None
    except requests.RequestException:
        raise _broken_off(address, path, bar.total) from None
    if path.stat().st_size < bar.total:
        raise _broken_off(address, path, bar.total)


def _broken_off(address: str, path: Path, total: int) -> InputError:
    done = path.stat().st_size
    if not done:
        return InputError(f"{address}: no connection.")
    return InputError(f"{address}: the download broke off after {done:,} of {total:,} bytes.")
