"""What a run leaves in its folder for the page besides the model: how it was made, its quality on held-out edges."""

import json
import platform
import shlex
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from banditplex.multiplex import Multiplex
from banditplex.multiplex.notes import notes_of
from banditplex.predictor import LinkPredictor
from banditplex.report import held_out
from banditplex.report.page import plain
from banditplex.rng import stream
from banditplex.schema import number, parse, whole
from banditplex.storage.files import regular, replace_file
from banditplex.version import __version__

ABOUT, PAGE = "about.json", "report.html"
_SHARE = number(-1e-9, 1 + 1e-9, phrase="a number from 0 to 1")
_BIN = {**dict.fromkeys(("probability", "share", "low", "high"), _SHARE), "links": whole()}
_MAYBE = (type(None), _SHARE)
_TARGET = {"edges": whole(), "roc_auc": _MAYBE, "low?": _MAYBE, "high?": _MAYBE, "clear?": bool}
PACKAGES = ("numpy", "scipy", "pandas", "torch", "torch-geometric")


def describe(data: str, mx: Multiplex) -> dict[str, Any]:
    """Return how the running command makes its results: data, command, date, versions, the truth, notes on reading.

    The truth is (target, relevant layer) of data that was made with known relevant layers, None of other data.
    """
    truth: Any = mx.metadata.get("relevant")
    found = [(mx.layer_index(target), mx.layer_index(layer)) for target in truth or () for layer in truth[target]]
    versions = {"banditplex": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):  # a part of another distribution
            versions[name] = version(name)
    return {
        "data": data,
        "command": f"banditplex {shlex.join(sys.argv[1:])}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": versions,
        "relevant": None if truth is None else found,
        "notes": notes_of(mx.metadata),
    }


def write_about(folder: Path, data: str, mx: Multiplex, model: LinkPredictor, title: str | None = None) -> None:
    """Write how a run was made, the quality of its model and the title asked for, unless this was done before."""
    if (folder / ABOUT).exists():
        return
    about = describe(data, mx) | {"held_out": quality(model), "title": title}
    replace_file(folder / ABOUT, json.dumps(plain(about), indent=1, ensure_ascii=False).encode())


def quality(model: LinkPredictor) -> dict[str, Any] | None:
    """Return the quality of a model on held-out edges; None of a loaded one, which does not know them."""
    found = model.held_out_
    return None if found is None else held_out.summarise(found, stream(model.seed, "reliability"))


def read_about(folder: Path, model: LinkPredictor) -> dict[str, Any]:
    """Return what `write_about` wrote about a model, empty if there is no such file."""
    path = folder / ABOUT
    try:
        text = regular(path).read_bytes()
    except FileNotFoundError:
        return {}
    layer = whole(0, model.multiplex_.num_layers - 1)
    return parse(text, {
        "data?": str, "title?": (type(None), str), "command?": str, "date?": str, "versions?": {"*": str},
        "notes?": [str], "relevant?": (type(None), [[layer, 2]]),
        "held_out?": (type(None), {"bins": [_BIN], "targets": [_TARGET, len(model.k_)]}),
    }, path=path)  # fmt: skip
