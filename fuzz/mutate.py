"""Damage files as their structure suggests: JSON by value, text by line and cell, arrays by element, others by byte."""

import gzip
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

VALUES: list[Any] = [None, True, -7, 0, 10**9, 2**63, 1e308, -0.5, "", "7", "nan", "\x1b[31m", [], {}, [[]], {"a": 1}]
VALUES += ["x" * 300_000, float("nan"), float("inf"), [0] * 50]
TOKENS = ["", " ", "nan", "-1", "1e400", "007", "7.0", "1,5", '"', '""', "a\x00b", "\ufeff", "9" * 400, "é", "\x1b]0;x"]
TOKENS += [
    "source",
    "layer",
    "#EDGES",
    "-inf",
    "1_0",
    "0x1",
    "../../etc/passwd",
    "<a>",
    "&b;",
    "[",
    "]",
    "\u202e",
]


def damage(path: Path, chance: random.Random) -> None:
    """Damage a file in place."""
    content = path.read_bytes()
    name = path.name.lower()
    ways: list[Callable[[bytes, random.Random], bytes]] = [_flip, _cut, _repeat]
    if name.endswith((".json", ".jsonl")):
        ways = [_json] * 8 + ways
    elif name.endswith(".gz"):
        ways = [_gzip] * 8 + ways
    elif name.endswith(".npy"):
        ways = [_array] * 6 + ways
    elif name.endswith(".safetensors"):
        ways = [_tensors] * 8 + ways
    elif name.endswith(".xlsx"):
        ways = [_zip] * 6 + ways
    elif name.endswith(".parquet"):
        ways = [_parquet] * 8 + ways
    else:
        ways = [_text] * 10 + ways + [_encode]
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        try:
            content = chance.choice(ways)(content, chance)
        except Exception:  # damaged before, so that its structure cannot be read: now by byte
            content = _flip(content, chance)
    path.write_bytes(content)


# By byte


def _flip(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content or b"\0")
    for _ in range(chance.choice([1, 1, 2, 8])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _cut(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice([content[:start], content[end:], content[:start] + content[end:]])


def _repeat(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:end] * chance.choice([1, 1, 50]) + content[end:]


# By structure


def _text(content: bytes, chance: random.Random) -> bytes:
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    at = chance.randrange(len(lines))
    way = chance.randrange(6)
    if way == 0:
        lines.insert(at, chance.choice(lines))
    elif way == 1:
        del lines[at]
    elif way == 2:
        lines[at] += chance.choice(TOKENS)
    else:
        mark = max(",;\t ", key=lines[at].count)
        cells = lines[at].split(mark)
        place = chance.randrange(len(cells))
        if way == 3:
            cells.insert(place, chance.choice(TOKENS))
        elif way == 4:
            del cells[place]
        else:
            cells[place] = chance.choice(TOKENS)
        lines[at] = chance.choice([mark, mark, mark, ";"]).join(cells)
    ends = chance.choice(["\n"] * 6 + ["\r\n", "\r"])
    return ends.join(lines).encode("utf-8", "surrogateescape")


def _encode(content: bytes, chance: random.Random) -> bytes:
    text = content.decode("utf-8", "replace") + chance.choice(["", "é", "€"])
    return text.encode(chance.choice(["utf-16", "utf-16-le", "cp1252", "utf-8-sig", "utf-32", "utf-7"]), "replace")


def _json(content: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.03:
        return b"[" * 200_000
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    tree = [json.loads(lines[at] if len(lines) > 1 else content)]
    change(tree, chance)
    lines[at] = json.dumps(tree[0]).encode()
    return b"\n".join(lines) if len(lines) > 1 else lines[0]


def change(tree: Any, chance: random.Random) -> None:
    """Change one value somewhere in a tree of lists and dictionaries."""
    places = list(range(len(tree))) if isinstance(tree, list) else list(tree)
    place = chance.choice(places)
    if isinstance(tree[place], list | dict) and tree[place] and chance.random() < 0.8:
        change(tree[place], chance)
    elif chance.random() < 0.2 and (isinstance(tree, dict) or len(tree) > 1):
        del tree[place]
    else:
        tree[place] = chance.choice(VALUES)


def _gzip(content: bytes, chance: random.Random) -> bytes:
    return gzip.compress(_text(gzip.decompress(content), chance))


def _zip(content: bytes, chance: random.Random) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(target, "w") as copy:
        names = source.namelist()
        chosen = chance.choice(names)
        for name in names:
            data = source.read(name)
            copy.writestr(name, _text(data, chance) if name == chosen else data)
    return target.getvalue()


def _array(content: bytes, chance: random.Random) -> bytes:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    target = io.BytesIO()
    np.save(target, _damaged(array, chance), allow_pickle=False)
    return target.getvalue()


def _damaged(array: Any, chance: random.Random) -> Any:
    way = chance.randrange(5)
    if way == 0:
        kind = chance.choice([np.float64, np.int8, np.uint64, np.bool_]) if array.dtype.kind != "U" else "U1"
        with np.errstate(invalid="ignore"):  # NaN as an integer
            return array.astype(kind)
    if way == 1:
        return array.reshape(-1)[: chance.randrange(array.size + 1)]
    if way == 2:
        return array[..., None]
    copy = array.copy()
    if copy.size and copy.dtype.kind in "iuf":
        hostile = [np.nan, np.inf, -1.0] if copy.dtype.kind == "f" else [-7, 10**9, np.iinfo(copy.dtype).max]
        with np.errstate(all="ignore"):
            copy.reshape(-1)[chance.randrange(copy.size)] = np.array(chance.choice(hostile)).astype(copy.dtype)
    return copy


def _tensors(content: bytes, chance: random.Random) -> bytes:
    """Change one array of a file; its checksum, if it has one, is made to fit."""
    size = int.from_bytes(content[:8], "little")
    about = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    arrays = load(content)
    name = chance.choice(list(arrays))
    text = arrays[name].tobytes() if arrays[name].dtype == np.uint8 else b""
    if text[:1] in (b"{", b"["):
        arrays[name] = np.frombuffer(_json(text, chance), np.uint8)
    else:
        arrays[name] = np.ascontiguousarray(_damaged(arrays[name], chance))
    for key, value in about.items():
        if ", sha256 " in value:
            about[key] = f"{value.partition(', sha256 ')[0]}, sha256 {_digest(arrays)}"
    return bytes(save(arrays, about or None))


def _digest(arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()


def _parquet(content: bytes, chance: random.Random) -> bytes:
    """Change the type, name or values of a column, or the note in the metadata."""
    table = pq.read_table(pa.BufferReader(content))
    at = chance.randrange(table.num_columns)
    names = list(table.column_names)
    name, column, way = names[at], table.column(at), chance.randrange(6)
    kinds = [pa.string(), pa.float64(), pa.int8(), pa.binary(), pa.bool_(), pa.timestamp("s"), pa.list_(pa.int64())]
    if way == 0:
        table = table.drop_columns([name])
    elif way == 1:
        table = table.append_column(name, column)
    elif way == 2:
        table = table.set_column(at, name, pa.array([chance.choice([None, each]) for each in column.to_pylist()]))
    elif way == 3:
        table = table.set_column(at, name, pa.nulls(len(table), chance.choice(kinds)))
    elif way == 4:
        names[at] = chance.choice(["layer", "source", "x"])
        table = table.rename_columns(names)
    else:
        about = {key: _json(value, chance) for key, value in (table.schema.metadata or {}).items()}
        table = table.replace_schema_metadata(about)
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


# Checksums that stand in headers


def seal(folder: Path) -> None:
    """Make the checksums in the headers of a folder fit its files, as anyone could."""
    for header in [*folder.rglob("banditplex.json"), *folder.rglob("model.json")]:
        try:
            about = json.loads(header.read_bytes())
            if header.name == "model.json":
                about["sha256"] = {name: _file_digest(header.parent / name) for name in about["sha256"]}
            else:
                for name, entry in about["arrays"].items():
                    entry |= _describe(header.parent / f"{name}.npy")
                about.pop("sha256", None)
                about["sha256"] = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
            header.write_text(json.dumps(about))
        except Exception:  # so damaged that no checksum fits
            continue


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _describe(path: Path) -> dict[str, Any]:
    array = np.load(path, allow_pickle=False)
    size = {"bytes": path.stat().st_size, "sha256": _file_digest(path)}
    return {"dtype": array.dtype.str, "shape": list(array.shape)} | size
