"""State as one file: a tree of plain values goes to JSON, its arrays and tensors to safetensors.

Nothing in it runs code when read, and what is read equals what was written, bit by bit and type by type.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from banditplex.errors import FormatError, InputError
from banditplex.lock import IN_FOLDER, Lock
from banditplex.schema import ANYTHING, parse

Arrays = dict[str, NDArray[Any]]
PLAIN = (type(None), bool, int, float, str)
TREE, ABOUT = "tree", "about"
"""Names in the file: the JSON, as bytes, and one line about it (one, since several come in no certain order)."""


def pack(tree: Any) -> tuple[Any, Arrays]:
    """Return a tree as JSON, in which every object is one tagged thing, and the arrays that it points to.

    Trees are made of None, numbers, strings, lists, tuples, dictionaries, numpy arrays and torch tensors.

    >>> pack({"loss": (0.5, np.arange(3))})
    ({'dict': [['loss', {'tuple': [0.5, {'array': '0'}]}]]}, {'0': array([0, 1, 2])})
    """
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
        kind, array = ("tensor", value.detach().cpu().numpy()) if isinstance(value, torch.Tensor) else ("array", value)
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
    return arrays.pop(value).copy() if kind == "array" else torch.tensor(arrays.pop(value))


def write_tree(path: Path, tree: Any, *, format: str) -> None:
    """Write a tree to a file, which at any moment is the old one or the new one, whole."""
    packed, arrays = pack(tree)
    arrays[TREE] = np.frombuffer(json.dumps(packed, separators=(",", ":")).encode(), np.uint8)
    replace_file(path, to_bytes(arrays, {ABOUT: f"{format}, sha256 {_digest(arrays)}"}))


def read_tree(path: Path, *, format: str) -> Any:
    """Return the tree of a file; refuse one of another format, and one that is not as it was written."""
    try:
        with safe_open(path, framework="numpy") as file:
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
    text = arrays.pop(TREE, np.empty(0, np.uint8)).tobytes()
    packed = parse(text, ANYTHING, path=path, what=f"the entry {TREE!r}")
    try:
        return unpack(packed, arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise FormatError(f"expected the tree of a {format}, got one that is not ({found})", path=path) from None


def make_folder(folder: Path) -> None:
    """Make a folder unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}.") from None


@contextmanager
def locked_folder(folder: Path) -> Iterator[Lock]:
    """Make a folder unless it is there, and hold its lock; one that is left empty is removed if it was not there."""
    new = not folder.exists()
    make_folder(folder)
    try:
        with Lock.take(folder / IN_FOLDER, folder) as lock:
            yield lock
    finally:
        if new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in place of a file in one go; it is on the disk when this returns."""
    write_draft(path, data)
    put_in_place(path)


def draft_of(path: Path) -> Path:
    """Return where the draft of a file is written."""
    return path.with_name(path.name + ".new")


def write_draft(path: Path, data: bytes) -> None:
    """Write the draft of a file, which is on the disk when this returns; a draft that cannot be finished is removed."""
    with _writing(path):
        try:
            with draft_of(path).open("wb", buffering=0) as file:
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
        except OSError:
            draft_of(path).unlink(missing_ok=True)
            raise


def put_in_place(path: Path) -> None:
    """Let the draft of a file take its place."""
    with _writing(path):
        os.replace(draft_of(path), path)
        if os.name == "posix":  # elsewhere a folder cannot be opened
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn an error of the system into one line: a full disk, a read-only one, a folder that has gone."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}.") from None


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
