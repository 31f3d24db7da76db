"""Edge lists, read only: a folder with one file per layer, and one line `u v [weight] [time]` per edge."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress, parse_names
from banditplex.io.lines import BLANKS, Rows, index_fields, naming_rows, parse_rows, read_text
from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import note as tell
from banditplex.multiplex.notes import show_files

SUFFIXES = (".txt", ".edges", ".edgelist", ".csv", ".tsv")
COMMENTS = (b"#", b"%")
_HEADERS = {("source", "target"), ("source", "destination"), ("from", "to")}
_DOCUMENTS = ("readme", "license", "licence")  # names of files that are no layers


def read(
    path: Path, *, directed: bool | None = None, pattern: str = "*", header: bool | None = None,
    progress: Progress | None = None,
) -> Multiplex:  # fmt: skip
    """Read a folder of edge lists; layers are named after their files. Options: docs/file-formats.md#edge-lists."""
    files, documents = _layer_files(path, pattern)
    if documents:
        tell(f"{path}: not read, as they are no edge lists: {show_files([each.name for each in documents])}.")
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
        parts.append(_read_layer(files[place], bool(header)))
        if progress:
            progress(done[len(parts) - 1], done[-1])
    parts = _without_headers(parts, path) if header is None else parts
    layer = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])
    nodes, (source, destination) = index_fields(parts, (0, 1))
    about: dict[str, Any] = {"node_names": nodes, "layer_names": [names[place] for place in order]}
    about |= {"time": _time(parts), "directed": bool(directed)}
    if any(rows.width > 2 for rows in parts):
        weights = [rows.numbers(2, "a number as weight") if rows.width > 2 else np.ones(len(rows)) for rows in parts]
        about["weight"] = np.concatenate(weights)
    with naming_rows(parts):
        return Multiplex.from_indices(source, destination, layer, **about)


def _layer_files(path: Path, pattern: str) -> tuple[list[Path], list[Path]]:
    """Return the files of layers, and those that look like one but are about the data."""
    if not path.is_dir():
        raise FormatError("expected a folder of edge lists, got a file", path=path)
    found = [each for each in path.glob(pattern) if each.suffix.lower() in SUFFIXES and each.is_file()]
    found = sorted(each for each in found if not each.name.startswith("."))
    documents = [each for each in found if each.stem.lower() in _DOCUMENTS]
    return [each for each in found if each not in documents], documents


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares numbers inside names as numbers."""
    key = [
        (0, len(number.lstrip("0")), number.lstrip("0")) if number else (1, 0, text)
        for number, text in re.findall(r"([0-9]+)|([^0-9]+)", name)
    ]
    return [*key, (-1, 0, name)]  # a prefix sorts first; 01 and 1 differ only here


def _read_layer(file: Path, header: bool) -> Rows:
    text = read_text(file, comments=COMMENTS)
    if header:
        text = re.sub(rb"\A(\n*)[^\n]+", rb"\1", text)
    head = text.lstrip(b"\n").partition(b"\n")[0]
    return parse_rows(text, file, delimiter="," if b"," in head else BLANKS, widths=range(2, 5))


def _without_headers(parts: list[Rows], folder: Path) -> list[Rows]:
    """Return the rows of files without first lines that look like names of columns, and say so."""
    filled = [rows for rows in parts if len(rows)]
    cells = [[column.slice(0, 1000).to_pylist() for column in rows.columns[:2]] for rows in filled]
    heads = [([column[0] for column in each], [column[1:] for column in each]) for each in cells]
    if not looks_like_headers(heads):
        usual = [tuple(word.lower() for word in names) in _HEADERS for names, _ in heads]
        filled = [rows for rows, is_header in zip(filled, usual, strict=True) if is_header]
    if not filled:
        return parts
    shown = " ".join(column[0].as_py() for column in filled[0].columns[:2])
    tell(f"{folder}: first lines such as {shown!r} are read as names of columns; header=False reads them as edges.")
    headed = {rows.path for rows in filled}
    return [_read_layer(rows.path, True) if rows.path in headed else rows for rows in parts]


def looks_like_headers(heads: Sequence[tuple[list[str], list[list[str]]]]) -> bool:
    """Return whether the first lines of files, given with the cells below, are no edges but names of two columns.

    They are nowhere below, and stand above integers or in several files alike.
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
    name="edge-lists", description="a folder with one edge-list file per layer", suffixes=(), read=read,
    holds=frozenset({"weight", "time"}), matches=lambda path: path.is_dir() and bool(_layer_files(path, "*")[0]),
)  # fmt: skip
