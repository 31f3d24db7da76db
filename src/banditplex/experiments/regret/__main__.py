"""Regret of policies on losses with known means, beside the numbers to expect.

python -m banditplex.experiments.regret --out DIR                     all tables and figures, into a folder
python -m banditplex.experiments.regret                               two sizes, the main environments
python -m banditplex.experiments.regret --environments held-out       those that no policy was designed on
python -m banditplex.experiments.regret --table free                  what free observations bring
python -m banditplex.experiments.regret --table theorem               Theorem 1 and its counter-examples
python -m banditplex.experiments.regret --figure probabilities.png    what policies believe over time
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console, RenderableType

from banditplex.bandits import POLICIES
from banditplex.errors import InputError
from banditplex.experiments.folders import as_typed, collect, going_on, run_command
from banditplex.experiments.regret import analysis, figure, free, report, settings, tasks, theorem
from banditplex.experiments.regret.environments import ENVIRONMENTS, HELD_OUT, MAIN
from banditplex.experiments.regret.measure import Policies, measure

Row = TypeVar("Row", analysis.Cell, theorem.Comparison)

PROGRAM = "python -m banditplex.experiments.regret"

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


class What(StrEnum):
    """What can be measured."""

    environments = "environments"
    free = "free"
    theorem = "theorem"


@app.command()
def regret(
    table: Annotated[What | None, typer.Option(help="What to measure.", show_default="environments")] = None,
    environments: Annotated[
        str | None, typer.Option(help="main, held-out, or names with commas.", show_default="main")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help="Names with commas.", show_default=",".join(settings.POLICIES))
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="ARMSxROUNDS with commas, or all.", show_default=settings.SIZES)
    ] = None,
    k: Annotated[int | None, typer.Option(min=1, help="Arms drawn in a round.", show_default="1")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Games in a cell.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = settings.SEED,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON, not tables.")] = False,
    picture: Annotated[Path | None, typer.Option("--figure", help="Write a picture, PNG and SVG, instead.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all tables and figures into this folder instead.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="With --out: processes side by side.")] = None,
    engine: Annotated[str, typer.Option(help="With --out: processes, serial or ray.")] = "processes",
    resume: Annotated[bool, typer.Option("--resume", help="With --out: go on with a run.")] = False,
) -> None:
    """Measure the regret of bandit policies and print it beside the numbers to expect."""
    of_environments = {"--environments": environments, "--policies": policies, "--sizes": sizes, "--k": k}
    of_tables = of_environments | {"--table": table, "--json": as_json}
    if out is not None:
        check_none(of_tables | {"--figure": picture, "--runs": runs}, "--out")
        write_all(out, seed=seed, quick=quick, engine=engine, jobs=jobs, resume=resume)
        return
    if jobs is not None or resume:
        raise InputError("Expected --out DIR with --jobs or --resume, got none.")
    if picture is not None:
        check_none(of_tables, "--figure")
        games = settings.QUICK_FIGURE_GAMES if quick else settings.FIGURE_GAMES
        figure.draw_probabilities(picture.parent, games, runs=runs or settings.RUNS, seed=seed, name=picture.stem)
        print(f"{picture.with_suffix('.png')}, {picture.with_suffix('.svg')}: what policies believe over time.")
        return
    what = table or What.environments
    if what is not What.environments:
        check_none(of_environments, f"--table {what}")
    if what is What.environments:
        sizes = sizes or (settings.QUICK_SIZES if quick else settings.SIZES)
        runs = runs or (settings.QUICK_RUNS if quick else settings.RUNS)
        names, labels = chosen_environments(environments or "main"), chosen_policies(policies)
        results = measure(names, labels, chosen_sizes(sizes), k=k or 1, runs=runs, seed=seed)
        show(analysis.with_means(analysis.cells(results)), analysis.tables, as_json=as_json)
    elif what is What.free:
        layers = settings.QUICK_FREE if quick else settings.FREE
        results = free.measure({shape: runs or usual for shape, usual in layers.items()}, seed=seed)
        show(list(analysis.cells(results)), analysis.free_table, as_json=as_json)
    else:
        examples = settings.QUICK_COUNTER_EXAMPLES if quick else settings.COUNTER_EXAMPLES
        compared = [theorem.compare(game, runs=runs or settings.COUNTER_RUNS, seed=seed) for game in examples]
        show(compared, analysis.theorem_table, as_json=as_json)


def write_all(folder: Path, *, seed: int, quick: bool, engine: str, jobs: int | None, resume: bool) -> None:
    """Measure everything, in processes side by side, and write tables and figures into a new folder."""
    options = " --quick" * quick + f" --seed {seed}" * (seed != settings.SEED)
    command = f"{PROGRAM}{options} --out {as_typed(folder)}"
    with going_on(folder, resume=resume, program=PROGRAM):
        rows = collect(
            folder, tasks.work, tasks.all_tasks(seed=seed, quick=quick), {"quick": quick, "seed": seed}, engine=engine,
            jobs=jobs, resume=resume,
        )  # fmt: skip
        report.write(rows, folder, command=command, seed=seed, quick=quick)
    print(f"{folder / 'index.md'}: what was run, tables and figures.")


def show(rows: Sequence[Row], view: Callable[[Sequence[Row]], RenderableType], *, as_json: bool) -> None:
    """Print rows, as JSON or as `view` shows them."""
    if as_json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(view(rows))


def check_none(options: Mapping[str, object], where: str) -> None:
    """Refuse options that have no meaning where they were given.

    >>> check_none({"--k": 2}, "--table free")
    Traceback (most recent call last):
    banditplex.errors.InputError: Expected no --k with --table free, got one.
    """
    for option, value in options.items():
        if value not in (None, False):
            raise InputError(f"Expected no {option} with {where}, got one.")


def chosen_policies(text: str | None) -> Policies:
    """Return the uniform policy and those named (None: all), by label in the settings or as registered."""
    given = settings.POLICIES if text is None else text.split(",")
    names = [settings.REFERENCE, *(name for name in given if name != settings.REFERENCE)]
    for name in names:
        if name not in settings.POLICIES:
            POLICIES[name]  # refuses what it does not know
    return {name: settings.POLICIES.get(name, (name, {})) for name in names}


def chosen_environments(text: str) -> tuple[str, ...]:
    """Return the environments of a group, or those named.

    >>> chosen_environments("held-out")[:2], chosen_environments("late,bern")
    (('drift', 'cycle'), ('late', 'bern'))
    """
    names = {"main": MAIN, "held-out": HELD_OUT}.get(text) or tuple(text.split(","))
    for name in names:
        ENVIRONMENTS[name]  # refuses what it does not know
    return names


def chosen_sizes(text: str) -> tuple[tuple[int, int], ...]:
    """Read sizes.

    >>> chosen_sizes("5x200,36x200")
    ((5, 200), (36, 200))
    """
    sizes = []
    for size in (settings.ALL_SIZES if text == "all" else text).split(","):
        arms, _, horizon = size.partition("x")
        if not (arms.isdecimal() and horizon.isdecimal() and int(arms) and int(horizon)):
            raise InputError(f"A size is ARMSxROUNDS, as in 5x200; got {size!r}.")
        sizes.append((int(arms), int(horizon)))
    return tuple(sizes)


if __name__ == "__main__":
    run_command(app)
