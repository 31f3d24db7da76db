"""Triples of a knowledge graph: lines `head relation tail` with tabs between them; relations are layers.

A file, or a folder with train.txt, valid.txt and test.txt (or .tsv, .triples), as PyKEEN, LibKGE and others have them.
"""

from pathlib import Path

import numpy as np

from banditplex.errors import InputError
from banditplex.io.base import Format, Progress
from banditplex.io.gatne import PARTS, Parts, Splits, read_parts
from banditplex.io.lines import filled_lines
from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import note
from banditplex.multiplex.roles import PAIR_ROLES, ROLES, TRIPLES
from banditplex.registry import check_choice

SUFFIXES = (".txt", ".tsv", ".triples")


def read(
    path: Path, *, directed: bool | None = None, part: str | None = None, progress: Progress | None = None
) -> Multiplex:
    """Read triples; all parts of a folder have the same nodes and layers. `part`: "train", "valid", "test" or "all"."""
    check_choice("part", part or "all", ("all", *PARTS))
    files = [path]
    if path.is_dir():
        files = [file for name, file in _files(path).items() if name in ("train", part) or file.exists()]
        if part is None and len(files) > 1:
            names = ", ".join(file.name for file in files)
            note(f"{path}: {names} are read together, test triples included; {files[0]} alone is for training.")
    elif part not in (None, "all"):
        raise InputError(f"{path}: expected a folder with train.txt to read part={part!r}, got a file.")
    parts = _read(files, progress)
    place = next((index for index, file in enumerate(files) if file.stem == part), None)
    chosen = np.ones(len(parts.label), np.bool_) if place is None else parts.span(place)
    return parts.multiplex(chosen, directed is not False)


def read_triple_splits(path: str | Path) -> Splits:
    """Read the published split of a folder: the training graph, and the pairs of valid.txt and test.txt, all edges."""
    return _read([*_files(Path(path)).values()], None).splits(True)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files that the parts of a folder have, or would have."""
    suffix = next((each for each in SUFFIXES if (folder / f"train{each}").is_file()), SUFFIXES[0])
    return {name: folder / f"{name}{suffix}" for name in PARTS}


def _read(files: list[Path], progress: Progress | None) -> Parts:
    return read_parts(dict.fromkeys(files, 3), (1, 0, 2), "\t", "head relation tail", progress, TRIPLES)


def is_triples(path: Path) -> bool:
    """Return whether a folder's train.txt, and the other parts that it has, are triples, or a file is.

    The first lines decide. Lines of GATNE have spaces between three or four fields; tables begin with another header.
    """
    files = [file for file in _files(path).values() if file.is_file()] if path.is_dir() else [path]
    return bool(files) and files[0].is_file() and all(map(_starts_with_triples, files))


def _starts_with_triples(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(1 << 16).replace(b"\r", b"\n")
    lines = [line.split(b"\t") for _, line in filled_lines(head[: head.rfind(b"\n") + 1] or head)]
    first = tuple(field.decode(errors="replace").lower() for field in lines[0]) if lines else ()
    if path.suffix == ".tsv" and first not in TRIPLES and all(set(first) & set(ROLES[role]) for role in PAIR_ROLES):
        return False  # the header of a table
    return bool(lines) and all(len(fields) == 3 and all(map(bytes.strip, fields)) for fields in lines)


FORMAT = Format(
    name="triples",
    description="lines `head relation tail` with tabs, or a folder with train.txt, valid.txt, test.txt; read only",
    suffixes=(".triples",), read=read, matches=is_triples,
)  # fmt: skip
