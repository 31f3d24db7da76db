"""Edge lists, read only: a folder with one file per layer, and one line `u v [weight] [time]` per edge."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, parse_names
from banditplex.io.lines import BLANKS, Rows, index_fields, join_weights, naming_rows, parse_rows, read_text
from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import note as tell

SUFFIXES = (".txt", ".edges", ".edgelist", ".csv", ".tsv")
COMMENTS = (b"#", b"%")
_HINT = "header=True skips it, header=False reads it as an edge"
_HEADERS = {("source", "target"), ("source", "destination"), ("from", "to")}


def read(
    path: Path,
    *,
    directed: bool | None = None,
    pattern: str = "*",
    header: bool | None = None,
    progress: Progress | None = None,
) -> Multiplex:
    """Read a folder of edge lists; layers are named after their files.

    Options: docs/file-formats.md#edge-lists.
    """
    files = _layer_files(path, pattern)
    if not files:
        raise FormatError(f"expected files {pattern} that end in {', '.join(SUFFIXES)}, got none", path=path)
    names = parse_names([file.stem for file in files]).tolist()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"expected one file per layer, got several for {twice!r}", path=path)
    order = sorted(range(len(names)), key=lambda position: natural(str(names[position])))
    done = np.cumsum([files[place].stat().st_size for place in order]).tolist()
    parts = []
    for place in order:
        parts.append(_read_layer(files[place], header))
        if progress:
            progress(done[len(parts) - 1], done[-1])
    return _join(parts, [names[place] for place in order], bool(directed), header)


def _layer_files(path: Path, pattern: str) -> list[Path]:
    if not path.is_dir():
        raise FormatError("expected a folder of edge lists, got a file", path=path)
    found = [each for each in path.glob(pattern) if each.suffix.lower() in SUFFIXES and each.is_file()]
    return sorted(each for each in found if not each.name.startswith("."))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares numbers inside names as numbers.

    >>> sorted(["l10", "l2", "a"], key=natural)
    ['a', 'l2', 'l10']
    """
    key = [
        (0, len(number.lstrip("0")), number.lstrip("0")) if number else (1, 0, text)
        for number, text in re.findall(r"([0-9]+)|([^0-9]+)", name)
    ]
    return [*key, (-1, 0, name)]  # a prefix sorts first; 01 and 1 differ only here


def _read_layer(file: Path, header: bool | None) -> Rows:
    text = read_text(file, comments=COMMENTS)
    if header:
        text = re.sub(rb"\A(\n*)[^\n]+", rb"\1", text)
    head = text.lstrip(b"\n").partition(b"\n")[0]
    rows = parse_rows(text, file, delimiter="," if b"," in head else BLANKS, widths=range(2, 5))
    if header is None and len(rows) and tuple(str(column[0]).lower() for column in rows.columns[:2]) in _HEADERS:
        raise rows.error(f"expected an edge, got what looks like a header; {_HINT}", 0)
    return rows


def _join(parts: list[Rows], layers: list[Any], directed: bool, header: bool | None) -> Multiplex:
    nodes, (source, destination) = index_fields(parts, (0, 1), "nodes", {})
    if header is None:
        _tell_header(parts)
    with naming_rows(parts):
        return Multiplex.from_indices(
            source,
            destination,
            np.repeat(np.arange(len(parts)), [len(rows) for rows in parts]),
            node_names=nodes,
            layer_names=layers,
            weight=join_weights(parts, 2),
            time=_time(parts),
            directed=directed,
        )


def _tell_header(parts: list[Rows]) -> None:
    """Say if first lines look like headers."""
    filled = [rows for rows in parts if len(rows)]
    cells = [[column.slice(0, 1000).to_pylist() for column in rows.columns[:2]] for rows in filled]
    if looks_like_headers([([column[0] for column in each], [column[1:] for column in each]) for each in cells]):
        shown, where = " ".join(column[0] for column in cells[0]), f"{filled[0].path}, line {filled[0].line(0)}"
        tell(f"{where}: {shown!r} is read as an edge, but looks like a header; {_HINT}.")


def looks_like_headers(heads: Sequence[tuple[list[str], list[list[str]]]]) -> bool:
    """Return whether the first lines of files, given with the cells below, are no edges but names of two columns.

    They are nowhere below, and stand above integers or in several files alike.

    >>> looks_like_headers([(["one", "other"], [["1", "2"], ["2", "3"]])])
    True
    >>> looks_like_headers([(["ann", "bob"], [["bob"], ["cid"]])])
    False
    """
    filled = [(names[:2], columns[:2]) for names, columns in heads if len(names) > 1]
    words = {word for names, _ in filled for word in names}
    below = {cell for _, columns in filled for column in columns for cell in column}
    if not filled or not below or words & below or any(len(set(names)) < 2 for names, _ in filled):
        return False
    above = parse_names(sorted(below)).dtype != object and parse_names(sorted(words)).dtype == object
    return above or (len(filled) > 1 and all(names == filled[0][0] for names, _ in filled))


def _time(parts: list[Rows]) -> Any:
    filled = [rows for rows in parts if len(rows)]
    timed = [rows for rows in filled if rows.width == 4]
    if timed and len(timed) < len(filled):
        untimed = next(rows for rows in filled if rows.width < 4)
        raise FormatError(f"expected a time in column 4, as in {timed[0].path.name}, got none", path=untimed.path)
    return np.concatenate([rows.numbers(3, "a number as time") for rows in timed]) if timed else None


FORMAT = Format(
    name="edge-lists",
    description="a folder with one edge-list file per layer",
    suffixes=(),
    read=read,
    holds=frozenset({"weight", "time"}),
    matches=lambda path: path.is_dir() and bool(_layer_files(path, "*")),
)
