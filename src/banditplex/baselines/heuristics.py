"""Heuristics without training: a structural feature of a pair is its score."""

from functools import partial

import numpy as np

from banditplex.baselines.base import BASELINES, Baseline
from banditplex.baselines.graph import Floats, Ints
from banditplex.registry import Registry

HEURISTICS: Registry[str] = Registry("heuristic")
"""Name -> what it scores with."""


class Heuristic(Baseline):
    """Scores pairs with one structural feature.

    Parameters
    ----------
    kind
        In the target layer: "common-neighbours", "jaccard", "adamic-adar", "resource-allocation" or
        "preferential-attachment" (product of the degrees). "union-allocation": resource allocation in the union of all
        other layers and the target. "overlap": number of other layers with the pair. "overlap+union": overlap; ties are
        broken by resource allocation in the union.
    hide, seed
        See `Baseline`; `seed` is not used.

    >>> from banditplex.multiplex import Multiplex
    >>> mx = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 3, 3], "a", num_nodes=4)
    >>> Heuristic("common-neighbours").fit(mx).score_pairs([[0, 3], [0, 1]], "a")
    array([2., 0.])
    """

    def __init__(self, kind: str = "resource-allocation", *, hide: str | None = None, seed: int = 0) -> None:
        self.kind, self.hide, self.seed = kind, hide, seed

    def _fit(self) -> None:
        HEURISTICS[self.kind]

    def _score(self, pairs: Ints, target: int) -> Floats:
        feature = HEURISTICS[self.kind]
        if self.kind == "overlap+union":
            near = self.features_.merged(pairs, target)["allocation"]
            return self._overlap(pairs, target) + near / (1 + near)
        if self.kind == "union-allocation":
            return self.features_.merged(pairs, target)[feature]
        if self.kind == "overlap":
            return self._overlap(pairs, target)
        columns = self.features_.own(pairs, target)
        if self.kind == "preferential-attachment":
            return columns["low degree"] * columns["high degree"]
        return columns[feature]

    def _overlap(self, pairs: Ints, target: int) -> Floats:
        return np.asarray(self.features_.overlap(pairs, target)["overlap"])


for _kind, _feature in (
    ("common-neighbours", "common"),
    ("jaccard", "jaccard"),
    ("adamic-adar", "adamic"),
    ("resource-allocation", "allocation"),
    ("preferential-attachment", "low degree"),
    ("union-allocation", "allocation"),
    ("overlap", "overlap"),
    ("overlap+union", "overlap"),
):
    HEURISTICS.add(_kind, _feature)
    BASELINES.add(_kind, partial(Heuristic, _kind))
