"""What the index of a model folder says about layers, without the model: read at once, as torch is not needed."""

from pathlib import Path
from typing import Any

from banditplex.schema import ANYTHING, NAMES, check, parse, whole
from banditplex.storage.files import regular

INDEX = "model.json"


def read_layers(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the layers and of the targets of the model in a folder."""
    path = folder / INDEX
    schema = {"layer_names": NAMES, "targets": [int], "*": ANYTHING}
    index: dict[str, Any] = parse(regular(path).read_bytes(), schema, path=path)
    layers = list(map(str, index["layer_names"]))
    check(index["targets"], [whole(0, len(layers) - 1)], path=path, what="targets")
    return layers, [layers[target] for target in index["targets"]]
