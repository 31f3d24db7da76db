"""What the rows of a run may hold, so that a file which is resumed can be checked; and what identifies its data."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.schema import Kind, Schema, check, number, whole
from banditplex.storage.rows import Row

SHARE = number(0, 1 + 1e-9, phrase="a number from 0 to 1")
SECONDS = number(0, 1e9, phrase="a number of seconds")
CUT = Kind("a number from 0 to 1 or NaN", lambda value: SHARE.test(value) or value != value)
"""Of hits among the first so many, which are not known where there are fewer."""


def metric_schema(names: Iterable[str]) -> Schema:
    """Return the schema of metrics."""
    return {name: CUT if "hits_at_" in name else SHARE for name in names}


def row_schemas(head: Mapping[str, Schema], measured: Mapping[str, Schema], layers: Iterable[Name]) -> dict[str, Any]:
    """Return the schemas of rows by scope: `head` is common to all, `measured` to those that have metrics."""
    names = set(layers)
    layer = Kind("a target layer", lambda value: type(value) in (int, str) and value in names)
    took = {"fit_seconds": SECONDS, "score_seconds": SECONDS, "train_edges": whole(), "test_edges": whole(1)}
    row = {**head, "scope": str, "layer": type(None), **measured, **took}
    return {"layer": row | {"layer": layer}, "pooled": row, "mean": row}


def check_rows(rows: Sequence[Row], schemas: Mapping[str, Schema], *, alone: Sequence[str] = ()) -> None:
    """Refuse rows that no run has written: each layer once, then pooled and mean; or one row of a scope in `alone`."""
    scope = Kind(" or ".join(schemas), lambda value: type(value) is str and value in schemas)
    for place, row in enumerate(rows, 1):
        check(row.get("scope"), scope, what=f"scope of row {place}")
        check(row, schemas[row["scope"]], what=f"row {place}")
    layers = [row["layer"] for row in rows if row["scope"] == "layer"]
    scopes = [row["scope"] for row in rows]
    if scopes in [[each] for each in alone]:
        return
    expected = ["layer"] * max(len(layers), 1) + ["pooled", "mean"]
    if scopes != expected or len(set(layers)) < len(layers) or "pooled" not in schemas:
        wanted = [*(["each layer once, pooled and mean"] if "pooled" in schemas else []), *alone]
        raise InputError(f"Expected rows of {' or '.join(wanted)}, got {', '.join(scopes) or 'none'}.")


def describe_data(mx: Multiplex) -> Row:
    """Return what identifies a multiplex: its sizes, and a checksum of everything except the metadata."""
    arrays = (mx.edge_index, mx.layer_offsets, mx.weight, mx.time, mx.node_features)
    digest = hashlib.sha256(repr((mx.layer_names, mx.node_names.tolist())).encode())
    for array in arrays:
        digest.update(b"none" if array is None else f"{array.dtype} {array.shape}".encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    if mx.node_types is not None:
        digest.update(repr(mx.node_types.tolist()).encode())
    sizes = {"nodes": mx.num_nodes, "layers": mx.num_layers, "edges": mx.num_edges, "directed": mx.directed}
    return sizes | {"checksum": digest.hexdigest()[:16]}
