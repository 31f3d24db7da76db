"""Tables of edges with a header: one file, a list of files, or a folder; each of several is a layer, or has layers."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, begins_with, parse_names, read_side_note, side_note, write_side_note
from banditplex.io.edgelists import SUFFIXES as LISTS
from banditplex.io.edgelists import looks_like_headers, natural
from banditplex.io.tables import files
from banditplex.io.tables.files import BETWEEN, KINDS, SUFFIXES, Part, head_of, kind_of, load, read_whole, usual_dialect
from banditplex.io.tables.nodes import ROLES as NODE_ROLES
from banditplex.io.tables.text import records
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import Origin, integer_names, tell_odd_names
from banditplex.multiplex.convert import redirect
from banditplex.multiplex.names import ONLY_LAYER
from banditplex.multiplex.notes import Quiet, collected, note, show_files, tell_together
from banditplex.multiplex.options import OPTIONS, TableOptions
from banditplex.multiplex.roles import EDGE_ROLES, ONE_LAYER, PAIR_ROLES, choose_columns, with_usual
from banditplex.multiplex.table import TYPES, direction, from_table, stem, to_table
from banditplex.multiplex.wide import from_matrices
from banditplex.schema import check, whole


def read(path: Path, options: TableOptions, *, kind: str, progress: Progress | None = None) -> Multiplex:
    """Read one table of a kind; `progress` is called with (bytes done, bytes in total), or rows of Parquet."""
    if options.matrix:
        return from_matrices(Multiplex, {ONLY_LAYER: read_whole(path, options, kind=kind, texts=True)}, options, [path])
    part = load(path, options, kind=kind, progress=progress)
    says, num_nodes = part.note, options.num_nodes
    nodes, layers = says.get("nodes"), says.get("layers")
    if num_nodes is not None:
        nodes = np.arange(num_nodes)
    elif not part.text:
        nodes = files.expand_nodes(nodes, len(part.table), path)
    table = part.with_names(nodes, layers)
    marked = not part.text and "directed" in says  # as our own tables are: undirected edges are then stored both ways
    how = replace(options, directed=None) if marked else options
    mx = from_table(Multiplex, table, part.origin, how, nodes=nodes, layers=layers, directed=says.get("directed"))
    if "types" in says and num_nodes is None:
        names, index = says["types"]["names"], says["types"]["index"]
        check(index, [whole(0, len(names) - 1)], path=path, what=f"types.index in {files.PLACE}")
        mx = mx.with_node_types([names[place] for place in index])
    if nodes is None and part.text:
        tell_odd_names(mx.node_names, path)
    return redirect(mx, options.directed) if marked else mx


def read_all(
    path: Path | Sequence[Path], options: TableOptions, *, progress: Progress | None = None,
    node_table: str | Path | None = None,
) -> Multiplex:  # fmt: skip
    """Read several tables, or those of a folder that have columns of source and destination.

    A table with a column of layers has these; each other table is a layer, named after its file. Tables without
    weights have weight 1. Of columns that are tuples of names, each table has one, or a usual one. A warning names
    other files of a folder; those that look like edges under other headers are refused, but for the `node_table`.
    """
    asked = options.columns
    columns: dict[str, Any] = {role: with_usual(role, name) for role, name in asked.items()}
    options = replace(options, **columns)
    left: list[Path] = []
    if isinstance(path, Path):
        named = str(path)
        files, left = edge_tables(path, options, apart=Path(node_table or path))
    else:
        named, files = show_files([str(file) for file in path]), list(path)
    places = [file.resolve() for file in files]
    twice = next((file for file, place in zip(files, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise InputError(f"Expected different files, got {twice} more than once.")
    if options.matrix:
        matrices = [read_whole(file, options, texts=True) for file in files]
        return from_matrices(Multiplex, dict(zip(file_names(files), matrices, strict=True)), options, files)
    done = np.cumsum([file.stat().st_size for file in files]).tolist()
    parts: list[Part] = []
    notes: dict[object, list[str]] = {}
    for file in files:
        _check_one_each(file, asked, options)
        with collected(silent=True) as notes[file]:
            parts.append(load(file, options))
        notes[file] = [each if isinstance(each, Quiet) else each.replace(ONE_LAYER, "") for each in notes[file]]
        if progress:
            progress(done[len(parts) - 1], done[-1])
    tell_left_out(left, parts, options, named)
    tell_together(notes)
    _check_used(asked, parts)
    said = _common_direction(parts) if options.directed is None else None
    table, layers, origin = join_tables(parts, named, typed=bool(options.bipartite))
    points = {part.point for part in parts}
    for roles in (PAIR_ROLES,) if layers else (PAIR_ROLES, ("layer",)):
        table = integer_names(table, roles, origin, text=True, decimal="," if points == {","} else ".")
    nodes = None if options.num_nodes is None else np.arange(options.num_nodes)
    mx = from_table(Multiplex, table, origin, options, nodes=nodes, layers=layers, directed=said)
    if nodes is None:
        tell_odd_names(mx.node_names, named)
    return mx


def _check_one_each(file: Path, asked: Mapping[str, Any], options: TableOptions) -> None:
    """Refuse a table with several columns that are given for one role."""
    for role, names in asked.items():
        if isinstance(names, tuple):
            there = {column.casefold() for column in header_of(file, options)}
            found = [name for name in names if name.casefold() in there]
            if len(found) > 1:
                raise FormatError(f"expected one column as {role}, got {' and '.join(map(repr, found))}", path=file)


def _check_used(columns: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """Refuse a column that no table has."""
    for role, names in columns.items():
        used = {str(part.origin.columns.get(role, "")).casefold() for part in parts}
        for name in names if isinstance(names, tuple) else (names,):
            if name and name.casefold() not in used:
                raise InputError(f"Expected a column {name!r} as {role} in one of {len(parts)} files, got none.")


def _common_direction(parts: Sequence[Part]) -> bool | None:
    """Return the direction that tables or their side notes say; refuse different ones."""
    found = {part.path: direction(part.table, part.origin) for part in parts}
    found = {path: read_side_note(path).get("directed") if says is None else says for path, says in found.items()}
    said = {says: path for path, says in found.items() if says is not None}
    if len(said) > 1:
        hint = "directed=True or directed=False says how to read all edges"
        raise FormatError(f"expected undirected edges, as in {said[False]}, got directed ones; {hint}", path=said[True])
    return next(iter(said), None)


# Joint tables: names, layers, weights, times and types of nodes, and where each row is from


def join_tables(parts: Sequence[Part], named: object, *, typed: bool) -> tuple[pa.Table, list[Any] | None, Origin]:
    """Return the rows of all tables, the layers if they are the files, and the origin of each row."""
    columns = {role: _column(role, parts) for role in PAIR_ROLES}
    integers = all(pa.types.is_integer(chunk.type) for column in columns.values() for chunk in column)
    kind = pa.int64() if integers else pa.string()
    columns = {role: [chunk.cast(kind) for chunk in column] for role, column in columns.items()}
    columns["layer"], layers = _layers(parts, named)
    if any("weight" in part.table.column_names for part in parts):
        columns["weight"] = [_weights(part) for part in parts]
        without = [str(part.path) for part in parts if "weight" not in part.table.column_names]
        if without:
            note(f"{show_files(without)}: no column of weights; all edges have weight 1.")
    if (times := _times(parts)) is not None:
        columns["time"] = times
    if typed or any(TYPES[0] in part.table.column_names for part in parts):
        columns |= {role: _types(role, parts, typed=typed) for role in TYPES}
    chunks = {role: [chunk for each in found for chunk in each.chunks] for role, found in columns.items()}
    table = pa.table({role: pa.chunked_array(found, columns[role][0].type) for role, found in chunks.items()})
    starts = np.cumsum([0, *(len(part.table) for part in parts)])

    def part_of(row: int) -> tuple[Origin, int]:
        place = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[place].origin, row - int(starts[place])

    used = {role: {part.origin.columns.get(role, role) for part in parts} for role in EDGE_ROLES}
    common = {role: names.pop() if len(names) == 1 else role for role, names in used.items()}
    return table, layers, Origin(named, common, part_of=part_of)


def _column(role: str, parts: Sequence[Part]) -> list[pa.ChunkedArray]:
    columns = [part.table[role] for part in parts]
    decoded = [each.cast(each.type.value_type) if pa.types.is_dictionary(each.type) else each for each in columns]
    return [each if len(each) else pa.chunked_array([], pa.int64()) for each in decoded]


def _layers(parts: Sequence[Part], named: object) -> tuple[list[pa.ChunkedArray], list[Any] | None]:
    """Return the layer of each row; and all layers, in the order of the files, if these are the layers."""
    own = [part for part in parts if "layer" in part.table.column_names]
    files = [part for part in parts if "layer" not in part.table.column_names]
    names = dict(zip([part.path for part in files], file_names([part.path for part in files]), strict=True))
    shown = ", ".join(list(names.values())[:5]) + f" and {len(names) - 5} more" * (len(names) > 5)
    if files and not own:
        note(f"{named}: {'each file is a layer' if len(files) > 1 else 'the file is a layer'}: {shown}.")
    elif files:
        listed = show_files([f"{part.path.name} ({part.origin.columns['layer']!r})" for part in own])
        note(f"{named}: layers named after files: {shown}; in a column: {listed}.")
    if own:
        texts = {part.path: part.table["layer"].cast(pa.string()) for part in own}
        return [texts[part.path] if part.path in texts else _repeat(names[part.path], part) for part in parts], None
    layers = parse_names(list(names.values())).tolist()
    return [_repeat(layer, part) for layer, part in zip(layers, parts, strict=True)], layers


def _repeat(value: Any, part: Part) -> pa.ChunkedArray:
    kind = pa.string() if isinstance(value, str) else None
    return pa.chunked_array([pa.repeat(pa.scalar(value, kind), len(part.table))])


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its stem or, if these are not distinct, more of the path."""
    stems = [_stem(path.name) for path in paths]
    longer = ["/".join((*path.parts[:-1][-1:], _stem(path.name))) for path in paths]
    choices = stems, longer, [path.name for path in paths]
    return next((names for names in choices if len(set(names)) == len(names)), [path.as_posix() for path in paths])


def _stem(name: str) -> str:
    """Return a file name without its ending, as `calls` of `calls.csv.gz`."""
    ending = max((each for each in SUFFIXES if name.lower().endswith(each)), key=len, default="")
    return name[: len(name) - len(ending)].strip() or name


def _weights(part: Part) -> pa.ChunkedArray:
    if "weight" not in part.table.column_names:
        return _repeat(1.0, part)
    column = part.table["weight"]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise FormatError(f"expected numbers as weight, got {column.type}", path=part.path)
    return column.cast(pa.float64())


def _times(parts: Sequence[Part]) -> list[pa.ChunkedArray] | None:
    """Return the times of all tables: all dates or all numbers; None if no table has them."""
    parts = [part for part in parts if len(part.table)]
    timed = [part for part in parts if "time" in part.table.column_names]
    if not timed:
        return None
    expected = _kind_of_time(timed[0])
    for part in parts:
        got = _kind_of_time(part)
        if got != expected:
            message = f"expected {expected} as time, as in {timed[0].path}, got {got}; time='' ignores times"
            raise FormatError(message, path=part.path)
    columns = [part.table["time"] for part in timed]
    whole = all(pa.types.is_integer(column.type) for column in columns)
    kind = pa.timestamp("ns") if expected == "dates" else pa.int64() if whole else pa.float64()
    return [column.cast(kind) for column in columns]


def _kind_of_time(part: Part) -> str:
    if "time" not in part.table.column_names:
        return "no such column"
    return "dates" if pa.types.is_temporal(part.table["time"].type) else "numbers"


def _types(role: str, parts: Sequence[Part], *, typed: bool) -> list[pa.ChunkedArray]:
    """Return the node types of sources or destinations: those in a column or, if `typed`, the name of the column."""
    end = PAIR_ROLES[TYPES.index(role)]
    found = []
    for part in parts:
        if role in part.table.column_names:
            found.append(part.table[role].cast(pa.string()))
        elif typed:
            found.append(_repeat(stem(part.origin.columns[end]) or end, part))
        else:
            raise FormatError(f"expected a column of types ({role}), as in other files, got none", path=part.path)
    return found


# Folders: which files are tables of edges, by the names of their columns; the first rows tell others from them


def tables_in(folder: Path) -> list[Path]:
    """Return the tables in a folder, in natural order."""
    found = [each for each in folder.iterdir() if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    return sorted((each for each in found if not each.name.startswith(".")), key=lambda each: natural(each.name))


def edge_tables(folder: Path, options: TableOptions, *, apart: Path) -> tuple[list[Path], list[Path]]:
    """Return the tables of edges in a folder, and what is left out, without the one kept `apart`."""
    files = [file for file in tables_in(folder) if file.resolve() != apart.resolve()] if folder.is_dir() else []
    if not files:
        raise FormatError(f"expected a folder with files that end in {', '.join(SUFFIXES)}, got none", path=folder)
    chosen = [file for file in files if not options.header or options.matrix or has_edges(file, options)]
    chosen = [file for file in chosen if not file.stem.endswith("_negatives")]  # pairs without an edge
    if not chosen:
        names, cells = head_of(files[0], options)
        sample = dict(zip(names, cells, strict=True)).__getitem__
        choose_columns(names, options.columns, path=files[0], sample=sample)  # says what is missing
        raise FormatError("expected a table of edges, got only negatives", path=folder)
    left = sorted(each for each in folder.iterdir() if each not in chosen and not each.name.startswith("."))
    left = [each for each in left if not each.name.endswith(".meta.json") and each.resolve() != apart.resolve()]
    return chosen, left


def tell_left_out(left: Sequence[Path], parts: Sequence[Part], options: TableOptions, folder: str) -> None:
    """Say which files of a folder are not read; refuse a table that looks like one of edges, but for its header.

    Such a table has two columns of nodes, or one in which nodes repeat; in a table of nodes, each has one row.
    """
    files = [each for each in left if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    nodes: set[str] = set()
    for column in [part.table[role] for part in parts if files for role in PAIR_ROLES]:
        nodes.update(_plain(str(name)) for name in pc.unique(column.combine_chunks()).to_pylist())
    for file in files:
        try:
            names, columns = head_of(file, options)
        except InputError:  # no table at all
            continue
        columns = [[_plain(cell) for cell in column if cell.strip()] for column in columns]
        named = zip(names, columns, strict=True)
        if any(name.strip().casefold() in NODE_ROLES["id"] and len(set(ids)) == len(ids) for name, ids in named):
            continue  # the ids of a table of nodes
        known = [column for column in columns if 2 * len(nodes.intersection(column)) > len(set(column))]
        if len(known) > 1 or any(len(set(column)) < len(column) for column in known):
            hint = "; if it is a table of nodes, say node_table=FILE"
            choose_columns(names, options.columns, path=file, hint=hint)  # which refuses it
    if left:
        listed = show_files([f"{each.name} ({_shown(each, options)})" if each in files else each.name for each in left])
        hint = "; source=NAME and destination=NAME name columns; node_table=FILE is for a table of nodes" * bool(files)
        note(f"{folder}: not read, as they are no tables of edges: {listed}{hint}.")


def _plain(name: str) -> str:
    return name.strip().removesuffix(".0")


def _shown(file: Path, options: TableOptions) -> str:
    """Return the columns of a table for a message."""
    try:
        names = header_of(file, options)
    except InputError:
        return "no table"
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5)


def header_of(file: Path, options: TableOptions) -> list[str]:
    """Return the names of the columns of a table."""
    return head_of(file, options, 1)[0]


def has_edges(file: Path, options: TableOptions) -> bool:
    """Return whether a table has columns of source and destination, and is none that `predict` writes."""
    try:
        names, cells = head_of(file, options)
        sample = dict(zip(names, cells, strict=True)).__getitem__
        chosen = choose_columns(names, options.columns, sample=sample)
    except InputError:
        return False
    return bool(chosen) and not {"probability", "score"} <= set(names)


# Formats


def write_text(mx: Multiplex, path: Path, usual: str) -> None:
    """Write one row per edge; names are quoted if some name needs it."""
    names = [str(name) for name in (*mx.layer_names, *mx.node_names.tolist())]
    if "" in names:
        raise InputError("Expected non-empty names, got ''.")
    quotes = any(not {usual, '"', "\n", "\r"}.isdisjoint(name) for name in names)
    table = to_table(mx)
    kinds = [column.type.value_type if pa.types.is_dictionary(column.type) else column.type for column in table]
    table = table.cast(pa.schema(zip(table.column_names, kinds, strict=True)))
    with gzip.open(path, "wb", compresslevel=6) if path.suffix == ".gz" else path.open("wb") as file:
        file.write((usual.join(table.column_names) + "\n").encode())
        quoting = {"quoting_style": "needed" if quotes else "none"}
        pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(include_header=False, delimiter=usual, **quoting))
    write_side_note(path, side_note(mx))


def _is_text(path: Path, kind: str) -> bool:
    """Return whether a file has a header of a table of edges, split as is usual for its kind."""
    if not path.is_file():
        return False
    try:
        dialect = usual_dialect(path, TableOptions(delimiter=BETWEEN[kind]))
        return bool(choose_columns(next(records(path, dialect), (1, []))[1], {}))
    except FormatError:
        return False


def _is_folder(path: Path) -> bool:
    """Return whether a folder has a table of edges with a header, or tables that cannot be lists without a header."""
    if not path.is_dir():
        return False
    files = tables_in(path)
    if any(has_edges(file, TableOptions()) for file in files):
        return True
    lists = [each for each in path.iterdir() if each.suffix.lower() in LISTS and each not in files]
    if not files or lists:
        return False
    if kind_of(files[0]) not in BETWEEN or usual_dialect(files[0], TableOptions()).delimiter in ";|":
        return True
    try:
        heads = [head_of(file, TableOptions()) for file in files]
        return looks_like_headers(heads) or not any(names[0].strip() for names, _ in heads)  # matrices with names
    except InputError:
        return False


_CELLS = frozenset({"weight", "time"})
_SHEET, _TEXT = {"sheet"}, {"header", "delimiter", "encoding"}


def _format(kind: str, description: str, others: set[str], **facts: Any) -> Format:
    """Declare a kind of tables; `others` are options for other kinds."""
    options = tuple(each for each in OPTIONS if each not in others)
    return Format(kind, description, KINDS[kind], partial(read, kind=kind), options=options, **facts)


CSV, TSV = (
    _format(
        kind, description, _SHEET, write=partial(write_text, usual=BETWEEN[kind]), holds=_CELLS,
        matches=partial(_is_text, kind=kind),
    )
    for kind, description in (
        ("csv", "a table: source,target,layer[,weight][,time]"),
        ("tsv", "the same with tabs between the columns"),
    )
)  # fmt: skip
XLSX = _format(
    "xlsx", "an Excel sheet: source, target, layer[, weight][, time]; read only", _TEXT - {"header"}, holds=_CELLS
)
PARQUET = _format(
    "parquet", "a table: source, target, layer[, weight][, time]", _TEXT | _SHEET, write=files.write_parquet,
    holds=_CELLS | {"types"}, matches=partial(begins_with, pattern=rb"\APAR1"),
)  # fmt: skip
TABLES = Format(
    name="tables", description="a folder with a table per layer (CSV, TSV, Excel, Parquet); read only", suffixes=(),
    read=read_all, holds=_CELLS, matches=_is_folder, options=OPTIONS,
)  # fmt: skip
