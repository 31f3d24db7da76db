"""The one runner of all experiments: options, tasks, rows and the report."""

import json
import shlex
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from banditplex.cli.resuming import resumable
from banditplex.errors import InputError
from banditplex.jobs.engine import collect
from banditplex.jobs.task import Function
from banditplex.storage.rows import Row
from banditplex.terminal import say
from banditplex.version import __version__

PROGRAM = "python -m experiments"
EXPERIMENTS = {
    "regret": ("experiments.regret.experiment", "regret of bandit policies, and Theorem 1"),
    "open-problems": ("experiments.open_problems.experiment", "the open problems of the paper"),
    "fixed": ("experiments.fixed", "ROC-AUC, PR-AUC and F1 on data sets with a split from print"),
    "published": ("experiments.published", "published systems beside their published numbers, on the same splits"),
    "leaderboard": ("experiments.leaderboard", "where our default stands on the leaderboards of a folder"),
    "quality": ("experiments.quality", "ROC-AUC of LinkPredictor beside simple baselines"),
    "policies": ("experiments.policies", "ROC-AUC of every policy, beside simple baselines"),
    "probabilities": ("experiments.probabilities", "how often recommended links come true, beside what is stated"),
    "panels": ("experiments.panels", "what finding layers is worth: none, at random, default, oracle"),
    "search": ("experiments.search", "helpers that the search for panels finds, against looks"),
    "gains": ("experiments.gains", "whether `layer_gains_` tells layers that help from layers that do not"),
    "recall": ("experiments.recall", "how many of the most likely pairs `recommend` finds in large layers"),
    "scale": ("experiments.scale", "time and memory of an epoch against the number of layers"),
    "hidden-pairs": ("experiments.hidden_pairs", "training with the visibility of the test split"),
}
"""Name: module and summary. A module has `QUICK` (defaults with --quick), `add_options(parser)` and
`prepare(options)`, which returns an `Experiment`."""


INDEX = "index.md"


@dataclass(frozen=True)
class Page:
    """What was found: Markdown parts, tables by file name, and a function that draws all figures into a folder."""

    title: str
    parts: Sequence[str]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    draw: Callable[[Path], None] | None = None

    def text(self, command: str, seeds: Sequence[int]) -> str:
        """Return the index page.

        >>> print(Page("Regret", ["Low."]).text("python -m experiments regret", range(3)))
        # Regret
        <BLANKLINE>
        Made by banditplex 0.1.0, seeds 0 to 2, with
        <BLANKLINE>
            $ python -m experiments regret
        <BLANKLINE>
        Low.
        """
        used = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        head = [f"# {self.title}\n", f"Made by banditplex {__version__}, {used}, with\n", f"    $ {command}\n"]
        return "\n".join([*head, *self.parts])

    def write(self, folder: Path, command: str, seeds: Sequence[int]) -> Path:
        """Write page, tables and figures into an existing folder; return the path of the page."""
        for name, table in self.tables.items():
            table.to_csv(folder / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
        if self.draw is not None:
            self.draw(folder)
        (folder / INDEX).write_text(self.text(command, seeds), encoding="utf-8")
        return folder / INDEX


@dataclass(frozen=True)
class Experiment:
    """Independent tasks, the function that turns one into rows, and the report on all rows."""

    work: Function
    tasks: Sequence[Any]
    report: Callable[[list[Row]], Page]
    seeds: Sequence[int]
    settings: Mapping[str, Any] = field(default_factory=dict)  # besides the options, what determines the rows


def main(words: Sequence[str]) -> None:
    """Run an experiment; a user error is one line on stderr and status 2."""
    listed = "\n".join(f"  {name:15}{summary}" for name, (_, summary) in EXPERIMENTS.items())
    parser = ArgumentParser(PROGRAM, description=f"experiments:\n{listed}", formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS, metavar="NAME", help="`NAME --help` lists its options")
    name = parser.parse_args(words[:1]).experiment
    try:
        run(name, words[1:])
    except InputError as error:
        say(str(error))
        raise SystemExit(2) from None


def run(name: str, words: Sequence[str]) -> None:
    """Run one experiment with the options in `words`."""
    module: Any = import_module(EXPERIMENTS[name][0])
    options = read_options(name, words)
    how, decisive = running_options().parse_known_args(words)
    if how.resume and how.out is None:
        raise InputError("Expected --out DIR with --resume, got none.")
    experiment: Experiment = module.prepare(options)
    about = {key: value for key, value in vars(options).items() if key not in vars(how)}
    kept = nullcontext() if how.out is None else resumable(how.out, resume=how.resume, program=PROGRAM)
    with kept:
        rows = collect(
            how.out, experiment.work, experiment.tasks, {"experiment": name, **about, **experiment.settings},
            engine=how.engine, jobs=how.jobs, resume=how.resume,
        )  # fmt: skip
        _report(experiment, rows, how, f"{PROGRAM} {shlex.join([name, *decisive])}")


def read_options(name: str, words: Sequence[str]) -> Namespace:
    """Read the options of an experiment; --quick changes defaults."""
    module: Any = import_module(EXPERIMENTS[name][0])
    parser = ArgumentParser(
        f"{PROGRAM} {name}", description=module.__doc__, parents=[running_options()], allow_abbrev=False,
        formatter_class=RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small and fast: under a minute")
    parser.add_argument(
        "--first-seed", "--seed", type=int, default=0, metavar="SEED", help="the first, or only, seed; default: 0"
    )
    module.add_options(parser)
    if parser.parse_args(words).quick:
        parser.set_defaults(**module.QUICK)
    options = parser.parse_args(words)
    if options.first_seed < 0:
        raise InputError(f"Expected --first-seed of at least 0, got {options.first_seed}.")
    return options


def running_options() -> ArgumentParser:
    """Return the options that do not change any number."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--out", type=Path, metavar="DIR", help="new folder for rows, tables and figures")
    parser.add_argument("--resume", action="store_true", help="continue the run in DIR")
    parser.add_argument("--engine", default="processes", help="processes (default), serial or ray")
    parser.add_argument("--jobs", type=int, metavar="N", help="tasks at a time; default: one per processor")
    parser.add_argument("--json", action="store_true", help="print all rows as JSON")
    return parser


def seeds_of(options: Namespace) -> range:
    """Return the seeds that --first-seed and --seeds ask for."""
    if options.seeds < 1:
        raise InputError(f"Expected --seeds of at least 1, got {options.seeds}.")
    return range(options.first_seed, options.first_seed + options.seeds)


def names_of(text: str | None, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Read a comma-separated list of known names (None: all); return them in the order of `known`.

    >>> names_of("losses,k", ["k", "steps", "losses"], "parts")
    ('k', 'losses')
    """
    names = known if text is None else text.split(",")
    for name in names:
        if name not in known:
            raise InputError(f"Expected {what} among {', '.join(known)}, got {name!r}.")
    return tuple(name for name in known if name in names)


def as_typed(folder: Path) -> str:
    """Return a folder as a published command shows it: as given, or only its name if the path is absolute."""
    return folder.name if folder.is_absolute() else folder.as_posix()


def _report(experiment: Experiment, rows: list[Row], how: Namespace, command: str) -> None:
    page = experiment.report(rows)
    if how.out is not None:
        written = page.write(how.out, f"{command} --out {as_typed(how.out)}", experiment.seeds)
    if how.json:
        print(json.dumps(rows, indent=1))
    elif how.out is not None:
        print(f"{written}: command, tables and figures.")
    else:
        text = page.text(command, experiment.seeds)
        print("\n".join(line for line in text.splitlines() if not line.startswith("![")))
