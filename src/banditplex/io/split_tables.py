"""Folders with a fixed split in Parquet tables: train, valid, test and the negatives of the last two.

Tables have the columns source, target and layer; layers.csv has the columns layer and name, in the order of the layers.
"""

from pathlib import Path
from typing import Any

import numpy as np

from banditplex.errors import FormatError, InputError
from banditplex.io.gatne import LabelledPairs, Splits
from banditplex.multiplex import Multiplex
from banditplex.multiplex.names import Ints

PARTS = ("train", "valid", "test")
LAYERS = "layers.csv"


def read_split_tables(folder: str | Path) -> Splits:
    """Read the training graph, undirected, and labelled pairs for validation and test; edges come first."""
    tables = _Tables(Path(folder))
    train = tables.multiplex("train")
    labelled = []
    for part in PARTS[1:]:
        edges, negatives = tables.columns(part), tables.columns(f"{part}_negatives")
        source, target, layer = np.concatenate([edges, negatives], axis=1)
        label = np.arange(len(layer)) < edges.shape[1]
        labelled.append(LabelledPairs(layer, np.stack([source, target], 1), label))
    return Splits(train, *labelled)


def read_all_parts(folder: str | Path, *, part: str = "all") -> Multiplex:
    """Read the edges of all parts, or of train.parquet only (`part="train"`), as an undirected multiplex."""
    if part not in ("train", "all"):
        raise InputError(f"Expected part 'train' or 'all', got {part!r}.")
    return _Tables(Path(folder)).multiplex(*(PARTS if part == "all" else PARTS[:1]))


class _Tables:
    """The tables of a folder, with names replaced by indices; nodes are those of train.parquet, sorted."""

    def __init__(self, folder: Path) -> None:
        import pandas as pd

        self._folder = folder
        self._frames: dict[str, Any] = {}
        layers = pd.read_csv(folder / LAYERS)
        self._layer_names: list[str] = layers["name"].tolist()
        self._layer_codes = pd.Index(layers["layer"])
        train = self._frame("train")
        ends = (train[end].astype("category").cat.remove_unused_categories() for end in ("source", "target"))
        self._nodes = pd.Index(sorted(set().union(*(end.cat.categories for end in ends))))

    def multiplex(self, *parts: str) -> Multiplex:
        """Return the edges of some parts."""
        source, target, layer = np.concatenate([self.columns(part) for part in parts], axis=1)
        return Multiplex.from_indices(
            source, target, layer, node_names=self._nodes.to_numpy(object), layer_names=self._layer_names
        )

    def columns(self, part: str) -> Ints:
        """Return indices of source, target and layer, (3, n)."""
        frame = self._frame(part)
        known = (("source", self._nodes), ("target", self._nodes), ("layer", self._layer_codes))
        return np.stack([self._index(part, frame[name], names) for name, names in known])

    def _frame(self, part: str) -> Any:
        import pandas as pd

        if part not in self._frames:
            self._frames[part] = pd.read_parquet(self._folder / f"{part}.parquet")
        return self._frames[part]

    def _index(self, part: str, column: Any, names: Any) -> Ints:
        values = column.astype("category").cat.remove_unused_categories().cat
        place = names.get_indexer(values.categories)
        if (place < 0).any():
            unknown = values.categories[place < 0][0]
            path = self._folder / f"{part}.parquet"
            raise FormatError(f"{path}: expected a known {column.name}, got {unknown!r}.")
        index: Ints = place.astype(np.int64)[values.codes.to_numpy()]
        return index
