"""`train --tensorboard`: how training goes, as event files that TensorBoard shows."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from banditplex.errors import InputError

NUMBERS = ("train_loss", "validation_loss", "train_accuracy", "validation_accuracy", "regret")
"""Columns of the history that are written for each target; `inclusion` is written for each layer drawn."""


@contextmanager
def event_files(folder: Path | None) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Yield a callback that writes the row of an epoch, as `on_epoch` gets it, to a folder; None without one."""
    if folder is None:
        yield None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        how = "pip install 'banditplex[tensorboard]'"
        raise InputError(f"Expected the package tensorboard for --tensorboard, got none installed: {how}.") from None
    with SummaryWriter(str(folder)) as writer:

        def write(row: dict[str, Any]) -> None:
            for name, value in scalars(row):
                writer.add_scalar(name, value, row["epoch"])
            writer.flush()

        yield write


def scalars(row: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield names and numbers of an epoch: of each target, then the inclusion probability of each layer it drew."""
    for each in row["layers"]:
        known = {name: each[name] for name in NUMBERS if name in each and not math.isnan(each[name])}
        yield from ((f"{name}/{each['layer']}", value) for name, value in known.items())
        yield from ((f"inclusion of {each['layer']}/{layer}", value) for layer, value in each["inclusion"].items())
