"""Join tables of edges: names, layers, weights, times and types of nodes, and where each row is from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from banditplex.errors import FormatError
from banditplex.io.base import parse_names
from banditplex.io.tables.files import SUFFIXES, Part
from banditplex.multiplex.cells import Origin
from banditplex.multiplex.notes import note, show_files
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES
from banditplex.multiplex.table import TYPES, stem


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
