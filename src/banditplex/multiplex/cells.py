"""Cells of a table with one row per edge: where they are from, which are missing; names that are numbers, or alike."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.arrays import Bools, Ints
from banditplex.errors import FormatError, InputError
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


NOT_AVAILABLE = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")
MISSING = ("error", "drop")  # empty cells are refused; or rows without node or layer are left out, and others filled
FILLED = {"weight": "1", "time": "the earliest time"}  # what an edge is taken to have if a cell is empty
_KINDS = {"source": "a node name", "destination": "a node name", "layer": "a layer name", "weight": "a number"}


@dataclass(frozen=True)
class Origin:
    """Where a table comes from, for error messages.

    `columns` maps roles to the column names of the file. `line_of` maps rows to lines; without it, errors name the
    row, counted from 1. `kept` has the rows of the file that are left in the table, None if all are. Of several tables
    in one, `part_of` maps rows to the origin of their table and to the row in it.
    """

    path: object
    columns: Mapping[str, str]
    line_of: Callable[[int], int] | None = None
    kept: Ints | None = None
    part_of: "Callable[[int], tuple[Origin, int]] | None" = None

    def error(self, message: str, row: int, role: str | None = None) -> FormatError:
        """Return an error about `row`, or about one of its columns."""
        if self.part_of is not None:
            part, row = self.part_of(row)
            return part.error(message, row, role)
        column = None if role is None else self.columns[role]
        return FormatError(message, path=self.path, column=column, **self._place(row))

    def show(self, role: str) -> str:
        """Return a role, with the name of its column if that differs."""
        return role if self.columns[role] == role else f"{role} (column {self.columns[role]!r})"

    def where(self, row: int) -> str:
        """Return the place of a row in words, such as "line 3"."""
        if self.part_of is not None:
            part, row = self.part_of(row)
            return f"{part.where(row)} of {part.path}"
        return " ".join(f"{kind} {number}" for kind, number in self._place(row).items())

    def _place(self, row: int) -> dict[str, int]:
        row = row if self.kept is None else int(self.kept[row])
        return {"row": row + 1} if self.line_of is None else {"line": self.line_of(row)}


def in_all(count: int) -> str:
    """Return how many rows are like the one that an error shows."""
    return f" ({count:,} such rows in all)" if count > 1 else ""


def wrong_cell(
    wrong: Bools, tokens: pa.ChunkedArray, expected: str, role: str, origin: Origin, if_many: str, hint: str = ""
) -> FormatError:
    """Return an error about the first cell that is marked as wrong, with another hint if there are more of them."""
    row, count = int(np.argmax(wrong)), int(wrong.sum())
    got = tokens[row].as_py()
    more = in_all(count) + hint + if_many * (count > 1 or got in NOT_AVAILABLE)
    return origin.error(f"expected {expected} as {origin.show(role)}, got {got!r}{more}", row)


def from_series(columns: Mapping[str, pd.Series]) -> pa.Table:
    """Return columns of pandas as a table of Arrow."""
    arrays = {}
    for role, column in columns.items():
        try:
            arrays[role] = pa.chunked_array([pa.array(column, from_pandas=True)])
        except OverflowError:
            got = f"a larger one in column {column.name!r}"
            raise InputError(f"Expected {role}s of at most 64 bits, got {got}.") from None
        except (pa.ArrowException, UnicodeEncodeError):
            kinds = " and ".join(sorted({type(value).__name__ for value in column}))
            expected = "strings or integers" if role in _KINDS and role != "weight" else "numbers"
            raise InputError(f"Expected {expected} as {role}, got {kinds} in column {column.name!r}.") from None
    return pa.table(arrays)


# Cells that are missing


def leave_out_missing(table: pa.Table, origin: Origin, missing: str, *, blank: str = "") -> tuple[pa.Table, Origin]:
    """Refuse empty cells, or drop rows without node or layer and fill others (`MISSING`); `blank`: see `read_cells`."""
    found = {role: _empty(table[role], blank=blank, drop=missing == "drop") for role in table.column_names}
    empty = {role: mask for role, mask in found.items() if mask is not None and mask.any()}
    if missing == "error" and empty:
        role = min(empty, key=lambda each: int(np.argmax(empty[each])))
        alike = [mask for each, mask in empty.items() if FILLED.get(each) == FILLED.get(role)]
        what = f"reads such cells as {FILLED[role]}" if role in FILLED else "leaves such rows out"
        more = f"{in_all(int(np.any(alike, axis=0).sum()))}; missing='drop' {what}"
        expected = f"expected {_KINDS.get(role, 'a value')} as {origin.show(role)}"
        raise origin.error(f"{expected}, got an empty cell{more}", int(np.argmax(empty[role])))
    bad = {role: mask for role, mask in empty.items() if role not in FILLED}
    if bad:
        role, wrong = min(bad, key=lambda each: int(np.argmax(bad[each]))), np.any(list(bad.values()), axis=0)
        share = f"{int(wrong.sum()):,} of {len(table):,} rows left out, as a cell is empty"
        where = f"the first is {origin.where(int(np.argmax(wrong)))}, column {origin.columns[role]!r}"
        note(f"{place(origin.path)}{share}; {where}.")
        kept = np.flatnonzero(~wrong)
        table, origin = table.take(kept), replace(origin, kept=kept if origin.kept is None else origin.kept[kept])
        empty = {role: mask[~wrong] for role, mask in empty.items()}
    for role in FILLED:
        if role in empty and empty[role].any():
            table = _filled(table, role, empty[role], origin)
    return table, origin


def _filled(table: pa.Table, role: str, empty: Bools, origin: Origin) -> pa.Table:
    """Return a table whose empty weights are 1, and empty times the earliest one; if all are empty, without them."""
    count, rows, where = int(empty.sum()), len(table), origin.where(int(np.argmax(empty)))
    said = f"{count:,} of {rows:,} rows have no {role} (column {origin.columns[role]!r})"
    if count == rows:
        note(f"{place(origin.path)}{said}, so the column is not used.")
        return table.drop_columns([role])
    note(f"{place(origin.path)}{said}, which is read as {FILLED[role]}; the first is {where}.")
    column = table[role].cast(table[role].type.value_type) if pa.types.is_dictionary(table[role].type) else table[role]
    value = pa.scalar(None, column.type)
    if role == "weight":
        value = pa.scalar("1" if is_text(column.type) else 1, column.type)
    column = pc.if_else(pa.array(empty), value, column)
    return table.set_column(table.column_names.index(role), role, column if is_text(column.type) else earliest(column))


def earliest(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times with the earliest in place of those that are not known."""
    return pc.fill_null(times, pc.min(times)) if times.null_count else times


def _empty(column: pa.ChunkedArray, *, blank: str, drop: bool) -> Bools | None:
    """Return which cells of a column are missing; None if this is quickly known."""
    text = is_text(column.type)
    if pa.types.is_dictionary(column.type) and (drop or blank):
        column = column.cast(column.type.value_type)
    found = column.is_null()
    if drop and text:
        found = pc.or_(found, pc.is_in(pc.utf8_trim_whitespace(column), pa.array(NOT_AVAILABLE, column.type)))
    elif text and blank:
        found = pc.or_(found, pc.equal(pc.binary_length(column), 0))
        found = pc.or_(found, pc.utf8_is_space(column)) if blank == "spaces" else found
    elif drop and pa.types.is_floating(column.type):
        found = pc.or_(found, pc.is_nan(column))
    elif not column.null_count:
        return None
    return np.asarray(pc.fill_null(found, True), np.bool_)


# Names of nodes and layers


def integer_names(
    table: pa.Table, roles: tuple[str, ...], origin: Origin, *, text: bool = False, decimal: str = "."
) -> pa.Table:
    """Turn columns of names into integers if all are whole numbers; say so if some are written as 123.0.

    Strings are looked at only if they are cells of a text file (`text`): there, 007 and +7 stay strings, and spaces
    around names are left out. Where other names are no numbers, 123.0 becomes 123 if that is a name, too.
    """
    columns = {role: table[role] for role in roles if role in table.column_names}
    if not any(_is_open(column, text) for column in columns.values()):
        return table
    found = {role: _as_whole(each, decimal) if _is_open(each, text) else (each, "") for role, each in columns.items()}
    if not all(pa.types.is_integer(column.type) for column, _ in found.values()):
        return _tidy_strings(table, roles, origin, decimal) if text else table
    for role, (column, _) in found.items():
        table = table.set_column(table.column_names.index(role), role, column)
    for role, odd in [(role, odd) for role, (_, odd) in found.items() if odd][:1]:
        shown = f"ids such as {odd} in column {origin.columns[role]!r} are read as integers"
        whole = odd.replace(",", ".").partition(".")[0]
        note(f"{place(origin.path)}{shown}: {odd} and {whole} are the same {_KINDS[role].split()[1]}.")
    return table


def _tidy_strings(table: pa.Table, roles: tuple[str, ...], origin: Origin, decimal: str) -> pa.Table:
    """Leave out spaces around names; write names such as 123.0 as 123 if one of them is there in both forms."""
    table, changed = tidy_names(table, roles, origin.path)
    columns = {role: table[role] for role in roles if role in table.column_names and is_text(table[role].type)}
    if changed:  # they may be integers now
        for role, column in columns.items():
            table = table.set_column(table.column_names.index(role), role, column.cast(pa.string()))
        return integer_names(table, roles, origin, text=True, decimal=decimal)
    pattern, names = rf"^(0|-?[1-9][0-9]*){_zeros(decimal)}$", distinct(columns.values())
    odd = names.filter(pc.fill_null(pc.match_substring_regex(names, pattern), False))
    both = odd.filter(pc.is_in(pc.replace_substring_regex(odd, pattern, r"\1"), names))
    if not len(both):
        return table
    for role, column in columns.items():
        whole = recoded(column, lambda each: pc.replace_substring_regex(each, pattern, r"\1"))
        table = table.set_column(table.column_names.index(role), role, whole)
    odd_name = both[0].as_py()
    more = f" ({len(both):,} such names in all)" if len(both) > 1 else ""
    whole_name = re.split("[.,]", odd_name)[0]
    note(f"{place(origin.path)}{odd_name} and {whole_name} are read as the same name{more}.")
    return table


def _is_open(column: pa.ChunkedArray, text: bool) -> bool:
    """Return whether names of a column may have to be turned into integers."""
    return len(column) > 0 and (pa.types.is_floating(column.type) or (text and pa.types.is_string(column.type)))


def _as_whole(column: pa.ChunkedArray, decimal: str) -> tuple[pa.ChunkedArray, str]:
    """Return a column as integers if all of its values are whole numbers, else as it is; and one written as 123.0."""
    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        whole = np.isfinite(values).all() and (values == np.floor(values)).all() and (np.abs(values) < 2**53).all()
        return (pa.chunked_array([values.astype(np.int64)]), str(column[0])) if whole else (column, "")
    pattern = rf"^(0|-?[1-9][0-9]*){_zeros(decimal)}?$"
    if not _all_match(column.slice(0, 1000), pattern):  # a failing cast is slow: look at a few first
        return column, ""
    try:
        plain = column.cast(pa.int64())
        if plain.cast(pa.string()).equals(column):
            return plain, ""
    except pa.ArrowInvalid:
        pass
    if not _all_match(column, pattern):
        return column, ""
    try:
        whole = pc.replace_substring_regex(column, rf"{_zeros(decimal)}$", "").cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits
        return column, ""
    return whole, str(column[pc.index(pc.match_substring_regex(column, "[.,]"), True).as_py()])


def _zeros(decimal: str) -> str:
    """Return the pattern of zeros after the decimal point of a whole number.

    Programs write ids as 123.0 in files whose numbers have decimal commas, too; three zeros there may be thousands.
    """
    return "([.]0+)" if decimal == "." else f"([{decimal}]0+|[.]00?)"


def _all_match(column: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(column, pattern)).as_py())


def tell_odd_names(names: Names, path: object) -> None:
    """Say if a node has the name of a missing value."""
    odd = sorted(set(NOT_AVAILABLE[1:]).intersection(names.tolist())) if names.dtype == object else []
    if odd:
        note(f"{place(path)}{', '.join(map(repr, odd))} is read as a node; missing='drop' leaves such rows out.")
