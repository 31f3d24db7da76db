"""Write columns as lines of text."""

import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from banditplex.errors import InputError

_ROWS = 1 << 20  # rows written at once


def write_rows(file: BinaryIO, columns: Sequence[Any], delimiter: str) -> None:
    """Write columns (arrays of strings or numbers) as lines of delimited fields; numbers are exact."""
    for start in range(0, len(columns[0]), _ROWS):
        fields = [pc.cast(pa.array(column[start : start + _ROWS]), pa.string()) for column in columns]
        lines = pc.binary_join_element_wise(*fields, delimiter)
        lines = pc.binary_join_element_wise(lines, "", "\n")
        file.write(lines.buffers()[2])  # the characters of all lines


def as_strings(names: Sequence[Any]) -> pa.Array:
    """Return names as strings."""
    return pa.array([str(name) for name in names], pa.string())


def refuse_names(names: Sequence[Any], pattern: str, what: str, because: str) -> None:
    """Refuse names that match `pattern`."""
    wrong = next((name for name in names if re.search(pattern, str(name))), None)
    if wrong is not None:
        raise InputError(f"Expected names that the format can store, got the {what} name {wrong!r}: {because}.")
