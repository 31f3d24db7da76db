"""What a long training says after ten seconds: which layers seem to help, and the links of the unfinished model."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from banditplex.terminal import say

if TYPE_CHECKING:
    from banditplex.multiplex import Name
    from banditplex.predictor import LinkPredictor

AFTER = 10.0  # seconds after which there is something to look at
NAMED, LINKS = 3, 3  # targets and links that are named
RANKED, MOST_EDGES = 4_000, 500_000
"""Unknown pairs that are ranked; in a larger multiplex no links are named, as to draw the pairs would take long.

A sample takes a second with 2,000 nodes, where `recommend` would take eleven.
"""


class FirstLook:
    """Says once, after the first epoch that ends `AFTER` seconds or more from the start, what was found so far."""

    def __init__(self) -> None:
        self._begin, self._said = time.monotonic(), False

    def tell(self, model: "LinkPredictor", row: dict[str, Any]) -> None:
        """Say it, unless most of the epochs are done."""
        after = time.monotonic() - self._begin
        if self._said or after < AFTER:
            return
        self._said = True
        if 2 * row["epoch"] <= row["epochs"]:
            say(f"a first look after {after:.0f} s: {'; '.join(findings(model, row))}. Training may change this.")


def findings(model: "LinkPredictor", row: dict[str, Any]) -> list[str]:
    """Return what an unfinished model says: which layers it pools with targets, and the most likely of some links."""
    panels: Any = model.panel_[model.panel_["weight"] > 0].groupby("target", sort=False)["layer"].agg(list)
    named = [f"{' and '.join(map(str, layers[:2]))} for {target}" for target, layers in panels.head(NAMED).items()]
    if len(panels) > NAMED:
        named.append(f"others for {len(panels) - NAMED} more targets")
    found = [f"layers that seem to help: {', '.join(named) or 'none so far'}"]
    target = panels.index[0] if len(panels) else row["layers"][0]["layer"]
    between = " to " if model.multiplex_.directed else " and "
    links = [between.join(map(str, pair)) for pair in likely_links(model, target)]
    return found + [f"links to check first in {target}: {', '.join(links)}"] * bool(links)


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
