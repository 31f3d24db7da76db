"""ROC-AUC of every policy on the same splits, beside heuristics and logistic regression (`banditplex.baselines`).

hide="layer", 80/20, one negative per held-out edge, means over layers, paired over seeds. Real data sets come from
BANDITPLEX_DATA or are downloaded; planted-N is generated with N layers. "fixed best" looks at one given layer: the
truly relevant one where that is known, else the best one for logistic regression on a validation share. Models see
target and drawn layers alone (`PAPER_MODEL`).
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from banditplex.baselines import BASELINES
from banditplex.baselines.base import training_tables
from banditplex.baselines.features import StructuralFeatures, scaled
from banditplex.baselines.regression import fit_logistic
from banditplex.errors import InputError
from banditplex.evaluation import roc_auc, split
from banditplex.markdown import number
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from banditplex.predictor import LinkPredictor
from banditplex.training.config import PAPER_MODEL
from experiments import comparison
from experiments.comparison import Floats, Ints, Measured, SplitRun, Values
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
}
HEURISTICS = ("resource-allocation", "union-allocation", "overlap+union")
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
    if task.method in ("heuristics", "regression"):
        for name in HEURISTICS if task.method == "heuristics" else (task.method,):
            baseline = BASELINES[name](hide="layer", seed=task.seed).fit(parts.train)
            yield name, comparison.model_auc(parts, baseline)
        return
    options = {**PAPER_MODEL, **POLICIES[task.method]}
    if task.method == "fixed best":
        best = best_layers(parts.train, task.seed)
        options = options | {"policy_options": {"arms": [[layer - (layer > t)] for t, layer in best.items()]}}
    model = LinkPredictor(epochs=task.epochs, seed=task.seed, **options).fit(parts.train)
    yield task.method, comparison.model_auc(parts, model)
    if task.method == "default k=1":
        yield "Brier score of default k=1 (a coin: .250)", comparison.model_brier(parts, model)
        if found := comparison.relevant_probabilities(model, mx):
            yield "share of targets with 80 % on relevant layers", float(np.mean(np.array(found) >= 0.8))


def remarks(values: Values) -> Iterator[list[str]]:
    """Yield the paired differences that matter, and how near the bandit comes to the oracle."""
    heuristics = [method for method in values if method in HEURISTICS]
    best = max(heuristics, key=lambda method: float(np.mean(values[method])), default="")
    one, two, three = (f"default k={k}" for k in (1, 2, 3))
    more = three if three in values else two
    for pair in ((one, "uniform"), (one, "fixed best"), (one, "all"), (more, best), (more, "all")):
        if set(pair) <= values.keys():
            yield comparison.difference(values, *pair)
    if {"fixed best", "uniform", "default k=1"} <= values.keys():
        low, reached, high = (float(np.mean(values[method])) for method in ("uniform", "default k=1", "fixed best"))
        share = (reached - low) / (high - low) if high > low else np.nan
        yield ["share of the oracle's gain over uniform", number(share, 2)]


# The best single layer


def best_layers(mx: Multiplex, seed: int) -> dict[int, int]:
    """Return the best other layer of each target.

    If relevant layers are known, it is the relevant one (the next one if there is none). Otherwise it is the one with
    the best ROC-AUC of logistic regression on a validation share, a tenth of the training edges.
    """
    found = {}
    for target, name in enumerate(mx.layer_names):
        others = [layer for layer in range(mx.num_layers) if layer != target]
        if "relevant" in mx.metadata:
            relevant = mx.metadata["relevant"][name]
            found[target] = mx.layer_index(relevant[0]) if relevant else (target + 1) % mx.num_layers
        else:
            found[target] = max(others, key=lambda other, target=target: _worth(mx, target, other, seed))  # type: ignore[misc]
    return found


def _worth(mx: Multiplex, target: int, other: int, seed: int) -> float:
    """Return the validation ROC-AUC of logistic regression in a target layer with one other layer."""
    parts = split(mx, hide="layer", share=0.1, seed=seed)
    pairs, label = parts.test(mx.layer_names[target])
    features = StructuralFeatures(parts.train, Visibility.of_split("layer", mx))

    def columns(features: StructuralFeatures, pairs: Ints, target: int) -> Floats:
        both = features.own(pairs, target), features.other(pairs, target, other)
        return np.concatenate([scaled(each) for each in both], axis=1)

    tables = training_tables(features, [target], seed, columns, each=3, at_most=20_000)
    if target not in tables or not len(label):
        return 0.5
    model = fit_logistic(tables[target], [1.0])
    return roc_auc(label, model.decision_function(columns(features, pairs, target)))
