"""`banditplex train`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.data import Data, load
from banditplex.cli.output import Json, print_json, print_table, say

if TYPE_CHECKING:
    from banditplex.predictor import LinkPredictor


def train(
    data: Data,
    run: Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.")],
    target: Annotated[
        list[str] | None, typer.Option(help="A layer to predict links in; several are allowed. Default: every layer.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Who decides which layers are looked at.")] = None,
    policy_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the policy; several are allowed.")
    ] = None,
    relevance: Annotated[str | None, typer.Option(help="Layer loss: predictive, euclidean or cosine.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="Layers drawn per round.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs at most.")] = None,
    warmup: Annotated[int | None, typer.Option(help="First epochs in which layers are drawn evenly.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Epochs without a better validation loss before the end.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Pairs per target and step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Step size at the start.")] = None,
    validation: Annotated[float | None, typer.Option(help="Share of edges kept for early stopping.")] = None,
    conv: Annotated[str | None, typer.Option(help="Convolution: sage or gcn.")] = None,
    width: Annotated[int | None, typer.Option(help="Width of node embeddings; 0 = structural features only.")] = None,
    depth: Annotated[int | None, typer.Option(help="Number of convolutions.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, ...")] = None,
    undirected: Annotated[bool, typer.Option("--undirected", help="Merge both directions of a pair.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model on a multiplex, in a folder; a run that was stopped goes on with --resume.

    What is not given has the library's defaults or, with --resume, stays as it was.
    """
    from banditplex import runs

    given = {
        "policy": policy, "policy_options": runs.parse_options(policy_option), "relevance": relevance, "k": k,
        "epochs": epochs, "warmup": warmup, "patience": patience, "batch_size": batch_size,
        "learning_rate": learning_rate, "validation": validation, "conv": conv, "width": width, "depth": depth,
        "seed": seed, "device": device,
    }  # fmt: skip
    settings = {name: value for name, value in given.items() if value is not None}
    mx = load(data, quiet=quiet)
    mx = mx.to_undirected() if undirected else mx
    try:
        with _epochs(quiet) as on_epoch:
            model = runs.train(
                mx, run, targets=target, settings=settings, resume=resume, force=force, on_epoch=on_epoch
            )
    except KeyboardInterrupt:
        again = f"banditplex train {data} -o {run}{' --undirected' * undirected} --resume"
        say(runs.where_it_stopped(run, again))
        raise typer.Exit(130) from None
    result = runs.describe(model, run)
    if as_json:
        print_json({"run": str(run), "directed": mx.directed} | result)
    elif not quiet:
        print(f"{data}: {mx}")
        print_table(runs.TARGET_COLUMNS, runs.target_rows(result, limit=20))
        print(f"{run}: {runs.in_words(result)}")


@contextmanager
def _epochs(quiet: bool) -> "Iterator[Callable[..., None] | None]":
    """Yield a callback for `fit` that draws a bar over the epochs on stderr, with losses beside it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        "Training",
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, numbers="")

        def show(model: "LinkPredictor", row: dict[str, Any]) -> None:
            numbers = f"loss {row['train_loss']:.3f}  validation {row['validation_loss']:.3f}"
            bar.update(task, completed=row["epoch"], total=model.epochs, numbers=numbers)

        yield show
