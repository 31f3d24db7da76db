"""Folders with a fixed split in Parquet tables: train, valid, test and the negatives of the last two.

Tables have the columns source, target and layer; layers.csv has the columns layer and name, in the order of the layers.
"""

from pathlib import Path
from typing import Any

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import FormatError
from banditplex.io.gatne import LabelledPairs, Splits
from banditplex.multiplex import Multiplex
from banditplex.registry import check_choice

PARTS = ("train", "valid", "test")
LAYERS = "layers.csv"


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
        import pandas as pd

        layers, train = pd.read_csv(folder / LAYERS), pd.read_parquet(folder / "train.parquet")
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
        import pandas as pd

        path = self._folder / f"{part}.parquet"
        frame = pd.read_parquet(path)
        return np.stack([_index(frame[name], names, path) for name, names in self._known.items()])


def _index(column: Any, names: Any, path: Path) -> Ints:
    values = column.astype("category").cat.remove_unused_categories().cat
    place = names.get_indexer(values.categories)
    if (place < 0).any():
        raise FormatError(f"expected a known {column.name}, got {values.categories[place < 0][0]!r}", path=path)
    return place.astype(np.int64)[values.codes.to_numpy()]
