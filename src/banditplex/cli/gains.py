"""Which layers help, in words: what `train` and `evaluate` say about `layer_gains_`."""

import sys
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

from banditplex.cli.output import wrapped
from banditplex.markdown import number
from banditplex.terminal import escape

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor

SHOWN, LAYERS, NAMES = 10, 3, 6
"""Targets with a line of their own, layers in such a line, and names in a list of targets."""
MEANING = (
    "Which layers help: a layer helps if the log loss falls clearly (95 % limits above 0) when it is added to a model "
    "of the target layer alone."
)


def print_gains(table: "pd.DataFrame", note: str = "") -> None:
    """Print which layers help, the largest gain first; a note says where gains were measured."""
    print(wrapped(escape(f"{MEANING} {note}".rstrip())))
    width = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize  # a file gets every line whole
    wrap = TextWrapper(width, "  ", "    ", break_long_words=False, break_on_hyphens=False)
    for line in gain_lines(table):
        print(wrap.fill(escape(line)))


def gain_lines(table: "pd.DataFrame") -> list[str]:
    """Return a line per target with a layer that helps, the largest gain first, and one for all others."""
    if table.empty:
        return ["there is no other layer"]
    helpful = table[table["helps"]].sort_values("gain", ascending=False, kind="stable")
    targets = list(dict.fromkeys(helpful["target"]))
    lines = [_line(target, helpful[helpful["target"] == target]) for target in targets[:SHOWN]]
    if len(targets) > SHOWN:
        lines.append(f"... and {len(targets) - SHOWN} more targets that a layer helps")
    unknown = [target for target, gain in table.groupby("target", sort=False)["gain"].count().items() if not gain]
    others = [target for target in dict.fromkeys(table["target"]) if target not in {*targets, *unknown}]
    if others:
        lines.append(f"{named(others)}: no other layer helps")
    if unknown:
        lines.append(f"{named(unknown)}: not known, there are too few edges")
    return lines


def _line(target: Any, rows: "pd.DataFrame") -> str:
    found = [
        (layer, f"{number(gain)} ({number(low)} to {number(high)})")
        for layer, gain, low, high in rows[["layer", "gain", "low", "high"]].itertuples(index=False)
    ]
    if len(found) == 1:
        return f"{target}: {found[0][0]} helps: log loss falls by {found[0][1]}"
    shown = ", ".join(f"{by} with {layer}" for layer, by in found[:LAYERS])
    more = f", and {len(found) - LAYERS} more" * (len(found) > LAYERS)
    return f"{target}: {len(found)} layers help: log loss falls by {shown}{more}"


def named(targets: list[Any]) -> str:
    """Return some targets in words, the first by name."""
    more = f" and {len(targets) - NAMES} more" * (len(targets) > NAMES)
    return ", ".join(map(str, targets[:NAMES])) + more


def gains_on(model: "LinkPredictor", mx: "Multiplex", targets: "list[Name] | None") -> "pd.DataFrame":
    """Return the gains of a model with the same settings on a multiplex."""
    import warnings

    from sklearn.base import clone

    from banditplex.training.gains import MAX_LAYERS

    model = clone(model)
    if mx.num_layers - 1 <= MAX_LAYERS:
        model.epochs = 1  # all layers are compared: gains do not depend on training
    with warnings.catch_warnings(action="ignore"):  # the runs have warned
        return model.fit(mx, targets).layer_gains_
