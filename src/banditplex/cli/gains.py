"""Which layers help, in words: what `train` and `evaluate` say about `layer_gains_`, and a first look after seconds."""

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.cli.output import wrapped
from banditplex.errors import InputError
from banditplex.markdown import number
from banditplex.terminal import escape, say

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


def gains_on(model: "LinkPredictor", mx: "Multiplex", targets: "Sequence[Name] | None") -> "pd.DataFrame":
    """Return the gains of a model with the same settings on a multiplex."""
    from sklearn.base import clone

    from banditplex.training.gains import MAX_LAYERS

    model = clone(model)
    if mx.num_layers - 1 <= MAX_LAYERS:
        model.epochs = 1  # all layers are compared: gains do not depend on training
    with warnings.catch_warnings(action="ignore"):  # the runs have warned
        return model.fit(mx, targets).layer_gains_


AFTER = 10.0  # seconds after which there is something to look at
MANY = 32  # targets from which on a quick model of one of them takes little of the time: 8 of 153 s on fao
QUICK: Mapping[str, Any] = {"members": 1, "validation": 0.0}  # of that model
EPOCHS = 5  # of that model, at most
NAMED, LINKS = 3, 3  # targets and links that are named
RANKED, MOST_EDGES = 4_000, 500_000
"""Unknown pairs that are ranked; in a larger multiplex no links are named, as to draw the pairs would take long.

A sample takes a second with 2,000 nodes, where `recommend` would take eleven.
"""


class FirstLook:
    """Says what was found so far: before many targets are learnt, and once while networks are trained.

    While networks are trained, it says so `AFTER` seconds or more from the start. It says nothing if it is `silent`.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self._begin, self._silent, self._trained = time.monotonic(), silent, silent

    def begin(self, mx: "Multiplex", targets: "Sequence[Name] | None", settings: Mapping[str, Any]) -> None:
        """Say what a quick model of the first target finds, if there are so many that this takes little of the time."""
        from banditplex.predictor import LinkPredictor
        from banditplex.training.data import choose_device

        every = targets or [name for name, size in zip(mx.layer_names, mx.layer_sizes, strict=True) if size]
        model = LinkPredictor(**{**settings, **QUICK})
        model.epochs = min(EPOCHS, model.epochs)
        if self._silent or len(every) < MANY or choose_device(model.device).type != "cpu":
            return
        with warnings.catch_warnings(action="ignore"), suppress(InputError):  # the fit of all warns, and refuses
            self._say(model.fit(mx, every[:1]), f"with a quick model of {every[0]} alone")

    def epoch(self, model: "LinkPredictor", row: dict[str, Any]) -> None:
        """Say which layers are pooled with targets, after an epoch, unless most of the epochs are done."""
        if self._trained or time.monotonic() - self._begin < AFTER:
            return
        self._trained = True
        if 2 * row["epoch"] <= row["epochs"]:
            self._say(model)

    def _say(self, model: "LinkPredictor", how: str = "") -> None:
        after = f"after {time.monotonic() - self._begin:.0f} s" + f", {how}" * bool(how)
        say(f"a first look {after}: {'; '.join(findings(model))}. Training may change this.")


def findings(model: "LinkPredictor") -> list[str]:
    """Return what an unfinished model says: two layers of each of some panels, and the most likely of some links."""
    found: Any = model.panel_.query("weight > 0").groupby("target", sort=False)["layer"].agg(list)
    named = [f"{' and '.join(map(str, layers[:2]))} for {target}" for target, layers in found.head(NAMED).items()]
    if len(found) > NAMED:
        named.append(f"others for {len(found) - NAMED} more targets")
    target = found.index[0] if len(found) else model.k_.index[0]
    between = " to " if model.multiplex_.directed else " and "
    links = [between.join(map(str, pair)) for pair in likely_links(model, target)]
    layers = f"layers that seem to help: {', '.join(named) or 'none so far'}"
    return [layers] + [f"links to check first in {target}: {', '.join(links)}"] * bool(links)


def likely_links(model: "LinkPredictor", target: "Name") -> list[list["Name"]]:
    """Return the most likely of some unknown pairs, half of them near each other; none in a large multiplex."""
    from banditplex.pairs.unknown import UnknownPairs

    mx, visibility = model.multiplex_, model._fitted.view.visibility
    if mx.num_edges > MOST_EDGES:
        return []
    unknown = UnknownPairs(mx, visibility.negative_pairs(mx), visibility.negative_sampler(mx))
    drawn = unknown.sample(np.array([mx.layer_index(target)]), RANKED, np.random.default_rng(0))[1]
    pairs = np.unique(drawn if mx.directed else np.sort(drawn, axis=1), axis=0)
    best = np.argsort(-model.score_pairs(mx.node_names[pairs], target), kind="stable")[:LINKS]
    return mx.node_names[pairs[best]].tolist()
