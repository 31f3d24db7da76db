"""What a format is, and the pieces all formats share: staging, side notes, decoding."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import FormatError, InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.build import EdgeError
from banditplex.multiplex.names import Names, factorize

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")

Progress = Callable[[int, int], None]  # called with (bytes or edges done, bytes or edges in all)


def _no_content(path: Path) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A way to store a multiplex.

    Parameters
    ----------
    name, description
        What users type, and a line that says what it is.
    suffixes
        Endings of file names (with the dot, lower case) that stand for it; empty for folders.
    read
        `read(path, *, progress, **options) -> Multiplex`; `progress` may be None.
    write
        `write(mx, path, **options)`; `path` does not exist yet and lies in an empty folder of its own: whatever is
        written there moves to its final place in one go once `write` returns.
    holds
        What it can hold besides edges, of "weight", "time" and "features"; the rest is refused or, on request, dropped.
        Names, directedness and isolated nodes are always held, in a side note if need be.
    matches
        Looks into a file or folder whose name does not settle it.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    read: Callable[..., Multiplex]
    write: Callable[..., None]
    holds: frozenset[str] = frozenset()
    matches: Callable[[Path], bool] = _no_content


def begins_with(path: Path, pattern: bytes) -> bool:
    """Say whether `pattern` is found in the first 64 KiB of a file; folders have no content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.search(pattern, file.read(1 << 16), re.MULTILINE) is not None


@contextmanager
def staged(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a path of the same name in a fresh folder; on success everything written there moves beside `path`.

    Nothing is left half-written: on an error the folder vanishes, and what stood at `path` before still stands.
    """
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        yield Path(folder) / path.name
        made = sorted(Path(folder).iterdir(), key=lambda each: each.name == path.name)  # the file itself last
        places = [path.parent / each.name for each in made]
        stale = side_note_path(path)  # a note that an earlier file left, and that does not hold for this one
        for place in (*places, stale):
            if place.exists() and not overwrite:
                raise InputError(f"{place}: expected a new path, got an existing one; overwrite=True replaces it.")
        for new, place in zip(made, places, strict=True):
            _check_replaceable(new, place)
        for new, place in zip(made, places, strict=True):
            _replace(new, place)
        if stale not in places:
            stale.unlink(missing_ok=True)


def _check_replaceable(new: Path, old: Path) -> None:
    """Refuse to replace a folder by a file, or a folder that holds other kinds of things than the new one."""
    if not old.is_dir():
        return
    if not new.is_dir():
        raise InputError(f"{old}: expected a file to replace, got a folder.")
    endings = {each.suffix for each in new.iterdir()}
    foreign = sorted(each.name for each in old.iterdir() if each.is_dir() or each.suffix not in endings)
    if foreign:
        raise InputError(f"{old}: expected only files that the new folder replaces, got {foreign[0]!r}; move it first.")


def _replace(new: Path, old: Path) -> None:
    if old.is_dir() and not old.is_symlink():  # a folder cannot be replaced in one step: move it away first
        with tempfile.TemporaryDirectory(prefix=f".{old.name}.", dir=old.parent) as away:
            os.replace(old, Path(away) / old.name)
            os.replace(new, old)
            shutil.rmtree(Path(away) / old.name)
    else:
        os.replace(new, old)


@contextmanager
def naming_lines(path: Path, line_of: Callable[[int], int]) -> Iterator[None]:
    """Turn an error about the e-th edge of a file into one about its line, `line_of(e)`."""
    try:
        yield
    except EdgeError as error:
        raise FormatError(error.message, path=path, line=line_of(error.edge)) from None


def redirect(mx: Multiplex, directed: bool | None) -> Multiplex:
    """Return a multiplex whose file says how it is directed as a user wants it, None: as the file says.

    An undirected edge stands both ways in a directed multiplex; two directions of a pair become one edge.
    """
    if directed in (None, mx.directed):
        return mx
    if directed:
        return mx.to_directed()
    source, destination = mx.edge_index
    return Multiplex.from_indices(
        source, destination, mx.edge_layer, node_names=mx.node_names, layer_names=mx.layer_names, weight=mx.weight,
        time=mx.time, node_features=mx.node_features, directed=False, metadata=mx.metadata,
    )  # fmt: skip


# A side note holds what a format has no place for: it stands beside the file, as NAME.meta.json.


def side_note_path(path: Path) -> Path:
    """Return where the side note of a file stands."""
    return path.with_name(path.name + ".meta.json")


def write_side_note(path: Path, note: dict[str, Any]) -> None:
    """Write the side note of `path`, unless there is nothing to note."""
    if note:
        side_note_path(path).write_text(json.dumps({"banditplex": 1, **note}), encoding="utf-8")


def read_side_note(path: Path) -> dict[str, Any]:
    """Return the side note of `path`, empty where there is none."""
    where = side_note_path(path)
    if not where.is_file():
        return {}
    try:
        note = json.loads(where.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"expected JSON, got {error}", path=where) from None
    if not isinstance(note, dict) or note.pop("banditplex", None) != 1:
        raise FormatError("expected a side note of version 1", path=where)
    return note


def side_note(mx: Multiplex) -> dict[str, Any]:
    """Return what a bare text list of the edges of `mx` does not tell: direction, and names it does not imply."""
    note: dict[str, Any] = {"directed": True} if mx.directed else {}
    layers = np.array(mx.layer_names, dtype=object)
    linked = np.zeros(mx.num_nodes, np.bool_)
    linked[mx.edge_index.ravel()] = True
    if not _implied(mx.node_names[linked], mx.node_names.tolist()):
        note["nodes"] = mx.node_names.tolist()
    if not _implied(layers[mx.layer_sizes > 0], list(mx.layer_names)):
        note["layers"] = list(mx.layer_names)
    return note


def strings_note(mx: Multiplex) -> dict[str, Any]:
    """Return, for a text that lists all names, whether nodes or layers are strings although all look like integers."""
    names = {"nodes": mx.node_names.tolist(), "layers": list(mx.layer_names)}
    odd = [
        what for what, each in names.items() if each and isinstance(each[0], str) and parse_names(each).dtype != object
    ]
    return {"strings": odd} if odd else {}


def are_strings(what: str, note: dict[str, Any]) -> bool:
    """Say whether, by a side note, the names of "nodes" or "layers" are strings whatever they look like."""
    listed = note.get(what) or [0]
    return isinstance(listed[0], str) or what in note.get("strings", ())


def _implied(used: Names, declared: list[Name]) -> bool:
    found, _ = factorize(parse_names([str(name) for name in used.tolist()]))
    return bool(found.tolist() == declared)  # 1 == "1" is false, so kinds are compared too


def parse_names(tokens: Any, *, strings: bool = False) -> Names:
    """Return names as text files mean them: integers if every token is one in plain writing, else strings.

    >>> parse_names(["3", "12"]), parse_names(["3", "012"]), parse_names(["3"], strings=True)
    (array([ 3, 12]), array(['3', '012'], dtype=object), array(['3'], dtype=object))
    """
    names: Names = np.asarray(tokens, dtype=object)
    if strings or not all(map(_INTEGER.fullmatch, names.tolist())):
        return names
    try:
        return names.astype(np.int64)
    except OverflowError:
        return names
