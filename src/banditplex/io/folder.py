"""The native format: a folder with a JSON header and one .npy file per array, opened as memory maps.

`banditplex.json` has the format version, counts, direction, layer names, metadata and, for each array, its dtype,
shape, size in bytes and SHA-256. Opening reads the header, compares file sizes, types and shapes, and maps the arrays,
and looks at all edges once. Small folders are also checked against their checksums.

If nodes have types, the header lists the types, and the array `node_type_index` has the index of each node's type. Such
folders have version 2, others version 1.

String node names are two arrays: `node_name_bytes`, the concatenated names in UTF-8, and `node_name_offsets`, the start
of each name.
"""

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from banditplex.errors import FormatError, InputError
from banditplex.io.base import Format, Progress
from banditplex.multiplex import Multiplex
from banditplex.multiplex.convert import redirect
from banditplex.multiplex.names import Names
from banditplex.multiplex.stored import Array, from_arrays
from banditplex.schema import ANYTHING, NAMES, SHA256, check, check_version, one_of, parse, whole

HEADER = "banditplex.json"
VERSION = 2
SMALL = 64 * 2**20  # bytes: folders up to this size are verified on every read

Arrays = dict[str, Array]

_NAMES = ["edge_index", "layer_offsets", "node_names", "node_name_bytes", "node_name_offsets"]
_NAMES += ["weight", "time", "node_features", "node_type_index"]
SCHEMA = {
    "format": str, "version": int, "directed": bool, "num_nodes": whole(0), "num_layers": whole(0),
    "num_edges": whole(0), "layer_names": NAMES, "type_names?": [str], "metadata": {"*": ANYTHING},
    "arrays": {
        f"{name}?": {"dtype": str, "shape": [whole(0)], "bytes": whole(0), "sha256": SHA256} for name in _NAMES
    },
}  # fmt: skip


def write(mx: Multiplex, path: Path) -> None:
    """Write header and arrays into the new folder `path`."""
    check(dict(mx.metadata), {"*": ANYTHING}, what="metadata")
    path.mkdir()
    header = {
        "format": "banditplex",
        "version": 1 if mx.node_types is None else VERSION,
        "directed": mx.directed,
        "num_nodes": mx.num_nodes,
        "num_layers": mx.num_layers,
        "num_edges": mx.num_edges,
        "layer_names": list(mx.layer_names),
        **({} if mx.node_types is None else {"type_names": list(mx.type_names)}),
        "metadata": _plain(dict(mx.metadata), "metadata"),
        "arrays": {name: _write_array(path / f"{name}.npy", array) for name, array in _arrays(mx).items()},
    }
    header["sha256"] = _header_digest(header)
    (path / HEADER).write_text(json.dumps(header, indent=1), encoding="utf-8")


def read(
    path: Path, *, progress: Progress | None = None, directed: bool | None = None, verify: bool | None = None
) -> Multiplex:
    """Open a folder as maps of its files; `verify`: whether to compare checksums, None: if they have up to 64 MiB."""
    header = _read_header(path / HEADER)
    entries = {name: header["arrays"][name] for name in _NAMES if name in header["arrays"]}
    arrays = {name: _open_array(path / f"{name}.npy", entry) for name, entry in entries.items()}
    total = sum(entry["bytes"] for entry in entries.values())
    if total <= SMALL if verify is None else verify:
        done = 0
        for name, entry in entries.items():
            with (path / f"{name}.npy").open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != entry["sha256"]:
                message = f"expected SHA-256 {entry['sha256']}, got {found}: its content has changed"
                raise FormatError(message, path=path / f"{name}.npy")
            done += entry["bytes"]
            if progress:
                progress(done, total)
    names = _node_names(arrays, path)
    about = {"directed": header["directed"], "metadata": header["metadata"]}
    about["node_types"] = _node_types(arrays, header.get("type_names"), len(names), path)
    files = {"layer_names": path / HEADER} | {name: path / f"{name}.npy" for name in _NAMES}
    mx = from_arrays(arrays, tuple(header["layer_names"]), names, files=files.__getitem__, **about)
    for name in ("num_nodes", "num_layers", "num_edges"):
        check(header[name], one_of(getattr(mx, name)), path=path / HEADER, what=name)
    return redirect(mx, directed)


# Arrays


def _arrays(mx: Multiplex) -> Arrays:
    arrays: dict[str, Array | None] = {"edge_index": mx.edge_index, "layer_offsets": mx.layer_offsets}
    if mx.node_names.dtype == object:
        encoded = [name.encode() for name in mx.node_names.tolist()]
        arrays["node_name_bytes"] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays["node_name_offsets"] = np.concatenate([[0], np.cumsum([len(name) for name in encoded])])
    else:
        arrays["node_names"] = mx.node_names
    arrays |= {"weight": mx.weight, "time": mx.time, "node_features": mx.node_features}
    if mx.node_types is not None:
        arrays["node_type_index"] = mx.type_index.astype(np.min_scalar_type(len(mx.type_names)))
    return {name: array for name, array in arrays.items() if array is not None}


def _write_array(path: Path, array: Array) -> dict[str, Any]:
    """Write a .npy file; unlike `np.save`, notice a full disk."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    head = BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    parts = head.getvalue(), array.reshape(-1).view(np.uint8).data
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
            digest.update(part)
    size = sum(map(len, parts))
    return {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": size, "sha256": digest.hexdigest()}


def _open_array(path: Path, entry: dict[str, Any]) -> Array:
    if not path.is_file():
        raise FormatError("expected this file, which is in the header, got none", path=path)
    size = path.stat().st_size
    if size != entry["bytes"]:
        raise FormatError(f"expected {entry['bytes']} bytes, got {size}", path=path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises many types for a bad header
        found = " ".join(str(error).split())
        raise FormatError(f"expected an array in .npy format, got {found}", path=path) from None
    traits = {"dtype": array.dtype.str, "shape": list(array.shape)}
    expected = {key: entry[key] for key in traits}
    if traits != expected:
        raise FormatError(f"expected {expected}, got {traits}", path=path)
    return array.view(np.ndarray)


def _node_names(arrays: Arrays, path: Path) -> Names:
    if "node_names" in arrays:
        return _flat(arrays, "node_names", "<i8", path)
    offsets, data = _flat(arrays, "node_name_offsets", "<i8", path), _flat(arrays, "node_name_bytes", "|u1", path)
    if not len(offsets) or offsets[0] != 0:
        raise FormatError("expected offsets from 0 on, got others", path=path / "node_name_offsets.npy")
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    try:
        names = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
        names.validate(full=True)
    except pa.ArrowInvalid as error:
        raise FormatError(f"expected node names in UTF-8, got {error}", path=path / "node_name_bytes.npy") from None
    return np.asarray(names.to_numpy(zero_copy_only=False), dtype=object)


def _flat(arrays: Arrays, name: str, kinds: str, path: Path) -> Array:
    """Return an array that has one axis and one of some types; refuse another, or none."""
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype.str not in kinds.split():
        got = "none" if array is None else f"{array.dtype.str} of shape {array.shape}"
        raise FormatError(f"expected {kinds.replace(' ', ' or ')} along one axis, got {got}", path=path / f"{name}.npy")
    return array


def _node_types(arrays: Arrays, names: list[str] | None, num_nodes: int, path: Path) -> Names | None:
    if names is None and "node_type_index" not in arrays:
        return None
    index = _flat(arrays, "node_type_index", "|u1 <u2 <u4 <u8", path)
    check(names, [str], path=path / HEADER, what="type_names")
    assert names is not None
    check(len(index), one_of(num_nodes), path=path / "node_type_index.npy", what="its length")
    if index.max(initial=0) >= max(len(names), 1):
        message = f"expected indices of {len(names)} types, got {index.max()}"
        raise FormatError(message, path=path / "node_type_index.npy")
    return np.array([*names, None], dtype=object)[:-1][index]


# Header


def _read_header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FormatError("expected a header, got none", path=path)
    header = parse(path.read_bytes(), ANYTHING, path=path)
    if not isinstance(header, dict) or header.get("format") != "banditplex":
        raise FormatError("expected the header of a banditplex folder, got other JSON", path=path)
    check_version(header.get("version"), VERSION, path=path)
    if header.pop("sha256", None) != _header_digest(header):
        raise FormatError("expected a header that matches its checksum, got a changed one", path=path)
    check(header, SCHEMA, path=path)
    return header


def _header_digest(header: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _plain(value: Any, where: str) -> Any:
    """Return `value` as JSON types; refuse values that JSON cannot store exactly."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, f"{where}[{i}]") for i, each in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"Expected strings as keys of {where}, got {key!r}.")
        return {key: _plain(each, f"{where}[{key!r}]") for key, each in value.items()}
    raise InputError(f"Expected numbers, strings, lists or dictionaries in {where}, got {type(value).__name__}.")


FORMAT = Format(
    name="banditplex", description="native folder: JSON header and memory-mapped arrays", suffixes=(".bx",), read=read,
    write=write, holds=frozenset({"weight", "time", "features", "types"}),
    matches=lambda path: (path / HEADER).is_file(),
)  # fmt: skip
