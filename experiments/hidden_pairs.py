"""Training with the visibility of the test split: models with hide="edge" beside models with the split's own.

80/20, one negative per held-out edge, ROC-AUC and Brier score averaged over layers, paired over seeds: the default
policy with k = 1 and k = 2.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial

from banditplex.evaluation import split
from banditplex.predictor import LinkPredictor
from experiments import comparison
from experiments.comparison import Measured, SplitRun, Values
from experiments.runner import Experiment

QUICK = {"seeds": 1, "epochs": 3}
METHODS = ("k=1", "k=2")


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    comparison.add_options_of_runs(parser)
    parser.add_argument("--hide", default="pair", choices=("layer", "pair"), help="of the split; default: pair")
    parser.add_argument("--directed", action="store_true", help="keep the directions of edges")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    run = partial(measure, hide=options.hide, directed=options.directed)
    return comparison.compare(options, "Hidden pairs", lambda name: METHODS, run, partial(remarks, hide=options.hide))


def measure(task: SplitRun, *, hide: str, directed: bool) -> Measured:
    """Yield ROC-AUC and Brier score of a model trained with hide="edge" and of one with the split's `hide`."""
    parts = split(comparison.load(task.data, task.seed, directed=directed), hide=hide, seed=task.seed)
    for trained in ("edge", hide):
        model = LinkPredictor(k=int(task.method[2:]), hide=trained, epochs=task.epochs, seed=task.seed)
        model.fit(parts.train)
        yield f"{task.method}, {trained}", comparison.model_auc(parts, model)
        yield f"{task.method}, {trained}, Brier score", comparison.model_brier(parts, model)


def remarks(values: Values, ratio: float, *, hide: str) -> Iterator[list[str]]:
    """Yield what training with the split's `hide` gains in ROC-AUC."""
    for method in METHODS:
        yield comparison.difference(values, f"{method}, {hide}", f"{method}, edge", ratio)
