"""Which layers help, in words: what `train` and `evaluate` say about `layer_gains_`, and a first look after seconds."""

import sys
import time
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.cli.output import wrapped
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


AFTER = 10.0  # seconds after which there is something to look at
NAMED, LINKS = 3, 3  # targets and links that are named
RANKED, MOST_EDGES = 4_000, 500_000
"""Unknown pairs that are ranked; in a larger multiplex no links are named, as to draw the pairs would take long.

A sample takes a second with 2,000 nodes, where `recommend` would take eleven.
"""


class FirstLook:
    """Says what was found so far: once while panels are searched for, and once while networks are trained.

    It says so `AFTER` seconds or more from the start, unless it is `silent`.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self._begin, self._searched, self._trained = time.monotonic(), silent, silent

    def search(self, model: "LinkPredictor", share: float) -> None:
        """Say what bandits draw most, if they explore; `share` of the search for panels is done."""
        after = time.monotonic() - self._begin
        if self._searched or after < AFTER or share == 1 or not model.__sklearn_is_fitted__():
            return
        self._searched = True
        found = findings(model, "layers that bandits draw most", model.panel_)
        say(f"a first look after {after:.0f} s: {'; '.join(found)}. The search may change this.")

    def epoch(self, model: "LinkPredictor", row: dict[str, Any]) -> None:
        """Say which layers are pooled with targets, after an epoch, unless most of the epochs are done."""
        after = time.monotonic() - self._begin
        if self._trained or after < AFTER:
            return
        self._trained = True
        if 2 * row["epoch"] <= row["epochs"]:
            found = findings(model, "layers that seem to help", model.panel_[model.panel_["weight"] > 0])
            say(f"a first look after {after:.0f} s: {'; '.join(found)}. Training may change this.")


def findings(model: "LinkPredictor", what: str, panels: "pd.DataFrame") -> list[str]:
    """Return what an unfinished model says: two layers of each of some panels, and the most likely of some links."""
    found: Any = panels.groupby("target", sort=False)["layer"].agg(list)
    named = [f"{' and '.join(map(str, layers[:2]))} for {target}" for target, layers in found.head(NAMED).items()]
    if len(found) > NAMED:
        named.append(f"others for {len(found) - NAMED} more targets")
    target = found.index[0] if len(found) else model.k_.index[0]
    between = " to " if model.multiplex_.directed else " and "
    links = [between.join(map(str, pair)) for pair in likely_links(model, target)]
    layers = f"{what}: {', '.join(named) or 'none so far'}"
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
