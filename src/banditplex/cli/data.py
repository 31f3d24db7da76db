"""What the commands read: a file, a folder, or a data set by its name."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.output import progress
from banditplex.errors import InputError

if TYPE_CHECKING:
    from banditplex.multiplex import Multiplex

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder, or the name of a data set.")]


def load(data: str, **options: Any) -> "Multiplex":
    """Return the multiplex that DATA stands for; `options` are those of `io.read`."""
    from banditplex.datasets import list_datasets, load_dataset
    from banditplex.io import read

    options = {name: value for name, value in options.items() if value is not None}
    if data in list_datasets() and not Path(data).exists():
        if options:
            raise InputError(f"Expected no options for the data set {data!r}, got {', '.join(options)}.")
        return load_dataset(data)
    if not Path(data).exists():
        close = get_close_matches(data, list_datasets(), n=1)
        hint = f" did you mean {close[0]!r}?" if close else " `banditplex datasets list` names those."
        raise InputError(f"{data}: no such file or folder, and no data set of that name;{hint}")
    with progress(f"Reading {data}") as on_progress:
        return read(data, progress=on_progress, **options)


def parse_columns(text: str | None) -> dict[str, str]:
    """Return the columns of a table by what they hold, given as `source=from,target=to`."""
    roles = {"source": "source", "target": "destination", "destination": "destination"}
    roles |= {name: name for name in ("layer", "weight", "time")}
    columns = {}
    for part in text.split(",") if text else []:
        role, equals, column = part.partition("=")
        if role not in roles or not equals or not column:
            raise InputError(f"Expected --columns like source=from,target=to, got {part!r}; roles: {', '.join(roles)}.")
        columns[roles[role]] = column
    return columns
