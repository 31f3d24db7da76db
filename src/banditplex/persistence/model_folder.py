"""Model folders: safetensors and JSON, nothing that runs code when read, checked before anything is made of it."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save as array_bytes
from safetensors.torch import load_file as load_tensors
from safetensors.torch import save as tensor_bytes

from banditplex.errors import FormatError, InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.join import FEATURE_NAMES
from banditplex.multiplex.stored import from_arrays
from banditplex.nn import Convolution, MultiplexModel
from banditplex.nn.encoder import name_of
from banditplex.nn.ensemble import Beside, beside_of, joined, members_of
from banditplex.nn.model import RANK
from banditplex.nn.panels import Panels
from banditplex.nn.regression import Regression
from banditplex.nn.relevance import get_relevance
from banditplex.nn.vectors import Vectors, shape_of
from banditplex.nn.view import pack
from banditplex.persistence.index import FILES, INDEX, digest, read_index, successor
from banditplex.prediction import Calibration, FittedModel
from banditplex.schema import (
    ANY_NUMBER,
    ANYTHING,
    DISTINCT_NAMES,
    NAMES,
    SHA256,
    Kind,
    check,
    number,
    one_of,
    whole,
)
from banditplex.storage.files import locked_folder, replace_file, sync, writing
from banditplex.training.config import SETTINGS, Config
from banditplex.training.data import choose_device, count_examples
from banditplex.training.history import ROW
from banditplex.training.likeness import check_like
from banditplex.training.setup import build_network, choose_hidden_units, choose_width, make_policies

ARGUMENTS = {"hide": ANYTHING, "policy_options": (type(None), {"*": ANYTHING})}
_MODERATE = number(-1e9, 1e9)
_POSITIVE = Kind("a number above 0", lambda value: value > 0)
_GAIN = {
    "target": whole(0), "layer": whole(0), "gain": ANY_NUMBER, "low": ANY_NUMBER, "high": ANY_NUMBER,
    "weight": _POSITIVE, "helps": bool,
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
    """Refuse settings that ask for more or larger networks, or more `beside` them, than the header of weights shows."""
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


FORMAT = 14
Row = dict[str, Any]
GRAPH = ("edge_index", "layer_offsets", "weight", "time", "node_features")


def save(folder: str | Path, fitted: FittedModel, config: Config, history: list[Row], arguments: Row) -> None:
    """Write a model folder, which at any moment holds the old model or the new one, whole.

    The index `model.json` knows the other files by their checksums. It is replaced once their successors are written
    (NAME.new), which then take their places; one that the index knows counts as the file. `config` has the settings of
    training, `arguments` those of the constructor that training resolves: `hide` and `policy_options`.
    """
    folder, mx = Path(folder), fitted.mx
    graph = {name: np.ascontiguousarray(value) for name in GRAPH if (value := getattr(mx, name)) is not None}
    state = {} if fitted.policy is None else fitted.policy.state_dict()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    weights = {name: value.detach().cpu().contiguous() for name, value in fitted.model.state_dict().items()}
    beside = beside_of(fitted.model)
    index = {
        "format": FORMAT,
        "config": config_to_json(config),
        "arguments": arguments,
        "directed": mx.directed,
        "layer_names": list(mx.layer_names),
        "node_names": mx.node_names.tolist(),
        "node_types": None if mx.node_types is None else mx.node_types.tolist(),
        **{name: list(mx.metadata[name]) for name in (FEATURE_NAMES,) if name in mx.metadata},
        "targets": fitted.targets.tolist(),
        "panels": [fitted.panels.layers[target] for target in fitted.targets.tolist()],
        "layers": fitted.layers.tolist(),
        "counts": fitted.counts.tolist(),
        "members": len(members_of(fitted.model)),
        "beside": [] if beside is None else [name for name, _ in beside.named_children()],
        "gains": fitted.gains,
        "calibration": asdict(fitted.calibration),
        "policy": {name: value for name, value in state.items() if name not in arrays},
        "history": history,
    }
    data = dict(zip(FILES, (array_bytes(graph), array_bytes(arrays), tensor_bytes(weights)), strict=True))
    index["sha256"] = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
    with locked_folder(folder):
        _settle(folder, _known(folder))
        for name, content in data.items():
            replace_file(successor(folder / name), content)
        replace_file(folder / INDEX, json.dumps(index, default=_plain).encode())
        _settle(folder, index["sha256"])


def load(
    folder: str | Path, *, device: str = "auto", conv: Convolution | None = None
) -> tuple[FittedModel, Config, list[Row], Row]:
    """Read model, settings, history and arguments; `conv`: that of the encoder, if it is not one of PyG."""
    folder = Path(folder)
    index = _read_index(folder)
    try:
        return _from_index(folder, index, device, conv)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(str(error).removesuffix("."), path=folder) from None
    except Exception as error:
        found = " ".join(f"{type(error).__name__}: {error}".split())
        raise FormatError(f"expected a complete model folder, got {found}", path=folder) from error


def _from_index(
    folder: Path, index: dict[str, Any], device: str, conv: Convolution | None
) -> tuple[FittedModel, Config, list[Row], Row]:
    check(index, SCHEMA, path=folder / INDEX)
    check_numbers(index, folder / INDEX)
    config = _config_from_json(index["config"], device, conv)
    files = [_known_file(folder / name, index["sha256"].get(name)) for name in FILES]
    mx = _multiplex(load_arrays(files[0]), index, files[0])
    targets = np.array(index["targets"], np.int64)
    sizes = config, mx, count_examples(mx, targets), index["members"]
    check_sizes(files[2], *sizes, index["beside"])
    arrays, weights = load_arrays(files[1]), load_tensors(files[2])
    where = choose_device(device)
    panels = Panels(dict(zip(index["targets"], map(tuple, index["panels"]), strict=True)))
    visibility = config.visibility(mx, panels)
    networks = [build_network(mx, targets, config, visibility) for _ in range(index["members"])]
    model = joined(networks, _beside(networks, index, mx))
    like = model.state_dict()
    check_like({name: weights[name] for name in like if name in weights} | weights, like, str(files[2]))
    model.load_state_dict(weights)
    policy = make_policies(config, mx.num_layers, len(targets))
    if policy is not None:
        policy.load_state_dict({**index["policy"], **arrays})
    calibration = Calibration(**{name: np.array(each, np.float64) for name, each in index["calibration"].items()})
    fitted = FittedModel(
        mx, model.to(where).eval(), pack(mx, where, visibility, panels), policy, targets, panels,
        np.array(index["layers"], np.int64).reshape(len(targets), -1), np.array(index["counts"], np.int64),
        calibration, config.seed, index["gains"],
    )  # fmt: skip
    arguments = index["arguments"]
    if arguments["policy_options"]:
        (arguments["policy_options"],) = _with_names([arguments["policy_options"]], fitted.mx.layer_names)
    return fitted, config, _with_names(index["history"], fitted.mx.layer_names), arguments


def _beside(networks: Sequence[MultiplexModel], index: Mapping[str, Any], mx: Multiplex) -> Beside | None:
    """Return what is beside networks, with weights of 0."""
    names, first = index["beside"], networks[0]
    regression = Regression.like(first, max(index["counts"])) if "regression" in names else None
    vectors = Vectors(mx, first.visibility) if "vectors" in names else None
    return Beside(mx.num_layers, regression, vectors) if names else None


def _read_index(folder: Path) -> dict[str, Any]:
    index = read_index(folder)
    found = index.get("format") if isinstance(index, dict) else None
    if found != FORMAT:
        raise FormatError(f"expected a model folder of format {FORMAT}, got format {found!r}", path=folder / INDEX)
    return dict(index)


def _known_file(path: Path, known: str | None) -> Path:
    """Return a file or its successor, whichever has this digest; refuse damaged files and those of others."""
    for each in (path, successor(path)):
        if known is not None and digest(each) == known:
            return each
    if not path.exists():
        raise FileNotFoundError(path)
    raise FormatError("expected the file that model.json was written with, got another", path=path)


def _known(folder: Path) -> dict[str, str]:
    """Return the digests that the index of a folder knows; none if there is no index."""
    try:
        found = _read_index(folder).get("sha256")
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}


def _settle(folder: Path, known: Mapping[str, str]) -> None:
    """Let successors that the index knows take their places, also those of a model whose saving was cut off."""
    with writing(folder):
        files = [folder / name for name in FILES if name in known]
        waiting = [path for path in files if digest(successor(path)) == known[path.name]]
        for path in waiting:
            os.replace(successor(path), path)
        if waiting:
            sync(folder)


def _multiplex(graph: Mapping[str, Any], index: Mapping[str, Any], file: Path) -> Multiplex:
    names = index["node_names"]
    integers = all(isinstance(name, int) for name in names)
    types = index["node_types"]
    return from_arrays(
        graph, tuple(index["layer_names"]), np.array(names, dtype=np.int64 if integers else object),
        files=lambda name: f"{file} ({name})", directed=index["directed"],
        node_types=None if types is None else np.array(types, dtype=object),
        metadata={name: index[name] for name in (FEATURE_NAMES,) if name in index},
    )  # fmt: skip


def _with_names(rows: list[Row], layer_names: Sequence[Name]) -> list[Row]:
    """Give dictionaries over layers their names back: JSON turns integers into strings."""
    names = {str(name): name for name in layer_names}

    def named(value: Any) -> Any:
        return {names[name]: number for name, number in value.items()} if isinstance(value, dict) else value

    return [{key: named(value) for key, value in row.items()} for row in rows]


def config_to_json(config: Config) -> dict[str, Any]:
    """Return the settings as JSON can hold them: callables and classes by their names."""
    values = config.values()
    values["policy_options"] = config.policy_options and dict(config.policy_options)
    if not isinstance(config.relevance, str):
        values["relevance"] = get_relevance(config.relevance).name
    if not isinstance(config.conv, str):
        name = name_of(config.conv)
        values["conv"] = f"class {name}" if config.conv is _of_pyg(name) else f"own {name}"
    return values


def _config_from_json(values: dict[str, Any], device: str, conv: Convolution | None) -> Config:
    if unknown := sorted(set(values) - SETTINGS.keys()):
        raise InputError(f"Expected settings this version knows, got {', '.join(unknown)}.")
    if conv is not None:
        values["conv"] = conv
    elif values["conv"].startswith(("class ", "own ")):
        kind, name = values["conv"].split(" ", 1)
        values["conv"] = _of_pyg(name) if kind == "class" else None
        if values["conv"] is None:
            raise InputError(f"Expected conv= with the {name!r} that this model was trained with, got none.")
    return Config(**{**values, "device": device}).checked()


def _of_pyg(name: str) -> Any:
    """Return PyG's convolution of that name, None if there is none."""
    import torch_geometric.nn

    found = getattr(torch_geometric.nn, name, None)
    return found if isinstance(found, type) and issubclass(found, torch_geometric.nn.MessagePassing) else None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
