"""Tables of what can be chosen by name: policies, formats, data sets, relevances."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

from banditplex.errors import InputError

T = TypeVar("T")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse the value of a parameter that is not one of its choices."""
    if value not in (known := list(choices)):
        raise InputError(f"Expected {name} to be one of {', '.join(known)}, got {value!r}.")


class Registry(dict[str, T]):
    """A table from names to things, in order of registration, that refuses duplicates and lists what it knows.

    >>> colours: Registry[int] = Registry("colour")
    >>> colours.add("red", 0xFF0000)
    >>> colours["red"]
    16711680
    >>> colours["rde"]
    Traceback (most recent call last):
    banditplex.errors.InputError: Unknown colour 'rde'; did you mean 'red'? Known: red.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def add(self, name: str, thing: T) -> None:
        """Enter `thing` under `name`, which must be free."""
        if name in self:
            raise ValueError(f"Expected a new {self._kind} name, got {name!r}, which is registered already.")
        self[name] = thing

    def __missing__(self, name: str) -> T:
        close = get_close_matches(str(name), self, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InputError(f"Unknown {self._kind} {name!r}{hint} Known: {', '.join(self)}.")
