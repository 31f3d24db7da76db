"""What the data is like, before anything is fitted, and how far heuristics without training get."""

from dataclasses import dataclass

import numpy as np

from banditplex.baselines import BASELINES
from banditplex.evaluation.protocol import copy_scorer, score_split, testable
from banditplex.evaluation.split import Split
from banditplex.markdown import number
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.known import pair_keys

UNTRAINED = {"overlap": "overlap", "preferential-attachment": "degree"}
"""Heuristics that need no training, and what they look at."""
TOO_EASY = 0.95


@dataclass(frozen=True)
class Facts:
    """Sizes of a multiplex, and ROC-AUC of heuristics on the first split (means over layers)."""

    title: str
    linked_pairs: int  # pairs of nodes that are linked in some layer, in either direction
    layers_per_pair: float  # mean number of layers in which they are linked
    several: float  # share of them that are linked in two or more layers
    density: tuple[float, float, float]  # of a layer: least, median, largest
    untrained: dict[str, float]

    @property
    def sentences(self) -> list[str]:
        """What to say about the data."""
        low, middle, high = (f"{100 * value:.2g} %" for value in self.density)
        spread = f"{middle} (from {low} to {high})" if low != high else middle
        scores = ", ".join(f"{UNTRAINED[name]} {number(value)}" for name, value in self.untrained.items())
        return [
            f"Layers per linked pair: {self.layers_per_pair:.2f}; {100 * self.several:.0f} % of the "
            f"{self.linked_pairs:,} linked pairs are in two or more layers. Density of a layer: {spread}.",
            f"Without training, ROC-AUC on the first split: {scores}.",
        ]

    @property
    def warning(self) -> str | None:
        """What to beware of: a heuristic that needs no training solves the task."""
        easy = [name for name, value in self.untrained.items() if value > TOO_EASY]
        if not easy:
            return None
        scores = " and ".join(f"{UNTRAINED[name]} alone ({number(self.untrained[name])})" for name in easy)
        advice = " Hide held-out pairs in every layer instead." if "overlap" in easy else " Hard negatives tell more."
        return f"This split proves nothing: {scores} exceeds .95 without any training.{advice}"


def describe(mx: Multiplex, data: Split, targets: tuple[Name, ...] | None = None) -> Facts:
    """Return the facts of a multiplex; `data` is the split of the first seed."""
    no_loop = mx.edge_index[0] != mx.edge_index[1]
    keys = pair_keys(mx.edge_layer[no_loop], mx.edge_index[:, no_loop].T, mx.num_nodes, ordered=False)
    in_layer = np.unique(keys) % max(mx.num_nodes, 1) ** 2  # both directions count once
    count = np.unique(in_layer, return_counts=True)[1]
    density = mx.summary().layers["density"].to_numpy()
    low, middle, high = (float(value) for value in np.quantile(density, (0.0, 0.5, 1.0)))
    names, untrained = testable(data, targets or data.train.layer_names), {}
    for name in UNTRAINED:
        scorer = copy_scorer(BASELINES[name](), 0, data.hide).fit(data.train, names)
        untrained[name] = float(score_split(scorer, data, names, metrics=["roc_auc"])[-1]["roc_auc"])
    return Facts(
        mx.title, len(count), float(count.mean()) if len(count) else 0.0,
        float((count > 1).mean()) if len(count) else 0.0, (low, middle, high), untrained,
    )  # fmt: skip
