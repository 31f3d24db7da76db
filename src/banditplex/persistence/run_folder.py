"""Run folders: where a model is trained, checkpoint by checkpoint, and then saved."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from banditplex.errors import InputError
from banditplex.persistence.checkpoint import FILE, read_checkpoint
from banditplex.persistence.model_folder import FILES, INDEX
from banditplex.persistence.tree import draft_of, replace_file

READING = "reading.json"
"""How the data of a run were read: the options that a resumed run need not be given again."""


class Progress(NamedTuple):
    """How far a run has come."""

    epoch: int  # epochs done
    kept_epoch: int  # the epoch whose weights early stopping keeps
    history: list[dict[str, Any]]


class RunFolder:
    """The folder of one run: a checkpoint from the start, a model once training has finished."""

    def __init__(self, path: Path) -> None:
        self.path, self._checkpoint = path, path / FILE

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
        """Whether the folder holds anything besides the draft of a checkpoint that was cut off."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(path != draft_of(self._checkpoint) for path in self.path.iterdir())

    def check_free(self, *, resume: bool = False, force: bool = False) -> None:
        """Refuse a folder that holds something, unless it is a run to resume, or `force` replaces it."""
        if resume and force:
            raise InputError("Expected either resume=True, to continue a run, or force=True, to replace it, got both.")
        if force or not self.occupied:
            return
        if not self.begun:
            raise InputError(f"{self.path}: expected a new or empty folder, or one with {FILE} to resume.")
        if not resume:
            raise InputError(f"{self.path}: exists; resume=True continues this run, force=True replaces it.")
        read_checkpoint(self._checkpoint)  # refuses what is damaged

    def clear(self) -> None:
        """Remove the files of a run, and no others."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: expected a folder, got a file.")
        for name in (INDEX, FILE, READING, *FILES):
            for path in (self.path / name, draft_of(self.path / name)):
                path.unlink(missing_ok=True)

    def settings(self) -> dict[str, Any]:
        """Return the settings of the run that was begun, as they were given, and its targets."""
        kept = read_checkpoint(self._checkpoint)
        settings: dict[str, Any] = kept["identity"]["settings"] | kept["arguments"]
        return settings

    def reading(self) -> dict[str, Any]:
        """Return how the data of the run were read, as `keep_reading` was told."""
        path = self.path / READING
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}

    def keep_reading(self, options: dict[str, Any]) -> None:
        """Keep how the data of the run, which has begun, are read."""
        replace_file(self.path / READING, json.dumps(options).encode())

    def progress(self) -> Progress:
        """Return how far the run has come."""
        state = read_checkpoint(self._checkpoint)["state"]
        kept = state["early_stopping"]["kept_epoch"] or state["epoch"]
        return Progress(state["epoch"], kept, state["history"])
