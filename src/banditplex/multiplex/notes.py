"""Notes on how data are read: what was guessed, merged or left out. They are warnings, and are kept with the data."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from banditplex.terminal import warn

KEY = "reading_notes"  # the entry of `Multiplex.metadata` with the notes, a list of strings
COLUMNS = "reading_columns"  # the entry with the columns of a table, by role
SHOWN = 5  # names in a note; of more it says how many
_lists: ContextVar[tuple[tuple[list[str], bool], ...]] = ContextVar("notes", default=())


class Quiet(str):
    """A note that is no warning: it says what anybody would expect."""


def note(message: str, *, quiet: bool = False) -> None:
    """Warn the caller of the library, and add the message to the notes that are collected; `quiet` only adds it."""
    for found, silent in reversed(_lists.get()):
        found.append(Quiet(message) if quiet else message)
        if silent:
            return
    if not quiet:
        warn(message)


@contextmanager
def collected(*, silent: bool = False) -> Iterator[list[str]]:
    """Collect the notes of what is read inside; with `silent`, nobody else hears of them."""
    found: list[str] = []
    before = _lists.set((*_lists.get(), (found, silent)))
    try:
        yield found
    finally:
        _lists.reset(before)


def notes_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the notes in the metadata of a multiplex; none if a file has something else there."""
    found = metadata.get(KEY)
    return [str(each) for each in found if isinstance(each, str)] if isinstance(found, list | tuple) else []


def columns_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the table that a multiplex was read from, by role; none if there was no table."""
    found = metadata.get(COLUMNS)
    known = found.items() if isinstance(found, Mapping) else ()
    return {str(role): name for role, name in known if isinstance(name, str)}


def tell_together(notes: Mapping[object, list[str]]) -> None:
    """Tell the notes on several files; what is said of more than one is said once."""
    files: dict[tuple[str, bool], list[str]] = {}
    for path, messages in notes.items():
        for message in messages:
            key = message.removeprefix(f"{path}: "), isinstance(message, Quiet)
            files.setdefault(key, []).append(str(path))
    for (message, quiet), paths in files.items():
        note(f"{show_files(paths)}: {message}", quiet=quiet)


def show_names(names: Sequence[object], counts: Sequence[int] | None = None) -> str:
    """Return names for a message, each with its count in brackets: the first of many, and how many more there are.

    >>> show_names(["a", 7], [0, 12]), show_names(range(9))
    ("'a' (0), 7 (12)", '0, 1, 2, 3, 4 and 4 more')
    """
    shown = [repr(name) if counts is None else f"{name!r} ({counts[at]:,})" for at, name in enumerate(names[:SHOWN])]
    return ", ".join(shown) + f" and {len(names) - SHOWN:,} more" * (len(names) > SHOWN)


def show_files(paths: list[str]) -> str:
    """Return the names of files for a message, the first of many."""
    return ", ".join(paths) if len(paths) < 4 else f"{paths[0]} and {len(paths) - 1} more files"
