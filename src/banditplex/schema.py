"""One check for everything that is read from JSON: types, keys, ranges, sizes and depth, before any of it is used.

A schema is written as the value it describes: a type, a `Kind` (a phrase and a test), `[kind]` for a list of a kind and
`[kind, 3]` for one of three values, `{"name": kind, "name?": kind}` for an object with these keys (optional ones end in
"?"; "*" stands for all others), or a tuple of alternatives.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from banditplex.errors import FormatError, InputError

DEPTH = 32  # how deep values may be nested where a schema allows anything
SHOWN = 40  # values are cut off after this many characters in errors
Schema = Any


@dataclass(frozen=True)
class Kind:
    """A kind of value: how an error calls it, and a test."""

    phrase: str
    test: Callable[[Any], bool]


PLAIN = {str: "a string", int: "an integer", bool: "true or false", type(None): "null"}
LARGEST = sys.float_info.max


def number(low: float = -LARGEST, high: float = LARGEST, *, phrase: str = "") -> Kind:
    """Return the kind of numbers from `low` to `high`; integers that no float can hold are none."""
    return Kind(phrase or f"a number from {low:g} to {high:g}", lambda v: type(v) in (int, float) and low <= v <= high)


NUMBER = number(phrase="a finite number")
ANY_NUMBER = Kind("a number", lambda value: type(value) is float or NUMBER.test(value))
SHA256 = Kind("a SHA-256", lambda value: type(value) is str and len(value) == 64)


def whole(low: int = 0, high: int = 2**63 - 1) -> Kind:
    """Return the kind of integers from `low` to `high`."""
    phrase = f"an integer from {low} to {high}" if high < 2**63 - 1 else f"an integer of at least {low}"
    return Kind(phrase, lambda value: type(value) is int and low <= value <= high)


def one_of(*values: Any) -> Kind:
    """Return the kind that consists of a few values."""
    phrase = " or ".join(map(repr, values))
    return Kind(phrase, lambda value: any(type(value) is type(each) and value == each for each in values))


def _are_names(value: Any) -> bool:
    if type(value) is not list:
        return False
    kinds = set(map(type, value))
    return kinds <= {str} or (kinds == {int} and bool(min(value) >= -(2**63) and max(value) < 2**63))


NAMES = Kind("a list of names, all strings or all integers", _are_names)
DISTINCT_NAMES = Kind(
    NAMES.phrase.replace("of", "of distinct"), lambda value: _are_names(value) and len(set(value)) == len(value)
)
NAME = Kind("a string or an integer", lambda value: _are_names([value]))


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH):
        if not level:
            return True
        inside: Iterable[Any] = (each.values() if isinstance(each, Mapping) else each for each in level)
        level = [one for each in inside for one in each if isinstance(one, list | tuple | Mapping)]
    return not level


ANYTHING = Kind(f"values nested at most {DEPTH} deep", lambda value: _is_shallow([value]))


def parse(text: str | bytes, schema: Schema, *, path: object = None, line: int | None = None, what: str = "") -> Any:
    """Return JSON from a file that follows a schema; refuse all else, whatever it is, in one line.

    `what` says where in the file it stands, such as "the metadata 'banditplex'".

    >>> parse('{"nodes": 7}', {"nodes": NAMES}, path="note.json")
    Traceback (most recent call last):
    banditplex.errors.FormatError: note.json: expected a list of names, all strings or all integers as nodes, got 7
    """
    place = f" in {what}" if what else ""
    try:
        decoded = text if isinstance(text, str) else text.decode()
        value = json.loads(decoded)
        if "\\ud" in decoded.lower():
            json.dumps(value, ensure_ascii=False).encode()  # a surrogate without its other half
    except RecursionError:
        raise _error(f"expected JSON{place} with at most {DEPTH} levels, got more", path, line) from None
    except UnicodeError:
        raise _error(f"expected JSON in UTF-8{place}, got another encoding", path, line) from None
    except json.JSONDecodeError as error:
        number = error.lineno if line is None and not what else line
        raise _error(f"expected JSON{place}, got: {error.msg}", path, number) from None
    except ValueError as error:  # an integer with thousands of digits
        raise _error(f"expected JSON{place}, got: {error}", path, line) from None
    check(value, schema, path=path, line=line, what=what)
    return value


def check(value: Any, schema: Schema, *, path: object = None, line: int | None = None, what: str = "") -> None:
    """Refuse a value that does not follow a schema."""
    found = mismatch(value, schema)
    if found is not None:
        where, expected, got = found
        place = " of ".join(filter(None, (where, what)))
        raise _error(f"expected {expected}{' as ' * bool(place)}{place}, got {got}", path, line)


def check_version(found: Any, newest: int, *, path: object, what: str = "format") -> None:
    """Refuse a version that is no number, or newer than this banditplex."""
    if type(found) is not int or found < 1:
        raise _error(f"expected the number of a {what} version, got {show(found)}", path, None)
    if found > newest:
        message = f"expected {what} version {newest} or older, got {found}: a newer banditplex wrote it"
        raise _error(message, path, None)


def mismatch(value: Any, schema: Schema, where: str = "") -> tuple[str, str, str] | None:
    """Return where a value first differs from a schema, what was expected there, and what came; None if nowhere."""
    if isinstance(schema, tuple):
        found = [mismatch(value, each, where) for each in schema]
        if None in found:
            return None
        deeper = next((each for each in found if each is not None and each[0] != where), None)
        return deeper or (where, " or ".join(each[1] for each in found if each is not None), show(value))
    if isinstance(schema, list):
        return _list_mismatch(value, schema[0], where, *schema[1:])
    if isinstance(schema, Mapping):
        return _object_mismatch(value, schema, where)
    if isinstance(schema, Kind):
        return None if schema.test(value) else (where, schema.phrase, show(value))
    return None if type(value) is schema else (where, PLAIN[schema], show(value))


def _list_mismatch(value: Any, kind: Schema, where: str, length: int | None = None) -> tuple[str, str, str] | None:
    if not isinstance(value, list | tuple):
        return where, "a list", show(value)
    alike = isinstance(kind, type) and set(map(type, value)) <= {kind}  # in one go where they may be many
    places = enumerate(() if alike else value)
    found = next((found for i, each in places if (found := mismatch(each, kind, f"{where}[{i}]"))), None)
    return found if length in (None, len(value)) else found or (where, f"a list of {length}", show(value))


def _object_mismatch(value: Any, schema: Mapping[str, Schema], where: str) -> tuple[str, str, str] | None:
    if not isinstance(value, Mapping):
        return where, "an object", show(value)
    kinds = {name.removesuffix("?"): kind for name, kind in schema.items() if name != "*"}
    for name in schema:
        if name != "*" and not name.endswith("?") and name not in value:
            return where, f"an entry {name!r}", "none"
    for name, each in value.items():
        kind = kinds.get(name, schema.get("*"))
        if kind is None:
            return where, f"only the entries {', '.join(map(repr, kinds))}", show(name)
        found = mismatch(each, kind, f"{where}.{name}" if where else str(name))
        if found is not None:
            return found
    return None


def show(value: Any) -> str:
    """Return a value for an error: short, in one line, containers by their kind."""
    if isinstance(value, list | tuple | Mapping):
        return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value)}"
    text = f"an integer of {value.bit_length()} bits" if type(value) is int and abs(value) >= 2**128 else repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _error(message: str, path: object, line: int | None) -> InputError:
    return InputError(message) if path is None else FormatError(message, path=path, line=line)
