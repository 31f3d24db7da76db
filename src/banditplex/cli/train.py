"""`banditplex train`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli import options
from banditplex.cli.data import Columns, Data, Directed, From, Header, NumNodes, load
from banditplex.cli.output import Json, print_json, print_table
from banditplex.cli.resuming import resume_command, say_new
from banditplex.terminal import bars, say

if TYPE_CHECKING:
    from banditplex.predictor import LinkPredictor


def train(
    data: Data,
    run: Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.")],
    target: options.Target = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No bar, no notes and, without --json, no result.")] = False,
    as_json: Json = False,
    policy: options.Policy = None,
    k: options.K = None,
    hide: options.Hide = None,
    union: options.Union = None,
    steps_per_draw: options.StepsPerDraw = None,
    relevance: options.Relevance = None,
    layers: options.Layers = None,
    price: options.Price = None,
    policy_option: options.PolicyOption = None,
    epochs: options.Epochs = None,
    warmup: options.Warmup = None,
    patience: options.Patience = None,
    batch_size: options.BatchSize = None,
    learning_rate: options.LearningRate = None,
    validation: options.Validation = None,
    conv: options.Conv = None,
    width: options.Width = None,
    depth: options.Depth = None,
    seed: options.Seed = None,
    device: options.Device = None,
    from_format: From = None,
    columns: Columns = None,
    header: Header = None,
    num_nodes: NumNodes = None,
    directed: Directed = None,
) -> None:
    """Train a model on a multiplex, in a folder; a run that was stopped goes on with --resume.

    With --resume, what is not given stays as it was; where there is no run yet, one begins.
    """
    from banditplex import runs

    given = {
        "policy": policy, "policy_options": runs.parse_options(policy_option), "relevance": relevance, "k": k,
        "hide": hide, "union": union, "steps_per_draw": steps_per_draw, "epochs": epochs, "warmup": warmup,
        "patience": patience, "batch_size": batch_size, "learning_rate": learning_rate, "validation": validation,
        "conv": conv, "width": width, "depth": depth, "seed": seed, "device": device,
    }  # fmt: skip
    settings = {name: value for name, value in given.items() if value is not None}
    runs.check_place(run, resume=resume, force=force)
    mx = load(data, from_format, columns, header, num_nodes, directed, quiet=quiet)
    if resume and not runs.begun(run) and not quiet:
        say_new(run)
    try:
        with _epochs(quiet) as on_epoch:
            model = runs.train(
                mx, run, targets=target, layers=layers, prices=price, settings=settings,
                resume=resume, force=force, on_epoch=on_epoch,
            )  # fmt: skip
    except KeyboardInterrupt:
        say(runs.where_it_stopped(run, resume_command()))
        raise typer.Exit(130) from None
    result = runs.describe(model, run)
    if as_json:
        print_json({"run": str(run), "directed": mx.directed} | result)
    elif not quiet:
        print(f"{data}: {mx.title}")
        print_table(runs.TARGET_COLUMNS, runs.target_rows(result, limit=20))
        print(f"{run}: {runs.in_words(result)}")


@contextmanager
def _epochs(quiet: bool) -> "Iterator[Callable[..., None] | None]":
    """Yield a callback for `fit` that draws a bar over the epochs on stderr, with losses beside it."""
    with bars("numbers", quiet=quiet) as room:
        if room is None:
            yield None
            return
        task = room.add_task("Training", total=None, numbers="")

        def show(model: "LinkPredictor", row: dict[str, Any]) -> None:
            numbers = f"loss {row['train_loss']:.3f}  validation {row['validation_loss']:.3f}"
            room.update(task, completed=row["epoch"], total=model.epochs, numbers=numbers)

        yield show
