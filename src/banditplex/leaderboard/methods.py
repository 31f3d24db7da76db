"""The methods of the leaderboard by name: every baseline, and variants of our learner.

A baseline is found in `banditplex.baselines.BASELINES`. The settings to tune are in its attribute `grid` (or a class
method of that name), else in `GRIDS`: values by parameter, of which all combinations are tried, or a list of settings.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from numpy.typing import ArrayLike

from banditplex.arrays import Floats
from banditplex.baselines import BASELINES
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.registry import Registry
from banditplex.rng import stream
from banditplex.scorer import LinkScorer

Settings = dict[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]

OURS = "default"  # the method that others are compared with
RELATIONS = {
    "simple": "SimplE (Kazemi and Poole, NeurIPS 2018)",
    "complex": "ComplEx (Trouillon et al., ICML 2016)",
    "distmult": "DistMult (Yang et al., ICLR 2015)",
    "rotate": "RotatE (Sun et al., ICLR 2019)",
}
VARIANTS = {
    "default": "our learner with its defaults",
    "none": "our learner on the target layer alone",
    "uniform": "our learner on target and drawn layers; layers are drawn uniformly, scores are means over draws",
    "exp3+": "our learner on target and drawn layers; layers are drawn by Exp3+, as in the paper",
    "all": "our learner on target and drawn layers; every layer is drawn in every step",
}
ABOUT = {  # what baselines are that share their documentation with others; NAME-union is told by NAME
    "common-neighbours": "number of common neighbours",
    "jaccard": "common neighbours over all neighbours",
    "adamic-adar": "sum of 1 / log degree over common neighbours (Adamic and Adar 2003)",
    "resource-allocation": "sum of 1 / degree over common neighbours (Zhou, Lü and Zhang 2009)",
    "preferential-attachment": "product of both degrees",
    "overlap": "number of other layers with the pair",
    "overlap+union": "overlap, then resource allocation in the union of all layers",
    "mean": "the terms of our learner for all layers at once, their mean instead of draws",
    "attention": "the terms of our learner for all layers at once, with attention instead of draws",
    "gnn-bs": "graph convolutions; a bandit samples neighbours for less variance (Liu et al., NeurIPS 2020)",
    "thanos": "graph convolutions; a bandit samples neighbours for less error (Zhang et al., NeurIPS 2021)",
    "pooled-trees": "boosted trees on structural features, one model for all target layers",
    **{f"{name}-torch": f"{title}, in plain torch; layers are relations" for name, title in RELATIONS.items()},
}
OUR_GRID = {"width": ("auto", 16), "weight_decay": (1.0, 0.1)}
_SOFTMAX: Grid = [
    *({"dimension": size, "replace": replace} for size in (200, 64) for replace in ("pair", "end")),
    *({"dimension": size, "loss": "softmax", "learning_rate": 0.3} for size in (200, 64)),
]
GRIDS: dict[str, Grid] = {  # grids of baselines that declare none; NAME-union has that of NAME
    "svd": {"rank": (4, 12, 32, 64)},
    "regression": {"rank": (0, 12, 32)},
    "pooled-trees": {"learning_rate": (0.1, 0.03), "max_leaf_nodes": (7, 15, 31)},
    "katz": {"beta": (0.0005, 0.005, 0.05)},
    "node2vec": {"dimension": (128, 32), "q": (0.5, 1.0, 2.0)},
    "mne": {"dimension": (200, 64), "layer_dimension": (10, 32)},
    "gatne-t": {"dimension": (200, 64), "window": (5, 10)},
    **dict.fromkeys(("simple-torch", "complex-torch", "distmult-torch"), _SOFTMAX),
    "rotate-torch": {"dimension": (200, 64), "replace": ("pair", "end")},
    **{name: {"learning_rate": (0.01, 0.003), "width": (64, 32)} for name in ("gnn-bs", "thanos")},
    "gcn-distmult": {"batch_size": (1024, 10_000), "width": (64, 200)},  # 10,000 and 200 in HGB
    **{name: {"learning_rate": (0.01, 0.003), "width": (0, 16)} for name in ("mean", "attention")},
    **{name: {"learning_rate": (0.001, 0.003), "hops": (1, 2)} for name in ("seal", "deeplex")},
    "ncn-all": {"learning_rate": (0.003, 0.01), "dropout": (0.1, 0.5)},
}
QUICK = (  # those that answer within seconds on small data; names that are not registered are left out
    "default", "none", "preferential-attachment", "resource-allocation",
    "resource-allocation-union", "overlap", "overlap+union", "svd-union", "regression", "pooled-trees",
)  # fmt: skip
LEFT_OUT = ("seal-union", "gnn-bs-union", "thanos-union", "node2vec", "distmult-torch")
"""What the group "main" leaves out: second forms of slow methods, and relatives of others."""


@dataclass(frozen=True)
class Method:
    """A method by name: `make(**settings)` returns the unfitted scorer, and `grid` has settings to try.

    Settings that are not in the grid keep the defaults of `make`, which should be those of the method's paper.
    """

    name: str
    make: Callable[..., LinkScorer]
    grid: Grid = ()
    about: str = ""
    ours: bool = False

    @property
    def learns_in_epochs(self) -> bool:
        """Whether there is a number of epochs to choose: such methods take longest."""
        return "epochs" in inspect.signature(self.make).parameters

    def trials(self, at_most: int) -> list[Settings]:
        """Return the settings to try: the defaults ({}) first, then the grid, or a random part of it.

        >>> Method("svd", lambda rank=12, union=False: None, {"rank": (6, 12, 24)}).trials(at_most=10)
        [{}, {'rank': 6}, {'rank': 24}]
        """
        defaults = {name: each.default for name, each in inspect.signature(self.make).parameters.items()}
        found: list[Settings] = [{}]
        every: Any = self.grid
        if isinstance(every, Mapping):
            every = [dict(zip(every, values, strict=True)) for values in product(*every.values())]
        for settings in every:
            other = {name: value for name, value in settings.items() if defaults.get(name, ...) != value}
            if other not in found:
                found.append(other)
        if len(found) > at_most:
            chosen = 1 + stream(0, "grid", self.name).choice(len(found) - 1, max(at_most - 1, 0), replace=False)
            found = [found[0], *(found[index] for index in sorted(chosen.tolist()))]
        return found


class MeanOfDraws(LinkPredictor):
    """Scores with the mean over draws: best for a policy that prefers no layer, whose most probable ones are random."""

    def score_pairs(
        self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None, draws: int = 32
    ) -> Floats:
        """Return the mean score of pairs over draws."""
        return super().score_pairs(pairs, layer, context=context, draws=draws)


def find_methods() -> "Registry[Method]":
    """Return all methods: our learner's variants first, then the baselines, in the order of their registration."""
    methods: Registry[Method] = Registry("method")
    for name, about in VARIANTS.items():
        kind: Any = MeanOfDraws if name == "uniform" else LinkPredictor
        variant = kind if name == OURS else partial(kind, policy=name, evidence="drawn")
        methods.add(name, Method(name, variant, OUR_GRID, about, ours=True))
    for name, make in BASELINES.items():
        if name not in methods:
            methods.add(name, _baseline(name, make))
    return methods


def choose_methods(names: Iterable[str] | None = None) -> list[Method]:
    """Return methods by name; "quick", "main" and "ours" stand for several. None: all."""
    methods = find_methods()
    groups = {
        "quick": [name for name in QUICK if name in methods],
        "main": [name for name in methods if name not in LEFT_OUT],
        "ours": list(VARIANTS),
    }
    wanted = methods if names is None else [each for name in names for each in groups.get(name, [name])]
    return [methods[name] for name in dict.fromkeys(wanted)]


def _baseline(name: str, make: Callable[..., Any]) -> Method:
    """Return the method of a baseline; its grid and text are ours, or attributes of what makes it or of its class."""
    made: Any = make
    while isinstance(made, partial):
        made = made.func
    alone = name.removesuffix("-union")
    grid: Any = getattr(make, "grid", getattr(made, "grid", GRIDS.get(alone, ())))
    about = ABOUT.get(alone, (inspect.getdoc(made) or "").split("\n")[0].rstrip("."))
    if isinstance(make, partial) and make.keywords.get("graph") == "union":
        about += "; in the union of all layers"
    return Method(name, make, grid() if callable(grid) else grid, about)
