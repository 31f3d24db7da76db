"""Splits in files: a link per line or row, in parts for training, validation and test.

GATNE folders have train.txt with lines `type u v`, valid.txt and test.txt with lines `type u v label` (Cen et al.,
Representation Learning for Attributed Multiplex Heterogeneous Network, KDD 2019). The same split may be in Parquet
tables: train, valid, test and the negatives of the last two, with the columns source, target and layer; layers.csv has
the columns layer and name, in the order of the layers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from banditplex.arrays import Bools, Ints
from banditplex.errors import FormatError
from banditplex.io.base import Format, Progress
from banditplex.io.lines import BLANKS, Rows, index_fields, parse_rows, read_text
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Names
from banditplex.registry import check_choice

PARTS = ("train", "valid", "test")


class LabelledPairs(NamedTuple):
    """Pairs of nodes in layers, as indices into the names of a multiplex, and whether each is an edge."""

    layer: Ints  # (n,)
    pairs: Ints  # (n, 2)
    label: Bools  # (n,)


class Splits(NamedTuple):
    """A training graph and labelled pairs for validation and test, with the same nodes and layers."""

    train: Multiplex
    valid: LabelledPairs
    test: LabelledPairs


def read(
    path: Path, *, directed: bool | None = None, part: str = "train", progress: Progress | None = None
) -> Multiplex:
    """Read the training graph, with `part="all"` all positive pairs; nodes are those of all files and pairs."""
    check_choice("part", part, ("train", "all"))
    there = [name for name in PARTS if name == "train" or part == "all" or (path / f"{name}.txt").exists()]
    table = _read_folder(path, there, progress)
    return table.multiplex(table.label if part == "all" else table.span(0), bool(directed))


def read_gatne_splits(path: str | Path, *, directed: bool | None = None) -> Splits:
    """Read the splits of a GATNE folder: the training graph, and the labelled pairs of valid.txt and test.txt."""
    return _read_folder(Path(path), PARTS, None).splits(bool(directed))


@dataclass(frozen=True)
class Parts:
    """The concatenated lines of several files: names as indices, and whether a line is an edge."""

    parts: list[Rows]
    nodes: Names
    layers: Names
    layer: Ints
    source: Ints
    destination: Ints
    label: Bools

    def span(self, part: int) -> slice:
        """Return which lines are those of a file."""
        start = sum(len(rows) for rows in self.parts[:part])
        return slice(start, start + len(self.parts[part]))

    def multiplex(self, keep: Any, directed: bool) -> Multiplex:
        """Return some of the lines as a multiplex."""
        edges = self.source[keep], self.destination[keep], self.layer[keep]
        return Multiplex.from_indices(*edges, node_names=self.nodes, layer_names=self.layers, directed=directed)

    def splits(self, directed: bool) -> Splits:
        """Return the first file as the training graph, and the pairs of the two others."""
        return Splits(self.multiplex(self.span(0), directed), self.pairs(1), self.pairs(2))

    def pairs(self, part: int) -> LabelledPairs:
        """Return the lines of a file as labelled pairs."""
        keep = self.span(part)
        pairs = np.stack([self.source[keep], self.destination[keep]], axis=1)
        return LabelledPairs(self.layer[keep], pairs, self.label[keep])


def _read_folder(path: Path, names: Sequence[str], progress: Progress | None) -> Parts:
    files = {path / f"{name}.txt": 3 if name == "train" else 4 for name in names}
    return read_parts(files, (0, 1, 2), BLANKS, "type u v", progress)


def read_parts(
    files: Mapping[Path, int], columns: tuple[int, int, int], delimiter: str, line: str, progress: Progress | None,
    headers: Collection[tuple[str, ...]] = (),
) -> Parts:  # fmt: skip
    """Read files with a link per line, by their numbers of fields; `columns` are layer, source and destination.

    A fourth field is the label, 0 or 1. `line`: what a line of the first file looks like, for a message. A first line
    that is one of `headers` is left out.
    """
    texts = [_without_header(read_text(file), headers) for file in files]
    done = np.cumsum([len(text) for text in texts]).tolist()
    parts: list[Rows] = []
    for (file, width), text in zip(files.items(), texts, strict=True):
        parts.append(parse_rows(text, file, delimiter=delimiter, widths=range(width, width + 1)))
        if progress:
            progress(done[len(parts) - 1], done[-1])
    if not len(parts[0]):
        raise FormatError(f"expected lines `{line}`, got an empty file", path=next(iter(files)))
    layers, (layer,) = index_fields(parts, columns[:1])
    nodes, (source, destination) = index_fields(parts, columns[1:])
    return Parts(parts, nodes, layers, layer, source, destination, np.concatenate([*map(_labels, parts)]))


def _without_header(text: bytes, headers: Collection[tuple[str, ...]]) -> bytes:
    first = text.lstrip(b"\n").partition(b"\n")[0]
    return text.replace(first, b"", 1) if tuple(first.decode().lower().split()) in headers else text


def _labels(rows: Rows) -> Bools:
    if rows.width < 4:
        return np.ones(len(rows), np.bool_)
    labels = rows.numbers(3, "a label 0 or 1")
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise rows.error(f"expected a label 0 or 1, got {rows.columns[3][row].as_py()!r}", row)
    return np.asarray(labels == 1)


def _matches(path: Path) -> bool:
    if not (path / "train.txt").is_file():
        return False
    with (path / "train.txt").open("rb") as file:
        head = next((line.split() for line in file if line.strip()), [])
    return len(head) == 3 or (not head and (path / "valid.txt").is_file() and (path / "test.txt").is_file())


# Splits in Parquet tables


def read_split_tables(folder: str | Path) -> Splits:
    """Read the training graph, undirected, and labelled pairs for validation and test; edges come first."""
    tables = _Tables(Path(folder))
    labelled = []
    for part in PARTS[1:]:
        edges, negatives = tables.columns(part), tables.columns(f"{part}_negatives")
        source, target, layer = np.concatenate([edges, negatives], axis=1)
        label = np.arange(len(layer)) < edges.shape[1]
        labelled.append(LabelledPairs(layer, np.stack([source, target], 1), label))
    return Splits(tables.multiplex("train"), *labelled)


def read_all_parts(folder: str | Path, *, part: str = "all") -> Multiplex:
    """Read the edges of all parts, or of train.parquet only (`part="train"`), as an undirected multiplex."""
    check_choice("part", part, ("train", "all"))
    return _Tables(Path(folder)).multiplex(*(PARTS if part == "all" else PARTS[:1]))


class _Tables:
    """The tables of a folder, with names replaced by indices; nodes are those of train.parquet, sorted."""

    def __init__(self, folder: Path) -> None:
        layers, train = pd.read_csv(folder / "layers.csv"), pd.read_parquet(folder / "train.parquet")
        nodes = pd.Index(sorted({*train["source"].unique(), *train["target"].unique()}))
        self._folder, self._layer_names = folder, layers["name"].tolist()
        self._known = {"source": nodes, "target": nodes, "layer": pd.Index(layers["layer"])}

    def multiplex(self, *parts: str) -> Multiplex:
        """Return the edges of some parts."""
        source, target, layer = np.concatenate([self.columns(part) for part in parts], axis=1)
        nodes = self._known["source"].to_numpy(object)
        return Multiplex.from_indices(source, target, layer, node_names=nodes, layer_names=self._layer_names)

    def columns(self, part: str) -> Ints:
        """Return indices of source, target and layer, (3, n)."""
        path = self._folder / f"{part}.parquet"
        frame = pd.read_parquet(path)
        return np.stack([_index(frame[name], names, path) for name, names in self._known.items()])


def _index(column: Any, names: Any, path: Path) -> Ints:
    values = column.astype("category").cat.remove_unused_categories().cat
    place = names.get_indexer(values.categories)
    if (place < 0).any():
        raise FormatError(f"expected a known {column.name}, got {values.categories[place < 0][0]!r}", path=path)
    return place.astype(np.int64)[values.codes.to_numpy()]


FORMAT = Format("gatne", "GATNE folder with train.txt, valid.txt and test.txt", (), read, matches=_matches)
