"""What a model folder may hold: a schema of its JSON, and sizes that are compared before anything is made of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from banditplex.errors import FormatError
from banditplex.multiplex import Multiplex
from banditplex.nn.model import RANK
from banditplex.nn.vectors import shape_of
from banditplex.schema import ANY_NUMBER, ANYTHING, DISTINCT_NAMES, NAMES, SHA256, Kind, check, number, one_of, whole
from banditplex.training.config import Config
from banditplex.training.history import ROW
from banditplex.training.setup import choose_hidden_units, choose_width

ARGUMENTS = {"hide": ANYTHING, "policy_options": (type(None), {"*": ANYTHING})}
_MODERATE = number(-1e9, 1e9)
_POSITIVE = Kind("a number above 0", lambda value: value > 0)
_GAIN = {
    "target": whole(0), "layer": whole(0), "gain": ANY_NUMBER, "low": ANY_NUMBER, "high": ANY_NUMBER, "helps": bool
}  # fmt: skip
SCHEMA = {
    "format": int, "config": {"*": ANYTHING}, "arguments": ARGUMENTS, "directed": bool, "layer_names": DISTINCT_NAMES,
    "node_names": NAMES, "node_types": (type(None), [str]), "feature_names?": [str], "targets": [int],
    "panels": [[int]], "layers": [[int]], "counts": [int], "members": whole(1),
    "beside": [one_of("regression", "vectors")], "gains": (type(None), [_GAIN]),
    "calibration": {name: [_MODERATE] for name in ("knots", "slopes", "factor", "bias", "most")}, "policy": {"*": int},
    "history": [ROW], "sha256": {"*": SHA256},
}  # fmt: skip
MAX_DEPTH = 1000  # convolutions without weights leave no trace in the file: not more than this


def check_numbers(index: Mapping[str, Any], path: Path) -> None:
    """Refuse targets, layers, counts, gains and calibration that do not fit each other."""
    layer, size, knots = whole(0, len(index["layer_names"]) - 1), len(index["targets"]), index["calibration"]["knots"]
    check(len(set(index["targets"])), one_of(size or 1), path=path, what="the number of distinct targets")
    width, names = len((index["layers"] or [()])[0]), set(index["layer_names"])
    known = Kind("a layer", lambda value: type(value) in (int, str) and value in names)
    check(index, {
        "targets": [layer], "panels": [[layer], size], "layers": [[layer, width], size],
        "counts": [whole(0, width), size],
        "gains": (type(None), [{"target": layer, "layer": layer, "*": ANYTHING}]),
        "calibration": {
            "knots": [_MODERATE, max(1, len(knots))], "slopes": [_POSITIVE, len(knots) + 1],
            "factor": [_POSITIVE, size], "bias": [_MODERATE, size], "most": [_MODERATE, size],
        },
        "history": [{"layer": known, "*": ANYTHING}],
        "node_types": (type(None), [str, len(index["node_names"])]), "*": ANYTHING,
    }, path=path)  # fmt: skip
    if sorted(knots) != knots:
        raise FormatError(f"expected rising calibration.knots, got {knots}", path=path)


def check_sizes(
    path: Path, config: Config, mx: Multiplex, num_examples: int, members: int, beside: Sequence[str]
) -> None:
    """Refuse settings that ask for more or larger networks than the file of weights holds, from its header alone.

    `beside` names what is beside the networks.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FormatError(f"expected weights, got a damaged file ({error})", path=path) from None
    if members > 1 or beside:
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
    if "vectors" in beside:
        sets, models, size = shape_of(mx)
        expected["beside.vectors.node"] = ("beside", (sets, models, mx.num_nodes, size))
    for name, (setting, shape) in expected.items():
        if shapes.get(name) != shape:
            expected_shape, got = f"{shape}, as {setting} in model.json says", shapes.get(name, "none")
            raise FormatError(f"expected {name} of shape {expected_shape}, got {got}", path=path)
    made = {name.split(".")[2] for name in shapes if name.startswith("encoder.convs.")}
    if width and (len(made) != config.depth if made else config.depth > MAX_DEPTH):
        got = f"those of {len(made)}" if made else "none"
        raise FormatError(f"expected weights of {config.depth} convolutions (depth), got {got}", path=path)
