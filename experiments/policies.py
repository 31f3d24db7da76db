"""ROC-AUC of every policy on the same splits, beside heuristics and logistic regression.

hide="layer", 80/20, one negative per held-out edge, means over layers, paired over seeds. Real data sets come from
BANDITPLEX_DATA or are downloaded; planted-N is generated with N layers. "fixed best" looks at one given layer: the
truly relevant one where that is known, else the best one for logistic regression on a validation share.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from banditplex.errors import InputError
from banditplex.evaluation import NegativeSampler, roc_auc, split
from banditplex.markdown import number
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import PackedGraph, compute_pair_features
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from experiments import comparison
from experiments.comparison import Floats, Ints, Measured, Score, SplitRun, Values
from experiments.runner import Experiment

QUICK = {"seeds": 1, "epochs": 3}
POLICIES: dict[str, dict[str, Any]] = {
    "none": {"policy": "none"},
    "uniform": {"policy": "uniform"},
    "default k=1": {"k": 1},
    "fixed best": {"policy": "fixed"},
    "default k=2": {"k": 2},
    "default k=3": {"k": 3},
    "all": {"policy": "all"},
    "default k=1, union": {"k": 1, "union": True},
    "default k=2, union": {"k": 2, "union": True},
    "default k=3, union": {"k": 3, "union": True},
    "all, union": {"policy": "all", "union": True},
}
METHODS = ("heuristics", "regression", *POLICIES)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    comparison.add_options_of_runs(parser)
    parser.add_argument("--skip", default="", metavar="METHODS", help=f"with semicolons; of {'; '.join(METHODS)}")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    skip = options.skip.split(";")
    return comparison.compare(options, "Quality of the policies", lambda name: choose(name, skip), measure, remarks)


def choose(name: str, skip: list[str]) -> list[str]:
    """Return the methods for a data set: k = 3 if there are at least four layers, else k = 2."""
    for method in skip:
        if method not in ("", *METHODS):
            raise InputError(f"Expected --skip among {'; '.join(METHODS)}, got {method!r}.")
    other = "k=2" if comparison.load(name, 0).num_layers > 3 else "k=3"
    return [method for method in METHODS if other not in method and method not in skip]


def measure(task: SplitRun) -> Measured:
    """Yield names and values: ROC-AUC of the task's methods and, for the default policy, two more."""
    mx = comparison.load(task.data, task.seed)
    parts = split(mx, hide="layer", seed=task.seed)
    parts.check()
    if task.method == "heuristics":
        for name, score in heuristics(parts.train).items():
            yield name, comparison.layer_means(parts, score, roc_auc)[0]
        return
    if task.method == "regression":
        regression = Regression(parts.train, task.seed)
        best = regression.best_layers()
        seen: dict[str, dict[int, list[int]]] = {
            "own": {target: [] for target in best},
            "best": {target: [layer] for target, layer in best.items()},
            "all": {target: [other for other in best if other != target] for target in best},
        }
        for name, layers in seen.items():
            yield f"regression {name}", comparison.layer_means(parts, regression.fit_all(layers), roc_auc)[0]
        return
    options = POLICIES[task.method]
    if task.method == "fixed best":
        best = Regression(parts.train, task.seed).best_layers()
        options = options | {"policy_options": {"arms": [[layer - (layer > t)] for t, layer in best.items()]}}
    model = LinkPredictor(epochs=task.epochs, seed=task.seed, **options).fit(parts.train)
    yield task.method, comparison.model_auc(parts, model)
    if task.method == "default k=1":
        yield "Brier score of default k=1 (a coin: .250)", comparison.model_brier(parts, model)
        if found := comparison.relevant_probabilities(model, mx):
            yield "share of targets with 80 % on relevant layers", float(np.mean(np.array(found) >= 0.8))


def remarks(values: Values) -> Iterator[list[str]]:
    """Yield the paired differences that matter, and how near the bandit comes to the oracle."""
    heuristics = [method for method in values if method.startswith(("RA", "overlap"))]
    best = max(heuristics, key=lambda method: float(np.mean(values[method])), default="")
    for kind in ("", ", union"):
        one, two, three = (f"default k={k}{kind}" for k in (1, 2, 3))
        more = three if three in values else two
        for pair in ((one, "uniform"), (one, "fixed best"), (one, "all"), (more, best), (more, f"all{kind}")):
            if set(pair) <= values.keys():
                yield comparison.difference(values, *pair)
    if {"fixed best", "uniform", "default k=1"} <= values.keys():
        low, reached, high = (float(np.mean(values[method])) for method in ("uniform", "default k=1", "fixed best"))
        share = (reached - low) / (high - low) if high > low else np.nan
        yield ["share of the oracle's gain over uniform", number(share, 2)]


# Heuristics and logistic regression

SIMPLE = 8
"""Columns of another layer that logistic regression sees: the layer's own seven and the edge flag."""


def features(graph: PackedGraph, pairs: Ints, target: int = 0, layers: Sequence[int] = ()) -> Floats:
    """Return structural features of pairs (n, 2) in the target layer and in other layers, side by side."""
    targets, others = torch.full((len(pairs),), target), torch.tensor(layers, dtype=torch.int64)
    place = torch.from_numpy(np.ascontiguousarray(pairs))
    own, other = compute_pair_features(graph, place, targets, others.expand(len(pairs), -1))
    rest = other.values[:, :SIMPLE].reshape(len(pairs), -1)
    return torch.cat([own.values, rest], 1).numpy().astype(np.float64)


def heuristics(mx: Multiplex) -> dict[str, Score]:
    """Return the heuristics: resource allocation (RA) in the target and in the union, and overlap.

    Overlap is the number of other layers that contain the pair; RA in the union breaks ties.
    """
    graph, union = PackedGraph.from_multiplex(mx), PackedGraph.from_multiplex(mx.union())

    def overlap(pairs: Ints, target: Name) -> Floats:
        shared = np.sum([mx.has_edges(pairs, name) for name in mx.layer_names if name != target], axis=0)
        near = features(union, pairs)[:, 2]
        both: Floats = shared + near / (1 + near.max())
        return both

    return {
        "RA target": lambda pairs, target: features(graph, pairs, mx.layer_index(target))[:, 2],
        "RA union": lambda pairs, target: features(union, pairs)[:, 2],
        "overlap + RA union": overlap,
    }


class Regression:
    """Logistic regression, one model per target and set of other layers; training edges are hidden from themselves."""

    def __init__(self, mx: Multiplex, seed: int, *, copies: int = 3) -> None:
        self.mx, self.graph, self.copies = mx, PackedGraph.from_multiplex(mx), copies
        self.rng, self.sampler = stream(seed, "regression"), NegativeSampler(mx)

    def fit(self, edges: Ints, target: int, layers: list[int]) -> Callable[[Ints], Floats]:
        """Fit edges (n, 2) of a target with features of other layers; return the score of pairs."""
        pairs = np.concatenate([np.tile(edges, (self.copies, 1)), self._negatives(len(edges) * self.copies, target)])
        label = np.repeat([1, 0], len(pairs) // 2)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
        model.fit(features(self.graph, pairs, target, layers), label)
        return lambda asked: model.decision_function(features(self.graph, asked, target, layers))

    def fit_all(self, layers: dict[int, list[int]]) -> Score:
        """Fit all training edges of every target, each with its own other layers."""
        fitted = {
            self.mx.layer_names[target]: self.fit(self.mx.edges(self.mx.layer_names[target]).T, target, others)
            for target, others in layers.items()
        }
        return lambda pairs, target: fitted[target](pairs)

    def best_layers(self) -> dict[int, int]:
        """Return the best other layer of each target."""
        return {target: self._best_layer(target) for target in range(self.mx.num_layers)}

    def _best_layer(self, target: int) -> int:
        """Return the relevant layer if that is known (the next one if there is none).

        Otherwise return the one with the best ROC-AUC on a validation share, a tenth of the training edges.
        """
        if "relevant" in self.mx.metadata:
            relevant = self.mx.metadata["relevant"][self.mx.layer_names[target]]
            return self.mx.layer_index(relevant[0]) if relevant else (target + 1) % self.mx.num_layers
        edges = self.rng.permutation(self.mx.edges(self.mx.layer_names[target]).T)
        count = max(1, len(edges) // 10)
        asked = np.concatenate([edges[:count], self._negatives(count, target)])
        label = np.repeat([1, 0], count)
        others = [layer for layer in range(self.mx.num_layers) if layer != target]
        scores = [roc_auc(label, self.fit(edges[count:], target, [layer])(asked)) for layer in others]
        return others[int(np.argmax(scores))]

    def _negatives(self, size: int, target: int) -> Ints:
        return self.sampler.draw(np.full(size, target), self.rng)
