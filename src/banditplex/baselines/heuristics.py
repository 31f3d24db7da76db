"""Heuristics without training: a structural feature of a pair is its score."""

from dataclasses import field
from functools import partial
from typing import ClassVar

from banditplex.arrays import Floats, Ints
from banditplex.baselines.base import BASELINES, Baseline, add_one_graph, choice, parameters
from banditplex.errors import InputError

FEATURES = {
    "common-neighbours": "common", "jaccard": "jaccard", "adamic-adar": "adamic", "resource-allocation": "allocation",
}  # fmt: skip
"""Heuristics that score with a column as it is."""
OF_LAYERS = ("overlap", "overlap+union")  # heuristics that compare layers: they take no graph
KINDS = (*FEATURES, "preferential-attachment", *OF_LAYERS)


@parameters
class Heuristic(Baseline):
    """Scores pairs with one structural feature, computed without the pair's own edge.

    With N(u) the neighbours of u and d_w the degree of w, the features of a pair (u, v) are

    - "common-neighbours": |N(u) & N(v)|;
    - "jaccard": |N(u) & N(v)| / |N(u) | N(v)|;
    - "adamic-adar": the sum of 1 / log d_w over common neighbours w (Adamic and Adar 2003);
    - "resource-allocation": the sum of 1 / d_w over common neighbours w (Zhou, Lu and Zhang 2009);
    - "preferential-attachment": d_u d_v (Barabasi and Albert 1999);
    - "overlap": the number of other layers with the pair;
    - "overlap+union": overlap; ties are broken by resource allocation in the union.

    Parameters: `kind`: one of the features above. `graph`: "target": neighbours in the target layer. "union": in the
    union of all layers. The last two take no graph. For `hide` and `seed`, see `Baseline`; `seed` is not used.

    >>> from banditplex.multiplex import Multiplex
    >>> mx = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 3, 3], "a", num_nodes=4)
    >>> Heuristic("common-neighbours").fit(mx).score_pairs([[0, 3], [0, 1]], "a")
    array([2., 0.])
    """

    sees_own_edge: ClassVar[bool] = False
    num_parameters_: ClassVar[int] = 0

    kind: str = field(default="resource-allocation", kw_only=False, metadata={"choices": KINDS})
    graph: str = choice("target", "union")

    def _fit(self) -> None:
        if self.graph == "union" and self.kind in OF_LAYERS:
            raise InputError(f"Expected graph='target' for the heuristic {self.kind!r}, got {self.graph!r}.")

    def _score(self, pairs: Ints, target: int) -> Floats:
        columns, union = self.columns_, self.kind == "overlap+union" or self.graph == "union"
        if self.kind == "overlap":
            return columns.num_others(pairs, target)
        near = columns.neighbourhood(pairs, target, union=union)
        if self.kind == "overlap+union":
            return columns.num_others(pairs, target) + near["allocation"] / (1 + near["allocation"])
        if self.kind == "preferential-attachment":
            return near["low degree"] * near["high degree"]
        return near[FEATURES[self.kind]]


for _kind in KINDS:
    (BASELINES.add if _kind in OF_LAYERS else add_one_graph)(_kind, partial(Heuristic, _kind))
