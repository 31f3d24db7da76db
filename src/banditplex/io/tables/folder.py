"""Which files of a folder are tables of edges, by the names of their columns; the first rows tell others from them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.compute as pc

from banditplex.errors import FormatError, InputError
from banditplex.io.edgelists import natural
from banditplex.io.tables.files import SUFFIXES, Part, head_of
from banditplex.io.tables.nodes import ROLES as NODE_ROLES
from banditplex.multiplex.notes import note, show_files
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import PAIR_ROLES, choose_columns


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
        choose_columns(header_of(files[0], options), options.columns, path=files[0])  # says what is missing
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
