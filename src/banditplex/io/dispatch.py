"""`read` and `write`: find the format of a path and call its functions."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, get_args

from banditplex.errors import FormatError, InputError
from banditplex.io import (
    comune,
    delimited,
    edgelists,
    excel,
    folder,
    gatne,
    graphs,
    multinet,
    muxviz,
    parquet,
    tables,
    triples,
)
from banditplex.io.base import Format, Progress, side_note_path
from banditplex.io.edge_tables import tables_in
from banditplex.io.node_table import with_node_table
from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import KEY, collected
from banditplex.multiplex.roles import EDGE_ROLES, by_role
from banditplex.registry import Registry
from banditplex.storage.staging import check_whole, staged

formats: Registry[Format] = Registry("format")
for _format in (
    folder.FORMAT,
    parquet.FORMAT,
    graphs.GRAPHML,
    graphs.GML,
    multinet.FORMAT,
    muxviz.FORMAT,
    delimited.CSV,
    delimited.TSV,
    excel.FORMAT,
    comune.FORMAT,
    triples.FORMAT,
    gatne.FORMAT,
    tables.FORMAT,
    edgelists.FORMAT,
):  # `detect` tries the content in this order
    formats.add(_format.name, _format)


def read(
    path: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    node_table: str | Path | None = None,
    node_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Multiplex:
    """Read a multiplex from a file or folder, or from several tables.

    Notes on what was guessed, merged or left out are warnings, and a list in `metadata["reading_notes"]`.

    Parameters
    ----------
    path
        File or folder. Unless `format` is given, its name decides on the format, then its content. Or a list of
        tables (CSV, TSV, Excel, Parquet); each is a layer, unless it has a column of layers.
    format
        One of `banditplex.io.formats`.
    node_table, node_columns
        A table with attributes of nodes, and its columns; see `banditplex.io.node_table.with_node_table`.
    progress
        Called with (done, total) during a long read.
    options
        Options of the format, such as `directed`; docs/formats.md lists them.

    >>> read("nowhere.csv")
    Traceback (most recent call last):
    banditplex.errors.InputError: nowhere.csv: no such file or folder.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    if not paths:
        raise InputError("Expected a file or folder to read, got none.")
    for each in paths:
        check_whole(each)
        if not each.exists():
            raise InputError(f"{each}: no such file or folder.")
    options = by_role(options)
    try:
        with collected() as notes:
            chosen = formats[format] if format else _choose(paths, options)
            _check_options(chosen, chosen.read, options)
            apart = {"node_table": node_table} if chosen is tables.FORMAT else {}
            mx = _read(chosen, paths, progress, options | apart)
            if node_table is not None:
                mx = with_node_table(mx, node_table, node_columns, fold_case=bool(options.get("fold_case")))
    except OSError as error:
        raise InputError(f"{error.filename or paths[0]}: cannot be read: {error.strerror or error}.") from None
    return mx.with_metadata(**{KEY: list(notes)}) if notes else mx


def _choose(paths: Sequence[Path], options: Mapping[str, Any]) -> Format:
    """Return the format of what is to be read: that of a file, or tables if there are several or columns are named."""
    if len(paths) > 1:
        return tables.FORMAT
    (path,) = paths
    if path.is_dir() and any(role in options for role in EDGE_ROLES) and tables_in(path):
        return tables.FORMAT
    found = detect(path)
    return edgelists.FORMAT if found is tables.FORMAT and options.get("header") is False else found


def _read(chosen: Format, paths: Sequence[Path], progress: Progress | None, options: dict[str, Any]) -> Multiplex:
    path: Any = paths[0] if len(paths) == 1 else paths
    if len(paths) > 1 and chosen is not tables.FORMAT:
        raise InputError(f"Expected one file or folder of the format {chosen.name}, got {len(paths)}.")
    try:
        return chosen.read(path, progress=progress, **options)
    except FormatError:
        raise
    except InputError as error:
        if len(paths) > 1:
            raise
        raise FormatError(str(error).removesuffix("."), path=path) from None
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at position {error.start}"
        raise FormatError(f"expected UTF-8 text, got {found}", path=paths[0]) from None


def write(
    mx: Multiplex,
    path: str | Path,
    *,
    format: str | None = None,
    lossy: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> None:
    """Write a multiplex to a file or folder; `overwrite` replaces an existing one.

    Weights, times, features or node types that the format cannot store are an error, unless `lossy` drops them. A
    write that fails leaves the path as it was.
    """
    path = Path(path)
    chosen = check_place(path, format=format, overwrite=overwrite)
    parts = {"weight": mx.weight, "time": mx.time, "features": mx.node_features, "types": mx.node_types}
    lost = [part for part, value in parts.items() if value is not None and part not in chosen.holds]
    if lost and not lossy:
        names = " and ".join(lost)
        raise InputError(f"{path}: expected a format that stores {names}, got {chosen.name}; lossy=True drops {names}.")
    assert chosen.write is not None  # check_place refuses such a format
    _check_options(chosen, chosen.write, options)
    try:
        with staged(path, overwrite=overwrite, companion=side_note_path(path)) as stage:
            chosen.write(mx, stage, **options)
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: expected names that UTF-8 can encode, got {error.object!r}.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}.") from None


def check_place(path: Path, *, format: str | None = None, overwrite: bool = False) -> Format:
    """Return the format for `path`, and refuse a path that cannot be written, before any data are read."""
    chosen = formats[format] if format else _by_name(path)
    if chosen is None or chosen.write is None:
        writable = {name: each for name, each in formats.items() if each.write is not None}
        endings = ", ".join(suffix for each in writable.values() for suffix in each.suffixes)
        hint = f"write with format=NAME, one of {', '.join(writable)}"
        raise InputError(f"{path}: expected a name that ends in one of {endings}, got {path.name!r}; {hint}.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected an existing folder {path.parent}, got none.")
    if path.is_dir() and any(path.iterdir()) and not chosen.matches(path):
        raise InputError(f"{path}: expected a new path or a folder of {chosen.name}, got a folder of something else.")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: expected a new path, got an existing one; overwrite=True replaces it.")
    return chosen


def detect(path: Path) -> Format:
    """Return the format of an existing path, by the ending of its name or by its content."""
    found = _by_name(path) if path.is_file() else None
    if found is None:
        found = next((each for each in formats.values() if each.matches(path)), None)
    if found is None:
        hint = f"read with format=NAME, one of {', '.join(formats)}"
        if path.suffix.lower() == ".txt":
            hint += "; a table of text is csv, with header=False if its first line is a link"
        raise InputError(f"{path}: expected a known format, got a name and content that show none; {hint}.")
    return found


def _by_name(path: Path) -> Format | None:
    name = path.name.lower()
    return next((each for each in formats.values() if name.endswith(each.suffixes) and each.suffixes), None)


def _check_options(chosen: Format, function: Callable[..., object], options: dict[str, Any]) -> None:
    known: list[str] = []
    for each in signature(function).parameters.values():
        if each.kind is each.VAR_KEYWORD:  # **columns: Unpack[Columns]
            known += get_args(each.annotation)[0].__annotations__
        elif each.kind is each.KEYWORD_ONLY and each.name != "progress":
            known.append(each.name)
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"Expected an option of the format {chosen.name}, got {option}=; its options: {listed}.")
