"""CSV and TSV: a header and one row per edge; a side note stores the rest."""

import gzip
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.csv

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress, read_side_note, side_note, write_side_note
from banditplex.io.records import records
from banditplex.io.sniff import Dialect
from banditplex.io.text_table import read_columns, sniff
from banditplex.multiplex import Multiplex
from banditplex.multiplex.cells import integer_names, tell_odd_names
from banditplex.multiplex.names import as_names
from banditplex.multiplex.roles import EDGE_ROLES, PAIR_ROLES, Columns, choose_columns
from banditplex.multiplex.table import from_table, to_table


def read(
    path: Path,
    usual: str,
    *,
    progress: Progress | None = None,
    directed: bool | None = None,
    header: bool = True,
    num_nodes: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: str | None = None,
    encoding: str | None = None,
    missing: str = "error",
    bipartite: bool | None = None,
    fold_case: bool = False,
    max_size: int | None = None,
    **columns: Unpack[Columns],
) -> Multiplex:
    """Read a table with one row per edge.

    Names are integers if all of them are plain integers ("7", not "007") or whole numbers ("7.0"), otherwise strings.
    Times are numbers or dates; dates become nanoseconds since 1970. What is guessed (any option below that is None)
    is said in a warning, unless it is the rule.

    Parameters
    ----------
    path, usual
        The file, compressed if its name ends in `.gz`, and the usual character between columns.
    progress
        Called with (bytes done, bytes in total).
    directed
        Whether edges are directed. None: as the side note or the column Type of Gephi says, or undirected.
    header
        Whether the first row has the column names. If not, the columns are named "1", "2", ... By default these are
        source, destination, layer, weight and time, as far as there are columns.
    num_nodes
        The nodes are 0 to num_nodes-1.
    delimiter
        The character between columns. None: the usual one or, if that gives no table, another.
    decimal
        The decimal point, "." or ",". None: "." or, if that gives no numbers, ",".
    thousands
        What stands between thousands: ".", ",", " " or "'". None: nothing or, if that gives no numbers, one of them.
    date_format
        The order of dates such as 04/25/2025: "dmy", "mdy" or "ymd"; or a format as "%d.%m.%Y". None: ISO dates, or
        the order that a day above 12 shows.
    encoding
        The encoding, such as "utf-8". None: UTF-8, UTF-16 or, if it is neither, Windows-1252.
    missing
        "error" refuses empty cells. "drop" leaves out rows without a node or layer; an edge without a weight has
        weight 1, and one without a time the earliest time.
    bipartite
        Whether source and destination are two kinds of nodes, each with ids of its own. None: they are not, but a
        warning says if it looks so.
    fold_case
        Whether names that differ only by case or spaces are the same; the most frequent spelling is kept.
    max_size
        How many bytes a compressed file may grow to. None: 64 MiB, or 100 times its size if that is more.
    columns
        See `banditplex.multiplex.roles.Columns`.
    """
    note = read_side_note(path)
    table, origin, point = read_columns(
        path, usual, columns, header=header, delimiter=delimiter, decimal=decimal, thousands=thousands,
        date_format=date_format, encoding=encoding, missing=missing, max_size=max_size, progress=progress,
        ours="nodes" in note or "layers" in note,
    )  # fmt: skip
    nodes, layers = note.get("nodes") if num_nodes is None else np.arange(num_nodes), note.get("layers")
    for roles, declared in ((PAIR_ROLES, nodes), (("layer",), layers)):
        if declared is None or as_names(declared, "declared").dtype != object:
            table = integer_names(table, roles, origin, text=True, decimal=point)
    directed = note.get("directed") if directed is None else directed
    mx = from_table(
        Multiplex, table, origin, nodes=nodes, layers=layers, directed=directed, bipartite=bipartite,
        fold_case=fold_case,
    )  # fmt: skip
    if nodes is None:
        tell_odd_names(mx.node_names, path)
    return mx


def write(mx: Multiplex, path: Path, usual: str) -> None:
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


def _matches(path: Path, usual: str) -> bool:
    if not path.is_file():
        return False
    try:
        dialect = sniff(path, {}, EDGE_ROLES, Dialect(usual), header=True)
        return bool(choose_columns(next(records(path, dialect, True), (1, []))[1], {}))
    except FormatError:
        return False


def _format(name: str, delimiter: str, description: str) -> Format:
    return Format(
        name=name,
        description=description,
        suffixes=(f".{name}", f".{name}.gz"),
        read=partial(read, usual=delimiter),
        write=partial(write, usual=delimiter),
        holds=frozenset({"weight", "time"}),
        matches=partial(_matches, usual=delimiter),
    )


CSV = _format("csv", ",", "a table: source,target,layer[,weight][,time]")
TSV = _format("tsv", "\t", "the same with tabs between the columns")
