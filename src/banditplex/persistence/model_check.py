"""What a model folder may hold: a schema of its JSON, and sizes that are compared before anything is made of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from banditplex.errors import FormatError
from banditplex.multiplex import Multiplex
from banditplex.nn.model import RANK
from banditplex.nn.vectors import DIMENSION, FOLDS, num_sets
from banditplex.schema import ANY_NUMBER, ANYTHING, DISTINCT_NAMES, NAMES, SHA256, Kind, check, number, one_of, whole
from banditplex.training.config import Config
from banditplex.training.history import ROW
from banditplex.training.setup import choose_hidden_units, choose_width

ARGUMENTS = {"hide": ANYTHING, "policy_options": (type(None), {"*": ANYTHING})}
_MODERATE = number(-1e9, 1e9)
_GAIN = {
    "target": whole(0), "layer": whole(0), "gain": ANY_NUMBER, "low": ANY_NUMBER, "high": ANY_NUMBER, "helps": bool
}  # fmt: skip
SCHEMA = {
    "format": int,
    "config": {"*": ANYTHING},
    "arguments": ARGUMENTS,
    "directed": bool,
    "layer_names": DISTINCT_NAMES,
    "node_names": NAMES,
    "node_types": (type(None), [str]),
    "feature_names?": [str],
    "targets": [int],
    "panels": [[int]],
    "layers": [[int]],
    "counts": [int],
    "members": whole(1),
    "beside": [one_of("regression", "vectors")],
    "gains": (type(None), [_GAIN]),
    "calibration": {name: [_MODERATE] for name in ("knots", "slopes", "factor", "bias", "most")},
    "policy": {"*": int},
    "history": [ROW],
    "sha256": {"*": SHA256},
}
MAX_DEPTH = 1000
"""Convolutions without weights, which leave no trace in the file of weights, are not made more often than this."""


def check_numbers(index: Mapping[str, Any], path: Path) -> None:
    """Refuse targets, layers, counts, gains and calibration that do not fit each other."""
    last, targets, layers = len(index["layer_names"]) - 1, index["targets"], index["layers"]
    check(targets, [whole(0, last)], path=path, what="targets")
    check(len(set(targets)), one_of(len(targets) or 1), path=path, what="the number of distinct targets")
    for name in ("panels", "layers", "counts"):
        check(len(index[name]), one_of(len(targets)), path=path, what=f"the length of {name}")
    width = len(layers[0])
    check(layers, [[whole(0, last)]], path=path, what="layers")
    check(index["panels"], [[whole(0, last)]], path=path, what="panels")
    check([len(each) for each in layers], [one_of(width)], path=path, what="layers of each target")
    check(index["counts"], [whole(0, width)], path=path, what="counts")
    for gain in index["gains"] or ():
        check(gain, {"target": whole(0, last), "layer": whole(0, last), "*": ANYTHING}, path=path, what="gains")
    found = index["calibration"]
    sizes = {"slopes": len(found["knots"]) + 1, **dict.fromkeys(("factor", "bias", "most"), len(targets))}
    for name, size in {"knots": max(1, len(found["knots"])), **sizes}.items():
        check(len(found[name]), one_of(size), path=path, what=f"the length of calibration.{name}")
    for name in ("slopes", "factor"):
        if min(found[name]) <= 0:
            raise FormatError(f"expected numbers above 0 as calibration.{name}, got {min(found[name])}", path=path)
    if sorted(found["knots"]) != found["knots"]:
        raise FormatError(f"expected rising calibration.knots, got {found['knots']}", path=path)
    names = set(index["layer_names"])
    known = Kind("a layer", lambda value: type(value) in (int, str) and value in names)
    check([row["layer"] for row in index["history"]], [known], path=path, what="layers of the history")
    types = index["node_types"]
    if types is not None:
        check(len(types), one_of(len(index["node_names"])), path=path, what="the length of node_types")


def check_sizes(path: Path, config: Config, mx: Multiplex, num_examples: int, members: int, *, vectors: bool) -> None:
    """Refuse settings that ask for more or larger networks than the file of weights holds, from its header alone."""
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FormatError(f"expected weights, got a damaged file ({error})", path=path) from None
    if members > 1:
        found = {name.split(".")[1] for name in shapes if name.startswith("members.")}
        if len(found) != members:
            raise FormatError(f"expected weights of {members} networks (members), got those of {len(found)}", path=path)
        first = "members.0."
        shapes = {name.removeprefix(first): shape for name, shape in shapes.items()}
    width, num_layers = choose_width(config, mx), mx.num_layers
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "own.net.first.bias": ("hidden_units", (choose_hidden_units(config, num_examples),)),
        "other.of_target": ("layer_names", (num_layers, RANK)),
    }
    if width:
        features = 0 if mx.node_features is None else mx.node_features.shape[1]
        rows = (width, features) if features else (mx.num_nodes, width)
        expected |= {"encoder.degree.bias": ("width", (width,)), "encoder.input.weight": ("width", rows)}
    if vectors:
        expected["beside.vectors.node"] = ("beside", (num_sets(mx), FOLDS, mx.num_nodes, 2 * DIMENSION))
    for name, (setting, shape) in expected.items():
        if shapes.get(name) != shape:
            got = f"{shapes[name]}" if name in shapes else "none"
            raise FormatError(
                f"expected {name} of shape {shape}, as {setting} in model.json says, got {got}", path=path
            )
    made = {name.split(".")[2] for name in shapes if name.startswith("encoder.convs.")}
    if width and (len(made) != config.depth if made else config.depth > MAX_DEPTH):
        got = f"those of {len(made)}" if made else "none"
        raise FormatError(f"expected weights of {config.depth} convolutions (depth), got {got}", path=path)
