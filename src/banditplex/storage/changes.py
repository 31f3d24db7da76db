"""Compare the settings and data of a run with those it started with."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from banditplex.errors import InputError

SHOWN = 5
"""How many changes an error lists."""
LONG = 40
"""Values are cut off after this many characters."""
ABSENT = object()


def differences(before: Mapping[str, Any], now: Mapping[str, Any], *, within: str = "") -> Iterator[str]:
    """Describe how two mappings differ, one line per entry.

    >>> list(differences({"seed": 0, "data": {"edges": 5}}, {"seed": 1, "data": {"edges": 6}}))
    ['seed was 0, now 1', 'data edges was 5, now 6']
    >>> list(differences({"options": None, "b": {"x": 1}}, {"options": {"k": 2}, "c": {"x": 1}}))
    ['options k was not given, now 2', 'b was given, now not given', 'c was not given, now given']
    """
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name, ABSENT), now.get(name, ABSENT)
        if old == new:
            continue
        if all(value is None or isinstance(value, Mapping) for value in (old, new)) and (old or new):
            yield from differences(old or {}, new or {}, within=f"{within}{name} ")
        else:
            was, is_now = _shown(old), _shown(new)
            yield f"{within}{name} " + ("has changed" if was == is_now else f"was {was}, now {is_now}")


def check_same(path: Path, changes: Iterable[str]) -> None:
    """Refuse to resume the run stored at `path` if there are any changes."""
    found = list(changes)
    if found:
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        listed = "; ".join(found[:SHOWN] + more)
        raise InputError(f"{path}: expected the settings and data of this run, got changes: {listed}.")


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "not given"
    if isinstance(value, Mapping) and value:
        return "given"
    text = repr(value)
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."
