"""Numbers as spreadsheets write them: decimal commas, thousands separators."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from banditplex.arrays import Bools
from banditplex.errors import InputError
from banditplex.multiplex.cells import Origin, wrong_cell
from banditplex.multiplex.spelling import is_text

THOUSANDS = {".": ".", ",": ",", " ": " \u00a0\u2009\u202f", "'": "'\u2019"}
"""Separators of thousands, and the characters that each stands for."""
POINTS = {".": "decimal points", ",": "decimal commas"}
_NAMES = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes"}
_HINT = "; missing='drop' reads empty cells as 1"


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
        raise _doubt(tokens, origin)
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


def _doubt(tokens: pa.ChunkedArray, origin: Origin) -> InputError:
    """Return an error about numbers such as 1,234, which may be 1234 or 1.234."""
    row = int(np.argmax(np.asarray(pc.match_substring(tokens, ","))))
    got = tokens[row].as_py()
    which = f"{got.replace(',', '')} or {got.replace(',', '.')}"
    hint = "thousands=',' or decimal=',' says which"
    return origin.error(f"expected a number as {origin.show('weight')}, got {got!r}, which may be {which}; {hint}", row)
