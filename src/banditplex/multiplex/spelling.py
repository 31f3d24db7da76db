"""Names that look the same: spaces around them, Unicode forms, upper and lower case."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.arrays import Ints
from banditplex.multiplex.names import Names
from banditplex.multiplex.notes import note
from banditplex.multiplex.roles import place


def tidy(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return names without spaces around them, in the composed form of Unicode (NFC)."""
    return pc.utf8_normalize(pc.utf8_trim_whitespace(names), "NFC")


def encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of strings as indices into one dictionary of names."""
    column = column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
    column = column.dictionary_encode()
    first = column.chunk(0).dictionary if column.num_chunks else None
    return column if all(each.dictionary.equals(first) for each in column.chunks) else column.unify_dictionaries()


def recoded(column: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """Return an encoded column with changed names; several may then be the same."""
    names = [change(each.dictionary) for each in column.chunks[:1]]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(each.indices, names[0]) for each in column.chunks])


def distinct(columns: Iterable[pa.ChunkedArray]) -> pa.Array:
    """Return the names in encoded columns."""
    return pa.chunked_array([column.chunk(0).dictionary.cast(pa.string()) for column in columns], pa.string()).unique()


def tidy_names(table: pa.Table, roles: Sequence[str], path: object) -> tuple[pa.Table, bool]:
    """Encode columns of names that are strings, apply `tidy`, and say what was changed; also whether anything was."""
    columns = {role: table[role] for role in roles if role in table.column_names}
    columns = {role: encoded(column) for role, column in columns.items() if len(column) and is_text(column.type)}
    names = distinct(columns.values()) if columns else pa.array([], pa.string())
    trimmed, tidied = pc.utf8_trim_whitespace(names), tidy(names)
    spaced = names.filter(pc.fill_null(pc.not_equal(names, trimmed), False))
    composed = names.filter(pc.fill_null(pc.not_equal(trimmed, tidied), False))
    what = "layer" if "layer" in columns else "node"
    if len(spaced):
        note(f"{place(path)}spaces around {_count(len(spaced), what)} are left out, as in {spaced[0].as_py()!r}.")
    if len(composed):
        shown = f"the Unicode of {_count(len(composed), what)} is composed (NFC)"
        note(f"{place(path)}{shown}, as in {tidy(composed)[0].as_py()!r}.")
    changed = bool(len(spaced) or len(composed))
    for role, column in columns.items():
        column = recoded(column, tidy) if changed else column
        table = table.set_column(table.column_names.index(role), role, column)
    return table, changed


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column has strings, encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what} name{'s' * (number > 1)}"


def folded(names: Names) -> pa.Array:
    """Return names in lower case, with single spaces inside: alike names are the same."""
    lower = pc.replace_substring(pc.utf8_lower(pa.array(names, pa.string())), "ß", "ss")
    return pc.replace_substring_regex(lower, r"\s+", " ")


def merge_alike(names: Names, codes: Ints, what: str, path: object, *, fold: bool) -> tuple[Names, Ints]:
    """Merge names that differ only by case or by spaces inside (`fold`), or say that there are such names.

    The most frequent spelling is kept. `codes` are indices of names; returned are the names, sorted, and their indices.
    """
    if names.dtype != object or len(names) < 2:
        return names, codes
    encoded = folded(names).dictionary_encode()
    if len(encoded.dictionary) == len(names):
        return names, codes
    key = np.asarray(encoded.indices, np.int64)
    order = np.lexsort((-np.bincount(codes.ravel(), minlength=len(names)), key))  # stable: ties in order of the names
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    kept = order[first]
    group = int(np.argmax(np.diff(np.append(first, len(order))) > 1))
    shown = [names[each] for each in order[first[group] : first[group] + 2]]
    count = len(names) - len(kept)
    if not fold:
        differ = f"{_count(count, what)} differ{'s' * (count == 1)} from another only by case or spaces"
        hint = f"they are different {what}s; fold_case=True merges them"
        note(f"{place(path)}{differ}, as {shown[1]!r} from {shown[0]!r}: {hint}.")
        return names, codes
    note(f"{place(path)}{_count(count, what)} merged with another spelling, as {shown[1]!r} with {shown[0]!r}.")
    rank = np.empty(len(kept), np.int64)
    sorting = np.argsort(names[kept])
    rank[sorting] = np.arange(len(kept))
    return names[kept][sorting], rank[key][codes]
