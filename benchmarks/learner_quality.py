"""What layer sampling is worth: ROC-AUC of every policy on the same splits, beside heuristics and logistic regression.

    python -m benchmarks.learner_quality --data vickers,ckm --first-seed 100 --seeds 10

hide="layer", 80/20, one negative per held-out edge, mean over layers, paired over seeds. Real data sets are taken from
`BANDITPLEX_DATA` or downloaded; "twins", "planted-20" and "planted-100" are made here. The best other layer ("fixed
best") is the truly relevant one where that is known, and else chosen by logistic regression on a validation share.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from banditplex.datasets import load_dataset, planted
from banditplex.evaluation import NegativeSampler, Split, brier, roc_auc, split
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, describe
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream

REAL = ("vickers", "ckm", "lazega-corrected", "celegans", "euair", "arxiv")
MADE = ("twins", "planted-20", "planted-100")
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
SIMPLE = 8
"""Columns of another layer that logistic regression sees: the layer's own seven and the edge flag."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Score = Callable[[Ints], Floats]


def load(name: str, seed: int) -> Multiplex:
    if name.startswith("planted-"):
        layers = int(name.removeprefix("planted-"))
        return planted(layers, layers // 4, 0.8, num_nodes=300, edges_per_layer=900, seed=seed)
    return load_dataset(name).to_undirected()


def mean_auc(parts: Split, score: Callable[[Ints, int], NDArray[np.float64]]) -> float:
    """Return the mean over target layers of the ROC-AUC of score(pairs, layer index)."""
    values = []
    for target, name in enumerate(parts.train.layer_names):
        pairs, label = parts.test(name)
        values.append(roc_auc(label, score(pairs, target)))
    return float(np.mean(values))


class Structure:
    """Structural features of pairs, for heuristics and logistic regression."""

    def __init__(self, mx: Multiplex) -> None:
        self.mx, self.graph = mx, PackedGraph.from_multiplex(mx)
        self.union = PackedGraph.from_multiplex(mx.union())

    def features(self, pairs: Ints, target: int, layers: list[int]) -> NDArray[np.float64]:
        """Return the features of the target layer and of other layers side by side."""
        place = torch.from_numpy(np.ascontiguousarray(pairs))
        targets, table = torch.full((len(pairs),), target), torch.tensor(layers, dtype=torch.int64)
        own, other = describe(self.graph, place, targets, table.expand(len(pairs), -1))
        rest = other.values[:, :SIMPLE].reshape(len(pairs), -1)
        return torch.cat([own.values, rest], 1).numpy().astype(np.float64)

    def heuristics(self) -> dict[str, Callable[[Ints, int], NDArray[np.float64]]]:
        """Return the four heuristics; "overlap" is the number of other layers that have the pair."""

        def own(column: int) -> Callable[[Ints, int], NDArray[np.float64]]:
            return lambda pairs, target: self.features(pairs, target, [])[:, column]

        def allocation(pairs: Ints, _: int) -> NDArray[np.float64]:
            nothing = torch.zeros(len(pairs), dtype=torch.int64), torch.zeros(len(pairs), 0, dtype=torch.int64)
            described, _other = describe(self.union, torch.from_numpy(np.ascontiguousarray(pairs)), *nothing)
            return described.values[:, 2].numpy().astype(np.float64)

        def overlap(pairs: Ints, target: int) -> NDArray[np.float64]:
            names = [name for i, name in enumerate(self.mx.layer_names) if i != target]
            shared = np.sum([self.mx.has_edges(pairs, name) for name in names], axis=0)
            near = allocation(pairs, target)
            both: Floats = shared + near / (1 + near.max())
            return both

        return {"RA target": own(2), "RA union": allocation, "overlap + RA union": overlap}


class Regression:
    """Logistic regression on structural features, one per target and set of layers; edges are seen leave-one-out."""

    def __init__(self, structure: Structure, seed: int, *, copies: int = 3) -> None:
        self.structure, self.copies = structure, copies
        self.rng, self.sampler = stream(seed, "regression"), NegativeSampler(structure.mx)

    def fit(self, edges: Ints, target: int, layers: list[int]) -> Score:
        """Return the score of a regression on some edges of a target, with other layers."""
        pairs = np.concatenate([np.tile(edges, (self.copies, 1)), self._negatives(len(edges) * self.copies, target)])
        label = np.repeat([1, 0], len(pairs) // 2)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
        model.fit(self.structure.features(pairs, target, layers), label)
        return lambda asked: model.decision_function(self.structure.features(asked, target, layers))

    def best_layer(self, target: int, candidates: list[int]) -> int:
        """Return the other layer that helps most on a tenth of the target's training edges, kept aside."""
        edges = self.rng.permutation(self.structure.mx.edges(self.structure.mx.layer_names[target]).T)
        aside, rest = edges[: max(1, len(edges) // 10)], edges[max(1, len(edges) // 10) :]
        asked = np.concatenate([aside, self._negatives(len(aside), target)])
        label = np.repeat([1, 0], len(aside))
        scores = [roc_auc(label, self.fit(rest, target, [layer])(asked)) for layer in candidates]
        return candidates[int(np.argmax(scores))]

    def _negatives(self, size: int, target: int) -> Ints:
        return self.sampler.draw(np.full(size, target), self.rng)


def run(name: str, seed: int, epochs: int, method: str) -> dict[str, float]:
    """Return what `measure` does, and say it on stderr."""
    found = measure(name, seed, epochs, method)
    for each, value in found.items():
        print(f"{name}, seed {seed}, {each}: {value:.6f}", file=sys.stderr, flush=True)
    return found


def measure(name: str, seed: int, epochs: int, method: str) -> dict[str, float]:
    """Return the figures of one method, or of one group of simple ones, on one split."""
    mx = load(name, seed)
    parts = split(mx, hide="layer", seed=seed)
    parts.check()
    if method == "heuristics":
        scores = Structure(parts.train).heuristics()
        return {each: mean_auc(parts, score) for each, score in scores.items()}
    if method == "regression":
        return dict(measure_regressions(parts, mx, seed))
    options = POLICIES[method]
    if method == "fixed best":
        best = best_layers(mx, Regression(Structure(parts.train), seed))
        options = options | {"policy_options": {"arms": [[layer - (layer > t)] for t, layer in best.items()]}}
    model = LinkPredictor(epochs=epochs, seed=seed, **options).fit(parts.train)
    found = {method: mean_auc(parts, partial(by_model, model, parts.train))}
    if method == "default k=1":
        found["Brier score of default k=1 (a coin: .250)"] = mean_brier(parts, model)
        if "relevant" in mx.metadata:
            found["share of targets with 80 % on relevant layers"] = relevant_share(model, mx)
    return found


def measure_regressions(parts: Split, mx: Multiplex, seed: int) -> Iterator[tuple[str, float]]:
    """Yield (method, ROC-AUC) of logistic regression on no other layer, the best other layer, and all of them."""
    regression = Regression(Structure(parts.train), seed)
    best = best_layers(mx, regression)
    around = {t: [layer for layer in best if layer != t] for t in best}
    for method, layers in (("own", {t: [] for t in best}), ("best", {t: [best[t]] for t in best}), ("all", around)):
        edges = {t: parts.train.edges(parts.train.layer_names[t]).T for t in best}
        fitted = {t: regression.fit(edges[t], t, layers[t]) for t in best}
        yield f"regression {method}", mean_auc(parts, partial(by_target, fitted))


def best_layers(mx: Multiplex, regression: Regression) -> dict[int, int]:
    """Return the best other layer of each target: the truly relevant one where that is known."""
    layers = range(mx.num_layers)
    if "relevant" in mx.metadata:
        return {target: known_layer(mx, target) for target in layers}
    return {target: regression.best_layer(target, [each for each in layers if each != target]) for target in layers}


def known_layer(mx: Multiplex, target: int) -> int:
    """Return the first layer that is truly relevant to a target, or any other layer where none is."""
    relevant = mx.metadata["relevant"][mx.layer_names[target]]
    return mx.layer_index(relevant[0]) if relevant else (target + 1) % mx.num_layers


def by_target(fitted: dict[int, Score], pairs: Ints, target: int) -> Floats:
    return fitted[target](pairs)


def by_model(model: LinkPredictor, mx: Multiplex, pairs: Ints, target: int) -> Floats:
    return model.score_pairs(mx.node_names[pairs], mx.layer_names[target])


def mean_brier(parts: Split, model: LinkPredictor) -> float:
    """Return the mean over layers of the Brier score of calibrated probabilities; half of the test pairs are edges."""
    values = []
    for name in parts.train.layer_names:
        pairs, label = parts.test(name)
        values.append(brier(label, model.predict_proba(parts.train.node_names[pairs], name, prior=0.5)))
    return float(np.mean(values))


def relevant_share(model: LinkPredictor, mx: Multiplex) -> float:
    """Return the share of targets with a relevant layer whose policies put at least 80 % on relevant layers."""
    table = model.layer_probabilities_
    known = {target: layers for target, layers in mx.metadata["relevant"].items() if layers}
    return float(np.mean([table.loc[target, layers].sum() >= 0.8 for target, layers in known.items()]))


def report(name: str, rows: dict[str, list[float]]) -> None:
    """Print mean and deviation of every method, and the paired differences that matter."""
    print(f"{name}: ROC-AUC over {len(next(iter(rows.values())))} seeds")
    for method, values in rows.items():
        print(f"  {method:46s} {np.mean(values):.4f} ± {np.std(values):.4f}")
    heuristics = [method for method in rows if method.startswith(("RA", "overlap"))]
    best = max(heuristics, key=lambda method: float(np.mean(rows[method])), default="")
    for kind in ("", ", union"):
        one, two, three = (f"default k={k}{kind}" for k in (1, 2, 3))
        more = three if three in rows else two
        for a, b in ((one, "uniform"), (one, "fixed best"), (one, "all"), (more, best), (more, f"all{kind}")):
            if a in rows and b in rows:
                difference = np.array(rows[a]) - np.array(rows[b])
                print(f"  {a} - {b}: {difference.mean():+.4f} (standard error {standard_error(difference):.4f})")
    if {"fixed best", "uniform", "default k=1"} <= rows.keys():
        low, reached, high = (float(np.mean(rows[method])) for method in ("uniform", "default k=1", "fixed best"))
        share = (reached - low) / (high - low) if high > low else np.nan
        print(f"  share of the oracle's gain over uniform: {share:.2f}", flush=True)


def standard_error(values: Floats) -> float:
    """Return the standard error of the mean of values (n,); NaN for a single one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def choose(name: str, skip: frozenset[str]) -> list[str]:
    """Return what is measured on a data set: k = 3 where there are at least four layers, else k = 2."""
    other = "k=2" if load(name, 0).num_layers > 3 else "k=3"
    return [each for each in ("heuristics", "regression", *POLICIES) if other not in each and each not in skip]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="twins")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--skip", default="", help="methods to leave out, separated by semicolons")
    parser.add_argument("--jobs", type=int, default=1, help="processes that work side by side")
    options = parser.parse_args(arguments or [])
    skip = frozenset(options.skip.split(";"))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    with ProcessPoolExecutor(options.jobs, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        started: dict[str, dict[str, list[Future[dict[str, float]]]]] = {}
        for name in options.data.split(","):
            methods = reversed(choose(name, skip))  # those that take longest begin first
            started[name] = {
                each: [pool.submit(run, name, seed, options.epochs, each) for seed in seeds] for each in methods
            }
        for name, by_method in started.items():
            report(name, gather([task for tasks in reversed(by_method.values()) for task in tasks]))


def gather(tasks: list[Future[dict[str, float]]]) -> dict[str, list[float]]:
    """Return the figures of all seeds by method."""
    rows: dict[str, list[float]] = {}
    for task in tasks:
        for method, value in task.result().items():
            rows.setdefault(method, []).append(value)
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
