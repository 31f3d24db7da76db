"""The open problems of the paper, each with a table and a figure.

parts (--only):
  k       layers per draw
  steps   gradient steps per draw, and layers that differ in price
  losses  layer losses
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import product

from experiments.open_problems import report, settings
from experiments.open_problems.measure import Training, work
from experiments.runner import Experiment, names_of, seeds_of

QUICK = {"seeds": 2}


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--only", metavar="PARTS", help="with commas; default: all")
    parser.add_argument("--seeds", type=int, default=settings.SEEDS, metavar="N", help="number of seeds")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment."""
    seeds, parts = seeds_of(options), names_of(options.only, tuple(settings.PARTS), "parts")
    tasks = list(all_tasks(parts, seeds, quick=options.quick))
    return Experiment(work, tasks, report.make_page, seeds, {"settings": settings.as_dict()})


def all_tasks(parts: Iterable[str], seeds: range, *, quick: bool = False) -> Iterator[Training]:
    """Yield the trainings of some parts."""
    plans = settings.QUICK_PLANS if quick else settings.PLANS
    for name in (name for part in parts for name in settings.PARTS[part]):
        for data in plans[name].data:
            about = settings.DATA[data]
            compared = list(product(plans[name].labels, plans[name].values))
            if name == "k":
                compared += [(label, 0) for label in settings.REFERENCES if about.all_layers or label != "all"]
            for (label, value), seed in product(compared, seeds):
                yield Training(name, data, label, value, seed, settings.QUICK_EPOCHS if quick else about.epochs)
