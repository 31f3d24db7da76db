"""ROC-AUC of every policy on the same splits, beside heuristics and logistic regression (`banditplex.baselines`).

hide="layer", 80/20, one negative per held-out edge, means over layers, paired over seeds. Real data sets come from
BANDITPLEX_DATA or are downloaded; planted-N is generated with N layers.

Every policy is trained with evidence="all" (the default) and with evidence="drawn" (the paper's setting: nothing is
seen of layers that are not drawn), and predicts in every way that it can (`experiments.ways`). "fixed best" looks at
one given layer: the truly relevant one where that is known, else the best one for logistic regression on a validation
share.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from banditplex.baselines import BASELINES
from banditplex.baselines.base import training_tables
from banditplex.baselines.classifiers import fit_logistic
from banditplex.baselines.columns import StructuralColumns
from banditplex.errors import InputError
from banditplex.evaluation import roc_auc, split
from banditplex.markdown import markdown_table, plus_minus
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from banditplex.predictor import LinkPredictor
from experiments import comparison
from experiments.comparison import Floats, Ints, Measured, SplitRun, Values
from experiments.runner import Experiment
from experiments.ways import DRAWS, PREDICTED, WAYS, ways_to_score

QUICK = {"seeds": 1, "epochs": 3}
NAMES = {"none": "none", "uniform": "uniform", "default": "default", "fixed best": "fixed", "all": "all"}
"""Names of policies here, and in the library."""
SUFFIX = {"all": "", "drawn": ", drawn"}
"""What the name of a policy ends in, by `evidence`."""
POLICIES: dict[str, dict[str, Any]] = {
    name + suffix: {"policy": policy, "evidence": evidence}
    for evidence, suffix in SUFFIX.items()
    for name, policy in NAMES.items()
}
HEURISTICS = ("resource-allocation", "resource-allocation-union", "overlap+union")
METHODS = ("heuristics", "regression", *POLICIES)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    comparison.add_options_of_runs(parser)
    parser.add_argument("--skip", default="", metavar="METHODS", help=f"with semicolons; of {'; '.join(METHODS)}")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    methods = choose(options.skip.split(";"))
    return comparison.compare(
        options, "Quality of the policies", lambda _: methods, measure, remarks, introduction=INTRODUCTION, table=table
    )


INTRODUCTION = (
    'Policies see all layers in the terms that are always on or, where the name ends in "drawn", only drawn layers '
    "(evidence). Columns say which layers predictions use: the most probable ones, as many as validation edges choose "
    f"(none, fixed best and all: all that they draw); the most probable one alone; the mean over {DRAWS} draws; the "
    "single layer that is best on validation edges. Differences to uniform and all are to the best of their columns, "
    "which favours them. "
)


def choose(skip: list[str]) -> list[str]:
    """Return the methods that are not skipped."""
    for method in skip:
        if method not in ("", *METHODS):
            raise InputError(f"Expected --skip among {'; '.join(METHODS)}, got {method!r}.")
    return [method for method in METHODS if method not in skip]


def measure(task: SplitRun) -> Measured:
    """Yield names and values: ROC-AUC of the task's methods, of policies in every way to predict."""
    mx = comparison.load(task.data, task.seed)
    parts = split(mx, hide="layer", seed=task.seed)
    parts.check()
    if task.method in ("heuristics", "regression"):
        for name in HEURISTICS if task.method == "heuristics" else (task.method,):
            baseline = BASELINES[name](hide="layer", seed=task.seed).fit(parts.train)
            yield name, comparison.model_auc(parts, baseline)
        return
    options = POLICIES[task.method]
    if options["policy"] == "fixed":
        best = best_layers(parts.train, task.seed)
        options = options | {"policy_options": {"arms": [[layer - (layer > t)] for t, layer in best.items()]}}
    model = LinkPredictor(epochs=task.epochs, seed=task.seed, hide="layer", **options).fit(parts.train)
    for way, score in ways_to_score(model).items():
        yield measure_of(task.method, way), comparison.layer_means(parts, score, roc_auc)[0]
    if options["policy"] == "default" and (found := comparison.relevant_probabilities(model, mx)):
        share = float(np.mean(np.array(found) >= 0.8))
        yield f"share of targets with 80 % on relevant layers{SUFFIX[options['evidence']]}", share


def measure_of(method: str, way: str) -> str:
    """Return the name of what is measured of a method."""
    return f"{method}: {way}"


def table(values: Values) -> str:
    """Return a table of policies with a column for each way to predict, and one of all else that was measured."""

    def cell(name: str) -> str:
        return plus_minus(float(np.mean(values[name])), float(np.std(values[name])), 4) if name in values else ""

    simple = [[name, cell(name)] for name in values if ": " not in name]
    rows = [[method, *(cell(measure_of(method, way)) for way in WAYS)] for method in POLICIES]
    shown = [row for row in rows if any(row[1:])]
    tables = [markdown_table(["policy", *WAYS], shown)] * bool(shown)
    return "\n".join([*tables, *[markdown_table(["besides", "mean ± deviation"], simple)] * bool(simple)])


def remarks(values: Values, ratio: float) -> Iterator[list[str]]:
    """Yield the paired differences that matter; rivals of the bandit are in their best way to predict."""
    heuristics = [method for method in values if method in HEURISTICS]
    best = max(heuristics, key=lambda method: float(np.mean(values[method])), default=None)
    said = set()
    for suffix in SUFFIX.values():
        none, uniform, default, oracle, every = (_best(values, name + suffix) for name in NAMES)
        ours = measure_of(f"default{suffix}", PREDICTED)
        pairs = [(ours, none), (ours, uniform), (ours, every), (ours, oracle), (ours, best)]
        for one, other in [*pairs, (default, uniform), (uniform, none), (oracle, none), (every, none)]:
            if one in values and other in values and (one, other) not in said:
                said.add((one, other))
                yield comparison.difference(values, str(one), str(other), ratio)


def _best(values: Values, method: str) -> str | None:
    """Return the way of a policy with the highest mean."""
    ways = [measure_of(method, way) for way in WAYS if measure_of(method, way) in values]
    return max(ways, key=lambda name: float(np.mean(values[name])), default=None)


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
    features = StructuralColumns(parts.train, Visibility.of_split("layer", mx))

    def columns(features: StructuralColumns, pairs: Ints, target: int) -> Floats:
        return features.beside(pairs, target, [other])

    tables = training_tables(features, [target], seed, columns, each=3, at_most=20_000)
    if target not in tables or not len(label):
        return 0.5
    model = fit_logistic(tables[target], [1.0])
    return roc_auc(label, model.decision_function(columns(features, pairs, target)))
