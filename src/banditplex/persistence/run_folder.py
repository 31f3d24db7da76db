"""Run folders: where a model is trained, checkpoint by checkpoint, and then saved."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditplex.errors import InputError
from banditplex.persistence.index import CHECKPOINT, FILES, INDEX, READING, successor
from banditplex.schema import ANYTHING, parse
from banditplex.storage.files import is_draft, regular, replace_file
from banditplex.storage.lock import IN_FOLDER

NOTES = "notes"  # the entry of that file with notes on what was guessed, merged or left out, a list of strings
USED = "columns_used"  # the entry with the columns that were read, given or guessed, by role


class Progress(NamedTuple):
    """How far a run has come."""

    epoch: int  # epochs done
    kept_epochs: tuple[int, ...]  # of each network, the epoch whose weights early stopping keeps
    history: list[dict[str, Any]]
    networks: tuple[tuple[int, int], ...]  # of each: its epochs, and how many of them since the lowest validation loss


class RunFolder:
    """The folder of one run: a checkpoint from the start, a model once training has finished."""

    def __init__(self, path: Path) -> None:
        self.path, self._checkpoint = path, path / CHECKPOINT

    @property
    def begun(self) -> bool:
        """Whether there is a run to resume."""
        return self._checkpoint.exists()

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return (self.path / INDEX).exists()

    @property
    def occupied(self) -> bool:
        """Whether the folder holds anything besides a lock, and what is written before the first checkpoint."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(path.name not in (IN_FOLDER, READING) and not is_draft(path) for path in self.path.iterdir())

    def check_free(self, *, resume: bool = False, force: bool = False) -> None:
        """Refuse a folder that holds something, unless it is a run to resume, or `force` replaces it."""
        if resume and force:
            raise InputError("Expected either resume=True, to continue a run, or force=True, to replace it, got both.")
        if force or not self.occupied:
            return
        if not self.begun:
            raise InputError(f"{self.path}: expected a new or empty folder, or one with {CHECKPOINT} to resume.")
        if not resume:
            raise InputError(f"{self.path}: exists; resume=True continues this run, force=True replaces it.")
        self._read_checkpoint()  # refuses what is damaged

    def clear(self) -> None:
        """Remove the files of a run, and no others."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: expected a folder, got a file.")
        for name in (INDEX, CHECKPOINT, READING, *FILES):
            for path in (self.path / name, successor(self.path / name)):
                path.unlink(missing_ok=True)

    def _read_checkpoint(self) -> dict[str, Any]:
        from banditplex.persistence.checkpoint import read_checkpoint  # takes long to import; most mistakes need none

        return read_checkpoint(self._checkpoint)

    def settings(self) -> dict[str, Any]:
        """Return the settings of the run that was begun, as they were given, and its targets."""
        kept = self._read_checkpoint()
        return kept["identity"]["settings"] | kept["arguments"]

    def reading(self) -> dict[str, Any]:
        """Return the options that the data of the run were read with, as `keep_reading` was told."""
        return {name: value for name, value in self._read().items() if name not in (NOTES, USED)}

    def columns(self) -> dict[str, str]:
        """Return the columns that were read of the data of the run, by role; none of data that are no tables."""
        return self._read().get(USED, {})

    def notes(self) -> list[str]:
        """Return what was guessed, merged or left out when the data of the run were read."""
        return self._read().get(NOTES, [])

    def _read(self) -> dict[str, Any]:
        path = self.path / READING
        schema = {f"{NOTES}?": [str], f"{USED}?": {"*": str}, "*": ANYTHING}
        return parse(regular(path).read_bytes(), schema, path=path) if path.exists() else {}

    def keep_reading(
        self, options: dict[str, Any], notes: Sequence[str] = (), columns: Mapping[str, str] | None = None
    ) -> None:
        """Keep how the data of the run are read; the folder is locked."""
        entries = options | ({NOTES: list(notes)} if notes else {}) | ({USED: dict(columns)} if columns else {})
        if entries != self._read():
            replace_file(self.path / READING, json.dumps(entries, ensure_ascii=False).encode())

    def progress(self) -> Progress:
        """Return how far the run has come."""
        checkpoint = self._read_checkpoint()
        states = [*checkpoint["finished"], checkpoint["state"]]
        before = [sum(state["epoch"] for state in states[:number]) for number in range(len(states) + 1)]
        kept = [state["early_stopping"]["kept_epoch"] or state["epoch"] for state in states]
        history = [row for state in states for row in state["history"]]
        best = [state["early_stopping"]["best_epoch"] or state["epoch"] for state in states]
        networks = tuple((state["epoch"], state["epoch"] - epoch) for state, epoch in zip(states, best, strict=True))
        return Progress(before[-1], tuple(map(int, np.add(before[:-1], kept))), history, networks)
