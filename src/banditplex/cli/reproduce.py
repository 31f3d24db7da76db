"""`banditplex reproduce`."""

from pathlib import Path
from typing import Annotated

from banditplex.cli.options import option
from banditplex.cli.output import Json, print_json, print_lines, print_table
from banditplex.cli.resuming import resumable


def reproduce(
    quick: Annotated[bool, option("--quick", "Fewer trials and epochs: about three minutes.")] = False,
    dataset: Annotated[list[str] | None, option("A data set of the paper; several are allowed.", "NAME")] = None,
    out: Annotated[Path, option("Output folder.", "DIR")] = Path("banditplex-paper"),
    engine: Annotated[str, option("processes, serial or ray.")] = "processes",
    jobs: Annotated[int | None, option("Runs at a time. Default: one per processor.", min=1)] = None,
    resume: Annotated[bool, option("--resume", "Continue the run in DIR.")] = False,
    as_json: Json = False,
) -> None:
    """Run the paper's experiments, and say which of its claims hold; an hour and a half on two processors.

    Six data sets, 10 trials, 5 folds; uniform draws, the paper's Exp3+ and our default policy. What was measured, the
    paper's figures and a table of its claims are written into a folder.
    """
    from banditplex.experiments.paper import analysis, report, settings
    from banditplex.experiments.paper.reproduce import check_datasets
    from banditplex.experiments.paper.reproduce import reproduce as run_all

    names = check_datasets(dataset or list(settings.DATASETS))
    size = settings.QUICK if quick else settings.FULL
    command = " ".join(["banditplex reproduce", *["--quick"] * quick, *(f"--dataset {name}" for name in dataset or [])])
    with resumable(out, resume=resume):
        found = run_all(out, datasets=names, size=size, engine=engine, jobs=jobs, resume=resume, command=command)
    if as_json:
        print_json({"out": str(out), "claims": analysis.as_records(found)})
        return
    print_table(["the paper's claim", *settings.JUDGED], report.overview(found))
    print_lines(f"\n{out / report.INDEX}: what was run, the figures, and the numbers behind this table.")
