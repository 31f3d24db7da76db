"""Numbers and dates as spreadsheets write them: decimal commas, separators of thousands, 19.09.2025 or 04/25/2025."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.arrays import Bools, Ints
from banditplex.errors import InputError
from banditplex.multiplex.cells import Origin, earliest, is_text, wrong_cell
from banditplex.multiplex.notes import collected, note
from banditplex.multiplex.roles import filled_texts, place

THOUSANDS = {".": ".", ",": ",", " ": " \u00a0\u2009\u202f", "'": "'\u2019"}  # each with the characters it stands for
POINTS = {".": "decimal points", ",": "decimal commas"}
_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}
_HINT = "; missing='drop' reads empty cells as 1"
ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day"}
_TIME_HINT, _FORM = "; time='' ignores the column", "; date_format='%d-%b-%Y' reads dates such as 19-Sep-2025"
_DATE = (
    r"^\s*(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})[./-](?P<c>\d{1,4})"
    r"(?:[T,]?\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp])?(?:\.?[Mm]\.?)?)?\s*$"
)
_PIVOT = 69  # years of two digits from here on are in the 1900s, others in the 2000s, as in POSIX


class Spelling(NamedTuple):
    """How numbers are written: the decimal point, and what is between thousands ("" for nothing)."""

    point: str = "."
    thousands: str = ""

    def __str__(self) -> str:
        return POINTS[self.point] + (f" and {_NAMES[self.thousands]} between thousands" if self.thousands else "")


def with_weights(
    table: pa.Table, origin: Origin, decimal: str | None = None, thousands: str | None = None
) -> tuple[pa.Table, Spelling]:
    """Turn weights that are strings into numbers, and return how they are written."""
    if "weight" not in table.column_names or not is_text(table["weight"].type):
        return table, Spelling(decimal or ("," if thousands == "." else "."), thousands or "")
    tokens = pc.utf8_trim_whitespace(table["weight"].cast(pa.string()))
    found = {each: parsed for each in _candidates(decimal, thousands) if (parsed := _parse(tokens, each)) is not None}
    if not found:
        wrong = min((_wrong(tokens, each) for each in _candidates(decimal, thousands)), key=np.sum)
        raise wrong_cell(wrong, tokens, "a number", "weight", origin, _HINT)
    spelling = next(iter(found))
    if decimal is None and thousands is None and spelling.point == "," and Spelling(".", ",") in found:
        row = int(np.argmax(np.asarray(pc.match_substring(tokens, ","))))
        got = tokens[row].as_py()
        which = f"{got.replace(',', '')} or {got.replace(',', '.')}; thousands=',' or decimal=',' says which"
        raise origin.error(f"expected a number as {origin.show('weight')}, got {got!r}, which may be {which}", row)
    return table.set_column(table.column_names.index("weight"), "weight", found[spelling]), spelling


def is_guess(spelling: Spelling, decimal: str | None, thousands: str | None) -> bool:
    """Return whether the way numbers are written is neither usual nor given."""
    return thousands is None and bool(spelling.thousands or (spelling.point == "," and decimal is None))


def _candidates(decimal: str | None, thousands: str | None) -> list[Spelling]:
    """Return the ways to write numbers that are tried, in this order."""
    points = [point for point in (".", ",") if decimal in (None, point)]
    marks = [thousands] if thousands is not None else ["", *THOUSANDS]
    return [Spelling(point, mark) for mark in marks for point in points if mark != point]


def _parse(tokens: pa.ChunkedArray, spelling: Spelling) -> pa.ChunkedArray | None:
    """Return numbers, or None if these are none; the groups of thousands must be whole."""
    if spelling.thousands:
        if _wrong(tokens, spelling).any():
            return None
        tokens = pc.replace_substring_regex(tokens, f"[{THOUSANDS[spelling.thousands]}]", "")
    try:
        return plain_numbers(tokens, spelling.point).cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _wrong(tokens: pa.ChunkedArray, spelling: Spelling) -> Bools:
    """Return which tokens are no numbers."""
    if not spelling.thousands:
        return np.array([not is_number(token, spelling.point) for token in tokens.to_pylist()])
    marks = THOUSANDS[spelling.thousands]
    pattern = rf"^[+-]?([1-9]\d{{0,2}}([{marks}]\d{{3}})+|\d+)([{spelling.point}]\d+)?$"
    return ~np.asarray(pc.match_substring_regex(tokens, pattern), np.bool_)


def plain_numbers(tokens: pa.ChunkedArray, point: str) -> pa.ChunkedArray:
    """Return numbers with a decimal point; with decimal commas, a point makes no number."""
    if point == ".":
        return tokens
    return pc.replace_substring(pc.replace_substring(tokens, ".", "?"), ",", ".")


def is_number(token: str, point: str = ".") -> bool:
    """Return whether a text is a number."""
    try:
        float(token if point == "." else token.replace(".", "?").replace(",", "."))
    except ValueError:
        return False
    return "_" not in token


def looks_grouped(tokens: list[str]) -> str | None:
    """Return a number such as 1.234 if all that have a point look like it: it may mean 1234."""
    pointed = pa.array([token.strip() for token in tokens if "." in token], pa.string())
    grouped = len(pointed) and pc.all(pc.match_substring_regex(pointed, r"^[+-]?[1-9]\d{0,2}\.\d{3}$")).as_py()
    return str(pointed[0]) if grouped else None


# Times: numbers, ISO dates, and dates whose order is found out or given


def with_times(table: pa.Table, origin: Origin, point: str = ".", date_format: str | None = None) -> pa.Table:
    """Turn a time column of strings into integers, floats or dates."""
    if "time" not in table.column_names or not is_text(table["time"].type):
        return table
    tokens = pc.utf8_trim_whitespace(table["time"].cast(pa.string()))
    empty = tokens.is_null()
    known = tokens.drop_null()[0] if tokens.null_count else None  # stands for those that are not known
    times = _parse_times(tokens if known is None else tokens.fill_null(known), origin, point, date_format)
    if known is not None:
        times = earliest(pc.if_else(empty, pa.scalar(None, times.type), times))
    return table.set_column(table.column_names.index("time"), "time", times)


def are_readable(values: Sequence[object]) -> bool:
    """Return whether all values are times that can be read without being told how."""
    texts = filled_texts(values)
    try:
        with collected(silent=True):
            _parse_times(pa.chunked_array([texts], pa.string()), Origin(None, {"time": "time"}), ".", None)
    except InputError:
        return False
    return bool(texts)


def date_of(text: str, date_format: str | None = None) -> np.datetime64:
    """Return a date that is written as in a table."""
    with collected(silent=True):
        times = _parse_times(pa.chunked_array([[text]]), Origin(None, {"time": "time"}), ".", date_format)
    return np.datetime64(int(times[0].value), "ns")


def _parse_times(tokens: pa.ChunkedArray, origin: Origin, point: str, date_format: str | None) -> pa.ChunkedArray:
    if date_format is not None and "%" in date_format:
        return _by_format(tokens, origin, date_format)
    if date_format is None:
        for column in (tokens, plain_numbers(tokens, point)) if point == "," else (tokens,):
            for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
                try:
                    return column.cast(kind)
                except pa.ArrowInvalid:
                    continue
    dates = _in_order(tokens, origin, date_format)
    if dates is not None:
        return dates
    first = tokens[0].as_py()
    good = _is_iso if _is_iso(first) else _is_date if _is_date(first) else partial(is_number, point=point)
    wrong = np.array([not good(token) for token in tokens.to_pylist()])
    raise wrong_cell(wrong, tokens, "a number or a date such as 2024-05-01", "time", origin, _TIME_HINT, _FORM)


def _by_format(tokens: pa.ChunkedArray, origin: Origin, date_format: str) -> pa.ChunkedArray:
    try:
        found = pd.to_datetime(tokens.to_pandas(), format=date_format, errors="coerce", utc=True)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"Expected date_format as strftime knows it, got {date_format!r}: {reason}.") from None
    _refuse(found.isna().to_numpy(), tokens, f"a date of the form {date_format}", origin)
    return pa.chunked_array([pa.array(found)]).cast(pa.timestamp("ns", "UTC"))


def _in_order(tokens: pa.ChunkedArray, origin: Origin, order: str | None) -> pa.ChunkedArray | None:
    """Return dates of three numbers, or None if not all are such; each distinct one is looked at once."""
    words = tokens.combine_chunks().dictionary_encode()
    codes, parts = np.asarray(words.indices), pc.extract_regex(words.dictionary, pattern=_DATE)
    if parts.null_count or not len(parts):
        return None
    fields = {name: parts.field(name) for name in ("a", "b", "c", "mark", "hour", "minute", "second", "half")}
    a, b, c, hour, minute, second = (_whole(fields[name]) for name in ("a", "b", "c", "hour", "minute", "second"))
    widths = [np.asarray(pc.utf8_length(fields[name])) for name in ("a", "c")]
    said = order is None
    if order is None:
        points = pc.all(pc.equal(fields["mark"], ".")).as_py()
        order = _order(tokens, origin, a[codes], b[codes], widths[0][codes] > 2, points)
    day, month, year = {"dmy": (a, b, c), "mdy": (b, a, c), "ymd": (c, b, a)}[order]
    width = widths[0 if order == "ymd" else 1]
    year = np.where(width == 2, year + np.where(year < _PIVOT, 2000, 1900), year)
    wrong = (month < 1) | (month > 12) | (year < 1678) | (year > 2261)  # what 64 bits of nanoseconds hold
    start = ((np.where(wrong, 1970, year) - 1970) * 12 + np.where(wrong, 0, month - 1)).astype("datetime64[M]")
    date = start.astype("datetime64[D]") + (day - 1)
    wrong |= date.astype("datetime64[M]") != start
    late = np.asarray(pc.equal(pc.utf8_lower(fields["half"]), "p"), np.bool_)
    halves = np.asarray(pc.not_equal(fields["half"], ""), np.bool_)
    wrong |= (minute > 59) | (second > 59) | (hour > 23) | (halves & ((hour > 12) | (hour < 1)))
    _refuse(wrong[codes], tokens, f"a date ({ORDERS[order]})", origin)
    hour = np.where(halves, hour % 12 + 12 * late, hour)
    fraction = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(parts.field("fraction"), 9, "0"), 0, 9))
    seconds = (hour * 60 + minute) * 60 + second
    times = date.astype("datetime64[ns]").astype(np.int64) + seconds * 10**9 + fraction
    if said and order != "ymd":
        note(f"{place(origin.path)}dates such as {tokens[0].as_py()} are read as {ORDERS[order]}.")
    return pa.chunked_array([pa.array(times[codes]).cast(pa.timestamp("ns"))])


def _whole(column: Any) -> Ints:
    return np.asarray(pc.if_else(pc.equal(column, ""), "0", column).cast(pa.int64()), np.int64)


def _order(tokens: Any, origin: Origin, a: Any, b: Any, year_first: Bools, points: bool) -> str:
    """Return the order of day, month and year: a day above 12 settles it; with points, the day is first."""
    if year_first.any():
        _refuse(~year_first, tokens, "a date with the year first, as in others", origin)
        return "ymd"
    _refuse((a > 12) & (b > 12), tokens, "a date", origin)
    if (a > 12).any() and (b > 12).any():
        before, row = sorted((int(np.argmax(a > 12)), int(np.argmax(b > 12))))
        both = f"{tokens[row].as_py()!r}, but {tokens[before].as_py()!r} in {origin.where(before)}"
        raise origin.error(f"expected dates in one order of day and month as {origin.show('time')}, got {both}", row)
    if (b > 12).any():
        return "mdy"
    if (a > 12).any() or points:
        return "dmy"
    hint = "date_format='dmy' or date_format='mdy' says which"
    message = f"expected dates whose day and month can be told apart as {origin.show('time')}"
    raise origin.error(f"{message}, got {tokens[0].as_py()!r}, and no day is above 12; {hint}", 0)


def _refuse(wrong: Bools, tokens: pa.ChunkedArray, expected: str, origin: Origin) -> None:
    """Refuse rows that are marked as wrong."""
    if wrong.any():
        raise wrong_cell(wrong, tokens, expected, "time", origin, _TIME_HINT)


def _is_date(token: str) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(token), _DATE).as_py())


def _is_iso(token: str) -> bool:
    try:
        datetime.fromisoformat(token)
    except ValueError:
        return False
    return True
