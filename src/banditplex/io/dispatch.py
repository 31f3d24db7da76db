"""`read` and `write`: find the format of a path and call its functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from banditplex.errors import FormatError, InputError
from banditplex.io import comune, edgelists, folder, gatne, graphml, multinet, triples
from banditplex.io.base import Format, Progress, side_note_path
from banditplex.io.tables import reading as tables
from banditplex.io.tables.nodes import with_node_table
from banditplex.multiplex import Multiplex
from banditplex.multiplex.convert import as_multiplex
from banditplex.multiplex.notes import KEY, collected
from banditplex.multiplex.options import TableOptions, by_role
from banditplex.multiplex.roles import EDGE_ROLES
from banditplex.registry import Registry
from banditplex.storage.files import check_whole, staged, writing
from banditplex.terminal import warn

formats: Registry[Format] = Registry("format")
for _format in (
    folder.FORMAT, tables.PARQUET, graphml.FORMAT, multinet.FORMAT, tables.CSV, tables.TSV, tables.XLSX, comune.FORMAT,
    triples.FORMAT, gatne.FORMAT, tables.TABLES, edgelists.FORMAT,
):  # `detect` tries the content in this order  # fmt: skip
    formats.add(_format.name, _format)


def read(
    path: str | Path | Iterable[str | Path] | Any,
    *,
    format: str | None = None,
    node_table: str | Path | None = None,
    node_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Multiplex:
    """Read a multiplex from a file or folder, or from several tables.

    Notes on what was guessed, merged or left out are warnings, and a list in `metadata["reading_notes"]`; the columns
    of a table are in `metadata["reading_columns"]`.

    Parameters
    ----------
    path
        File or folder. Unless `format` is given, its name decides on the format, then its content. Or a list of
        tables (CSV, TSV, Excel, Parquet); each is a layer, unless it has a column of layers. Or data in memory: a
        table of pandas, a graph of networkx, a HeteroData, a scipy matrix, or a dict of them by layer; options are
        then those of `Multiplex.from_pandas`, `from_networkx`, `from_hetero_data` or `from_scipy`.
    format
        One of `banditplex.io.formats`.
    node_table, node_columns
        A table with attributes of nodes, and its columns; see `banditplex.io.tables.nodes.with_node_table`.
    progress
        Called with (done, total) during a long read.
    options
        Options of the format, such as `directed`; those of tables are `banditplex.multiplex.options.TableOptions`.
        docs/formats.md lists all of them.

    >>> read("nowhere.csv")
    Traceback (most recent call last):
    banditplex.errors.InputError: nowhere.csv: no such file or folder.
    """
    try:
        with collected() as notes:
            mx = None if isinstance(path, str | Path) else as_multiplex(Multiplex, path, **options)
            if mx is None:
                options = by_role(options)
                mx = _read(_paths(path), format, progress, options, node_table)
            if node_table is not None:
                how = {name: options[name] for name in ("fold_case", "max_size") if name in options}
                mx = with_node_table(mx, node_table, node_columns, **how)
    except OSError as error:
        raise InputError(f"{error.filename or _shown(path)}: cannot be read: {error.strerror or error}.") from None
    except MemoryError:
        raise InputError(f"{_shown(path)}: expected data that fit into memory, got more.") from None
    return mx.with_metadata(**{KEY: list(notes)}) if notes else mx


def _shown(path: Any) -> str:
    """Return how a message names what is read."""
    files = [path] if isinstance(path, str | Path) else path if isinstance(path, list | tuple) else []
    return f"{files[0]}{f' and {len(files) - 1} more' * (len(files) > 1)}" if files else f"a {type(path).__name__}"


def _paths(path: Any) -> list[Path]:
    if not isinstance(path, str | Path | Iterable):
        kinds = "a table of pandas, a graph of networkx, a HeteroData or a scipy matrix"
        raise InputError(f"Expected a file or folder to read, {kinds}, got {type(path).__name__}.")
    paths = [Path(path)] if isinstance(path, str | Path) else list(path)
    odd = next((each for each in paths if not isinstance(each, str | Path)), None)
    if odd is not None:
        hint = "Multiplex.from_edges takes columns"
        raise InputError(f"Expected a DataFrame or files to read, got a list with {type(odd).__name__}; {hint}.")
    paths = [Path(each) for each in paths]
    if not paths:
        raise InputError("Expected a file or folder to read, got none.")
    for each in paths:
        check_whole(each)
        if not each.exists():
            raise InputError(f"{each}: no such file or folder.")
    return paths


def _choose(paths: Sequence[Path], options: Mapping[str, Any]) -> Format:
    """Return the format of what is to be read: that of a file, or tables if there are several or options ask for it."""
    if len(paths) > 1:
        return tables.TABLES
    (path,) = paths
    asked = any(name in options for name in (*EDGE_ROLES, "wide", "matrix"))
    if path.is_dir() and asked and tables.tables_in(path):
        return tables.TABLES
    found = detect(path)
    return edgelists.FORMAT if found is tables.TABLES and options.get("header") is False else found


def _read(
    paths: Sequence[Path], format: str | None, progress: Progress | None, options: dict[str, Any],
    node_table: str | Path | None,
) -> Multiplex:  # fmt: skip
    chosen = formats[format] if format else _choose(paths, options)
    _check_options(chosen, chosen.read, options)
    path: Any = paths[0] if len(paths) == 1 else paths
    if len(paths) > 1 and chosen is not tables.TABLES:
        raise InputError(f"Expected one file or folder of the format {chosen.name}, got {len(paths)}.")
    try:
        if chosen.options is None:
            return chosen.read(path, progress=progress, **options)
        apart = {"node_table": node_table} if chosen is tables.TABLES else {}
        return chosen.read(path, TableOptions(**options), progress=progress, **apart)
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

    Weights, times, features or node types that the format cannot store are an error, unless `lossy` drops them, with
    a warning. A write that fails leaves the path as it was.
    """
    path = Path(path)
    chosen = check_place(path, format=format, overwrite=overwrite)
    parts = {"weight": mx.weight, "time": mx.time, "features": mx.node_features, "types": mx.node_types}
    lost = [part for part, value in parts.items() if value is not None and part not in chosen.holds]
    names = " and ".join(lost)
    if lost and not lossy:
        raise InputError(f"{path}: expected a format that stores {names}, got {chosen.name}; lossy=True drops {names}.")
    assert chosen.write is not None  # check_place refuses such a format
    _check_options(chosen, chosen.write, options)
    try:
        with writing(path), staged(path, overwrite=overwrite, companion=side_note_path(path)) as stage:
            chosen.write(mx, stage, **options)
        if lost:
            warn(f"{path}: written without {names}, which {chosen.name} does not store.")
    except UnicodeEncodeError as error:
        raise InputError(f"{path}: expected names that UTF-8 can encode, got {error.object!r}.") from None


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
    parameters = signature(function).parameters.values()
    own = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "progress"]
    known = own if chosen.options is None or function is chosen.write else list(chosen.options)
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"Expected an option of the format {chosen.name}, got {option}=; its options: {listed}.")
