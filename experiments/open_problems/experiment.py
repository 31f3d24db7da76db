"""The open problems of the paper, each with a table and a figure.

parts (--only):
  k       layers per draw
  steps   gradient steps per draw, and layers that differ in price
  losses  layer losses
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

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
    seeds, parts = seeds_of(options), names_of(options.only, settings.PARTS, "parts")
    tasks = list(all_tasks(parts, seeds, quick=options.quick))
    return Experiment(work, tasks, report.make_page, seeds, {"settings": settings.as_dict()})


def all_tasks(parts: tuple[str, ...], seeds: range, *, quick: bool = False) -> Iterator[Training]:
    """Yield the trainings of some parts."""
    for part, data, label, value in compared(parts, quick=quick):
        epochs = settings.QUICK_EPOCHS if quick else settings.DATA[data].epochs
        yield from (Training(part, data, label, value, seed, epochs) for seed in seeds)


def compared(parts: tuple[str, ...], *, quick: bool) -> Iterator[tuple[str, str, str, float]]:
    """Yield part, data set, label and value of all that is compared."""
    small = settings.QUICK_DATA
    if "k" in parts:
        k_data = dict.fromkeys(small["k"], ("all", "none")) if quick else settings.K_DATA
        for data, references in k_data.items():
            for policy in settings.K_POLICIES:
                yield from (("k", data, policy, k) for k in (settings.QUICK_KS if quick else settings.KS))
            yield from (("k", data, policy, 0) for policy in references)
    if "steps" in parts:
        for data in small["steps"] if quick else settings.STEPS_DATA:
            steps = settings.QUICK_STEPS if quick else settings.STEPS
            yield from (("steps", data, "default", number) for number in steps)
        for data in small["cost"] if quick else settings.COST_DATA:
            strengths = settings.QUICK_STRENGTHS if quick else settings.STRENGTHS
            yield from (("cost", data, "cost-aware", strength) for strength in strengths)
    if "losses" in parts:
        for data in small["losses"] if quick else settings.LOSSES_DATA:
            yield from (("losses", data, label, 1) for label in (*settings.LOSSES, "uniform"))
