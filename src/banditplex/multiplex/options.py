"""The options of tables: one object says how a table with a row per edge is read, from a file or from pandas."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from banditplex.errors import InputError
from banditplex.multiplex.cells import MISSING
from banditplex.multiplex.names import check_num_nodes
from banditplex.multiplex.numbers import ORDERS, THOUSANDS
from banditplex.multiplex.roles import ALSO, EDGE_ROLES
from banditplex.registry import check_choice

Column = str | tuple[str, ...] | None
_NO_TEXT = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7", "mbcs", "oem"}


@dataclass(frozen=True)
class TableOptions:
    """How tables are read: CSV, TSV, Excel and Parquet files, and those of pandas.

    Options that are None are found out. What is guessed is said in a warning, unless it is the rule. An option about
    text files has no effect on others. docs/formats.md explains all options.
    """

    source: Column = None  # names of columns; "": there is none; of a tuple of names, a table has one
    destination: Column = None
    layer: Column = None  # without it, all edges are in the layer "edges"
    weight: Column = None
    time: Column = None
    source_type: Column = None
    destination_type: Column = None
    directed: bool | None = None  # None: as the file, its side note or the column Type of Gephi says, or undirected
    num_nodes: int | None = None  # the nodes are 0 to num_nodes-1
    wide: bool = False  # whether each column of numbers, or of yes and no, is a layer
    matrix: bool = False  # whether tables are adjacency matrices, with names of nodes in the first row and column
    header: bool = True  # whether the first row has the column names; if not, they are "1", "2", ...
    delimiter: str | None = None
    decimal: str | None = None  # "." or ","
    thousands: str | None = None  # ".", ",", " " or "'"
    date_format: str | None = None  # the order "dmy", "mdy" or "ymd", or a format as "%d.%m.%Y"
    encoding: str | None = None  # None: UTF-8, UTF-16 or, if it is neither, Windows-1252
    sheet: str | None = None  # of an Excel file; None: the first one
    missing: str = "error"  # "error" refuses empty cells, "drop" leaves out rows without a node or layer
    bipartite: bool | None = None  # whether source and destination are two kinds of nodes, each with its own ids
    fold_case: bool = False  # whether names that differ only by case or spaces are the same
    max_size: int | None = None  # bytes a file may grow to; None: 64 MiB, or 100 times its size if that is more

    def __post_init__(self) -> None:
        check_num_nodes(self.num_nodes)
        check_max_size(self.max_size)
        _check_encoding(self.encoding)
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\r\n"'):
            raise InputError(f"Expected one character as delimiter, got {self.delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"Expected decimal to be '.' or ',', got {self.decimal!r}.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            listed = ", ".join(map(repr, THOUSANDS))
            raise InputError(f"Expected thousands to be one of {listed}, got {self.thousands!r}.")
        if self.thousands is not None and self.thousands == self.decimal:
            raise InputError(f"Expected thousands other than decimal, got {self.thousands!r} for both.")
        if self.date_format is not None and self.date_format not in ORDERS and "%" not in self.date_format:
            known = ", ".join(ORDERS)
            raise InputError(f"Expected date_format {known} or such as %d.%m.%Y, got {self.date_format!r}.")
        check_choice("missing", self.missing, MISSING)
        if self.wide and self.matrix:
            raise InputError("Expected either wide= or matrix=, got both.")

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are given, by role."""
        return {role: name for role in EDGE_ROLES if (name := getattr(self, role)) is not None}


OPTIONS = tuple(each.name for each in fields(TableOptions))


def by_role(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which roles have their own names."""
    for word, role in ALSO.items():
        if word in options and role in options:
            raise InputError(f"Expected either {word}= or {role}=, got both.")
    return {ALSO.get(name, name): value for name, value in options.items()}


def check_max_size(max_size: int | None) -> None:
    """Refuse a limit that is no size."""
    if max_size is not None and (isinstance(max_size, bool) or not isinstance(max_size, int) or max_size < 1):
        raise InputError(f"Expected max_size in bytes, got {max_size!r}.")


def _check_encoding(encoding: str | None) -> None:
    try:
        known = codecs.lookup(encoding or "utf-8")
        "".encode(known.name)
        text = known.name not in _NO_TEXT
    except (LookupError, UnicodeError):
        text = False
    if not text:
        raise InputError(f"Expected encoding to be one that Python knows, such as utf-8, got {encoding!r}.")
