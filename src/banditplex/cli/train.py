"""`banditplex train`."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.data import Columns, Data, Directed, From, Header, NumNodes, load
from banditplex.cli.output import Json, print_json, print_table
from banditplex.terminal import bars, say, say_new

if TYPE_CHECKING:
    from banditplex.predictor import LinkPredictor


_LAYERS, _TRAINING = "Which layers are looked at", "Training"
POLICIES = (
    "default", "hinted", "exp3+", "exp3", "exp3-ix", "tsallis-inf", "epsilon-greedy", "adahedge", "cost-aware",
    "uniform", "fixed", "all", "none",
)  # fmt: skip
RELEVANCES = ("predictive", "euclidean", "cosine")


def _setting(*flags: str, default: object, help: str, panel: str = _TRAINING) -> Any:
    """Return an option for a setting of the library, whose default it shows, but does not set."""
    return typer.Option(*flags, help=help, show_default=str(default), rich_help_panel=panel)


def train(
    data: Data,
    run: Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.")],
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="LAYER", help="Predict links in this layer; several are allowed.", show_default="all"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No bar, no notes and, without --json, no result.")] = False,
    as_json: Json = False,
    policy: Annotated[
        str | None, _setting(default="default", help=f"Who decides: {', '.join(POLICIES)}.", panel=_LAYERS)
    ] = None,
    k: Annotated[int | None, _setting("-k", default=1, help="Layers drawn per round.", panel=_LAYERS)] = None,
    steps_per_draw: Annotated[
        int | None, _setting(default=1, help="Steps of a target that use the same drawn layers.", panel=_LAYERS)
    ] = None,
    relevance: Annotated[
        str | None, _setting(default="predictive", help=f"Layer loss: {', '.join(RELEVANCES)}.", panel=_LAYERS)
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,..", help="Look at these, always (--policy fixed).", rich_help_panel=_LAYERS),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAYER=NUMBER",
            help="What a layer costs (--policy cost-aware); several are allowed, others cost 1.",
            show_default="its edges",
            rich_help_panel=_LAYERS,
        ),
    ] = None,
    policy_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Another option of the policy; several are allowed.", rich_help_panel=_LAYERS
        ),
    ] = None,
    epochs: Annotated[int | None, _setting(default=100, help="Epochs at most.")] = None,
    warmup: Annotated[int | None, _setting(default=3, help="First epochs, at most a quarter: even draws.")] = None,
    patience: Annotated[int | None, _setting(default=20, help="Epochs without a better validation loss.")] = None,
    batch_size: Annotated[int | None, _setting(default=64, help="Pairs per target and step.")] = None,
    learning_rate: Annotated[float | None, _setting(default=0.01, help="Step size at the start.")] = None,
    validation: Annotated[float | None, _setting(default=0.1, help="Share of edges kept for validation.")] = None,
    conv: Annotated[str | None, _setting(default="sage", help="Convolution: sage, gcn.")] = None,
    width: Annotated[int | None, _setting(default=16, help="Of node embeddings; 0 = structural features only.")] = None,
    depth: Annotated[int | None, _setting(default=2, help="Number of convolutions.")] = None,
    seed: Annotated[int | None, _setting(default=0, help="Seed of every random stream.")] = None,
    device: Annotated[str | None, _setting(default="auto", help="auto, cpu, cuda, ...")] = None,
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
        "steps_per_draw": steps_per_draw, "epochs": epochs, "warmup": warmup, "patience": patience,
        "batch_size": batch_size, "learning_rate": learning_rate, "validation": validation, "conv": conv,
        "width": width, "depth": depth, "seed": seed, "device": device,
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
        say(runs.where_it_stopped(run, again()))
        raise typer.Exit(130) from None
    result = runs.describe(model, run)
    if as_json:
        print_json({"run": str(run), "directed": mx.directed} | result)
    elif not quiet:
        print(f"{data}: {mx.title}")
        print_table(runs.TARGET_COLUMNS, runs.target_rows(result, limit=20))
        print(f"{run}: {runs.in_words(result)}")


def again() -> str:
    """Return the command that goes on with the run that this one began."""
    words = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
    return shlex.join(["banditplex", *words, "--resume"])


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
