"""Regret of bandit policies on losses with known means, beside the expected numbers.

parts (--only):
  main           the 14 environments that policies were designed on
  held-out       eight environments that no policy was designed on
  theorem        regret of Exp3+ beside the bound of Theorem 1
  free           what free observations bring
  probabilities  a figure of inclusion probabilities over time; needs --out
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from banditplex.errors import InputError
from experiments.regret import analysis, free, report, settings
from experiments.regret.environments import ENVIRONMENTS, HELD_OUT, MAIN
from experiments.regret.measure import compare, measure
from experiments.runner import Experiment, names_of

QUICK: dict[str, Any] = {}  # the settings have a plan of their own


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this experiment."""
    parser.add_argument("--only", metavar="PARTS", help="with commas; default: all")
    parser.add_argument("--runs", type=int, metavar="N", help="games per cell")
    games = parser.add_argument_group("main and held-out only")
    games.add_argument("--environments", metavar="NAMES", help="with commas; default: all")
    games.add_argument("--policies", metavar="NAMES", help=f"with commas, of {', '.join(settings.POLICIES)}")
    games.add_argument("--sizes", metavar="SIZES", help="ARMSxROUNDS, with commas")
    games.add_argument("--k", type=int, metavar="N", help="arms per draw; default: 1")


def prepare(options: Namespace) -> Experiment:
    """Return the experiment; the longest tasks come first."""
    parts = names_of(options.only, settings.PARTS, "parts")
    for option in ("environments", "policies", "sizes", "k"):
        if getattr(options, option) is not None and not {"main", "held-out"} & set(parts):
            raise InputError(f"Expected main or held-out in --only with --{option}, got {options.only!r}.")
    if parts == ("probabilities",) and options.out is None:
        raise InputError("Expected --out DIR for a figure, got none.")
    tasks = sorted(all_tasks(parts, options), key=lambda task: -task.sizes[0] * task.sizes[-1] * task.runs)
    seed = options.first_seed
    make_page = partial(report.make_page, parts=parts, seed=seed, quick=options.quick, runs=options.runs)
    return Experiment(work, tasks, make_page, [seed])


@dataclass(frozen=True)
class RegretTask:
    """One line of a table: `table` is main, held-out, free, example or bound; `game` names the losses."""

    table: str
    game: str
    sizes: tuple[int, ...]  # arms, rounds; for free: layers, targets, k, rounds
    runs: int
    seed: int
    policies: tuple[str, ...] = tuple(settings.POLICIES)
    k: int = 1

    @property
    def key(self) -> str:
        """The name of the task; names sort by table, size and game."""
        sizes = "x".join(f"{size:05}" for size in self.sizes)
        return f"{self.table} {sizes} {self.game}".strip()


def all_tasks(parts: tuple[str, ...], options: Namespace) -> Iterator[RegretTask]:
    """Yield the tasks of some parts."""
    plan = settings.QUICK_PLAN if options.quick else settings.PLAN
    runs, seed = options.runs, options.first_seed
    if runs is not None and runs < 1:
        raise InputError(f"Expected --runs of at least 1, got {runs}.")
    chosen = names_of(options.environments, tuple(ENVIRONMENTS), "environments")
    policies = names_of(options.policies, tuple(settings.POLICIES), "policies")
    policies = (settings.REFERENCE, *(name for name in policies if name != settings.REFERENCE))
    for part, environments in (("main", MAIN), ("held-out", HELD_OUT)):
        sizes = plan[part] if options.sizes is None else dict.fromkeys(chosen_sizes(options.sizes), settings.RUNS)
        for size, usual in sizes.items() if part in parts else ():
            for game in environments:
                if game in chosen:
                    yield RegretTask(part, game, size, runs or usual, seed, policies, options.k or 1)
    if "theorem" in parts:
        for size, usual in plan["bound"].items():
            yield from (RegretTask("bound", game, size, runs or usual, seed) for game in MAIN)
        for game in settings.QUICK_COUNTER_EXAMPLES if options.quick else settings.COUNTER_EXAMPLES:
            losses, horizon = settings.COUNTER_EXAMPLES[game]
            yield RegretTask("example", game, (len(losses), horizon), runs or settings.COUNTER_RUNS, seed)
    if "free" in parts:
        yield from (RegretTask("free", "", shape, runs or usual, seed) for shape, usual in plan["free"].items())


def work(task: RegretTask) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task."""
    head: dict[str, Any] = {"table": task.table, "runs": task.runs}
    if task.table in ("example", "bound"):
        arms, horizon = task.sizes
        sides = compare(task.game, arms, horizon, runs=task.runs, seed=task.seed)
        yield head | {"arms": arms, "horizon": horizon} | sides
        return
    if task.table == "free":
        results = free.measure(*task.sizes, runs=task.runs, seed=task.seed)
    else:
        policies = {label: settings.POLICIES[label] for label in task.policies}
        results = measure(task.game, policies, *task.sizes, runs=task.runs, seed=task.seed, k=task.k)
    for cell in analysis.cells(results):
        yield head | cell


def chosen_sizes(text: str) -> list[tuple[int, int]]:
    """Read sizes.

    >>> chosen_sizes("5x200,36x200")
    [(5, 200), (36, 200)]
    """
    sizes = []
    for size in text.split(","):
        arms, _, horizon = size.partition("x")
        if not (arms.isdecimal() and horizon.isdecimal() and int(arms) and int(horizon)):
            raise InputError(f"Expected sizes ARMSxROUNDS such as 5x200, got {size!r}.")
        sizes.append((int(arms), int(horizon)))
    return sizes
