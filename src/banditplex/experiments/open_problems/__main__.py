"""The paper's open problems, each with a table and a figure.

python -m banditplex.experiments.open_problems --out DIR                      everything
python -m banditplex.experiments.open_problems --out DIR --only k             layers per draw
python -m banditplex.experiments.open_problems --out DIR --only steps         steps per draw, and prices
python -m banditplex.experiments.open_problems --out DIR --only losses        layer losses
python -m banditplex.experiments.open_problems --out DIR --quick              made data, few epochs: a minute
"""

from pathlib import Path
from typing import Annotated

import typer

from banditplex.errors import InputError
from banditplex.experiments.folders import as_typed, collect, going_on, run_command
from banditplex.experiments.open_problems import measure, report, settings
from banditplex.experiments.open_problems.tasks import all_tasks

PROGRAM = "python -m banditplex.experiments.open_problems"

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command()
def open_problems(
    out: Annotated[Path, typer.Option(help="Folder for rows, tables and figures; it must not hold anything.")],
    only: Annotated[str, typer.Option(help="Parts, with commas.")] = ",".join(settings.PARTS),
    quick: Annotated[bool, typer.Option("--quick", help="Made data sets, few epochs, two seeds.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trainings side by side; default: all processors.")] = None,
    engine: Annotated[str, typer.Option(help="processes, serial or ray.")] = "processes",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run of that folder.")] = False,
) -> None:
    """Measure several layers per draw, several steps per draw, prices, and layer losses."""
    parts = chosen_parts(only)
    about = {"only": ",".join(parts), "quick": quick, "seed": settings.SEED, "settings": settings.as_dict()}
    tasks = all_tasks(parts, quick=quick)
    options = (" --quick" * quick) + (f" --only {','.join(parts)}" if parts != settings.PARTS else "")
    with going_on(out, resume=resume, program=PROGRAM):
        rows = collect(out, measure.work, tasks, about, engine=engine, jobs=jobs, resume=resume)
        report.write(rows, out, command=f"{PROGRAM}{options} --out {as_typed(out)}")
    print(f"{out / 'index.md'}: what was run, tables and figures.")


def chosen_parts(text: str) -> tuple[str, ...]:
    """Read the parts to run.

    >>> chosen_parts("losses,k")
    ('k', 'losses')
    """
    names = text.split(",")
    for name in names:
        if name not in settings.PARTS:
            raise InputError(f"Expected parts among {', '.join(settings.PARTS)}, got {name!r}.")
    return tuple(part for part in settings.PARTS if part in names)


if __name__ == "__main__":
    run_command(app)
