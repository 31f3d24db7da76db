"""State as bytes or one file: a tree of plain values goes to JSON, its arrays and tensors to safetensors.

Nothing in it runs code when read, and what is read equals what was written, bit by bit and type by type.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from banditplex.errors import FormatError, InputError
from banditplex.schema import ANYTHING, parse
from banditplex.storage.files import regular, replace_file

Arrays = dict[str, NDArray[Any]]
PLAIN = (type(None), bool, int, float, str)
TREE, ABOUT = "tree", "about"
"""Names in the file: the JSON, as bytes, and one line about it (one, since several come in no certain order)."""


def pack(tree: Any) -> tuple[Any, Arrays]:
    """Return a tree of plain values, lists, tuples, dicts, arrays and tensors as tagged JSON, and its arrays."""
    from torch import Tensor

    arrays: Arrays = {}

    def visit(value: Any) -> Any:
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, list):
            return [visit(each) for each in value]
        if isinstance(value, tuple):
            return {"tuple": [visit(each) for each in value]}
        if isinstance(value, Mapping):
            return {"dict": [[visit(name), visit(each)] for name, each in value.items()]}
        kind, array = ("tensor", value.detach().cpu().numpy()) if isinstance(value, Tensor) else ("array", value)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
            raise TypeError(f"State must be plain values, arrays and tensors; got {type(value).__name__}.")
        name = str(len(arrays))
        arrays[name] = np.array(array, order="C")
        return {kind: name}

    return visit(tree), arrays


def unpack(packed: Any, arrays: Arrays) -> Any:
    """Return the tree that `pack` took apart; every array and tensor has memory of its own.

    Arrays are taken out of `arrays`: a file that points to one of them many times would fill the memory.
    """
    if isinstance(packed, list):
        return [unpack(each, arrays) for each in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, value),) = packed.items()
    if kind == "tuple":
        return tuple(unpack(each, arrays) for each in value)
    if kind == "dict":
        return {unpack(name, arrays): unpack(each, arrays) for name, each in value}
    if kind not in ("array", "tensor"):
        raise ValueError(f"unknown kind {kind!r}")
    if kind == "array":
        return arrays.pop(value).copy()
    import torch

    return torch.tensor(arrays.pop(value))


def to_bytes(tree: Any, *, format: str = "") -> bytes:
    """Return a tree as bytes, with its checksum."""
    packed, arrays = pack(tree)
    arrays[TREE] = np.frombuffer(json.dumps(packed, separators=(",", ":")).encode(), np.uint8)
    return save(arrays, {ABOUT: f"{format}, sha256 {_digest(arrays)}"})


def from_bytes(data: bytes) -> Any:
    """Return the tree in bytes that another process has sent."""
    return from_arrays(load(data))


def from_arrays(arrays: Arrays, path: Path | None = None) -> Any:
    """Return the tree of what safetensors has stored."""
    text = arrays.pop(TREE, np.empty(0, np.uint8)).tobytes()
    return unpack(parse(text, ANYTHING, path=path, what=f"the entry {TREE!r}"), arrays)


def write_tree(path: Path, tree: Any, *, format: str) -> None:
    """Write a tree to a file, which at any moment is the old one or the new one, whole."""
    replace_file(path, to_bytes(tree, format=format))


def read_tree(path: Path, *, format: str) -> Any:
    """Return the tree of a file; refuse one of another format, and one that is not as it was written."""
    try:
        with safe_open(regular(path), framework="numpy") as file:
            found, _, digest = (file.metadata() or {}).get(ABOUT, "").partition(", sha256 ")
            if found != format:
                raise FormatError(f"expected {format}, got {found or 'a file of another kind'}", path=path)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: a type of numbers that numpy does not have
        raise FormatError(f"expected an intact file ({format}), got a damaged one ({error})", path=path) from None
    if digest != _digest(arrays):
        raise FormatError(f"expected an intact file ({format}), got a damaged one (its checksum differs)", path=path)
    try:
        return from_arrays(arrays, path)
    except FormatError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise FormatError(f"expected the tree of a {format}, got one that is not ({found})", path=path) from None


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
