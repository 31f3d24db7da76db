"""Names and digests of the files of a run, and its index on layers and nodes: read at once, without torch."""

import hashlib
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.schema import ANYTHING, NAMES, Schema, check, parse, whole
from banditplex.storage.files import regular

INDEX = "model.json"
FILES = ("graph.safetensors", "policy.safetensors", "weights.safetensors")  # of the model, besides its index
CHECKPOINT = "checkpoint.safetensors"
READING = "reading.json"  # how the data were read: options that need not be given again, and notes


def read_index(folder: Path, schema: Schema = ANYTHING) -> Any:
    """Return the index of the model in a folder; refuse a folder without one, and what does not follow a schema."""
    path = folder / INDEX
    try:
        return parse(regular(path).read_bytes(), schema, path=path)
    except (FileNotFoundError, NotADirectoryError):
        got = "one without" if folder.is_dir() else "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a model's folder with a file {INDEX}, got {got}.") from None


def read_layers(folder: Path) -> tuple[list[str | int], list[str | int]]:
    """Return the names of the layers and of the targets of the model in a folder."""
    index = read_index(folder, {"layer_names": NAMES, "targets": [int], "*": ANYTHING})
    layers = index["layer_names"]
    check(index["targets"], [whole(0, len(layers) - 1)], path=folder / INDEX, what="targets")
    return layers, [layers[target] for target in index["targets"]]


def read_nodes(folder: Path) -> list[str | int]:
    """Return the names of the nodes of the model in a folder."""
    names: list[str | int] = read_index(folder, {"node_names": NAMES, "*": ANYTHING})["node_names"]
    return names


def digest(path: Path) -> str | None:
    """Return the SHA-256 of a file, None if there is none."""
    try:
        with regular(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def successor(path: Path) -> Path:
    """Return where a file waits for the index that knows it."""
    return path.with_name(f"{path.name}.new")
