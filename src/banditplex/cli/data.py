"""What the commands read: a file, a folder, or a data set by its name."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.output import progress, say
from banditplex.errors import InputError

if TYPE_CHECKING:
    from banditplex.multiplex import Multiplex

Data = Annotated[str, typer.Argument(metavar="DATA", help="The name of a data set, or a file or folder.")]


def is_dataset(data: str) -> bool:
    """Say whether DATA is the name of a data set, which it means even where a file has that name too."""
    from banditplex.datasets import list_datasets

    return data in list_datasets()


def load(data: str, *, quiet: bool = False, **options: Any) -> "Multiplex":
    """Return the multiplex that DATA stands for; `options` are those of `io.read`."""
    from banditplex.datasets import list_datasets, load_dataset
    from banditplex.io import read

    options = {name: value for name, value in options.items() if value is not None}
    if is_dataset(data):
        if options:
            raise InputError(f"Expected no options for the data set {data!r}, got {', '.join(options)}.")
        if Path(data).exists() and not quiet:
            say(f"{data} is the data set of that name; write ./{data} for what stands in this folder.")
        with progress(f"Fetching {data}", quiet=quiet) as on_progress:
            return load_dataset(data, progress=on_progress)
    if not Path(data).exists():
        close = get_close_matches(data, list_datasets(), n=1)
        hint = f" did you mean {close[0]!r}?" if close else " `banditplex datasets list` names those."
        raise InputError(f"{data}: no such file or folder, and no data set of that name;{hint}")
    with progress(f"Reading {data}", quiet=quiet) as on_progress:
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
