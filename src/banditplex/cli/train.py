"""`banditplex train`."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli import options
from banditplex.cli.data import Data, Reading, as_name, load, reads_data
from banditplex.cli.gains import gain_records, print_gains
from banditplex.cli.output import Json, print_json, print_table
from banditplex.cli.policy_options import with_policy
from banditplex.cli.predict import write_table
from banditplex.cli.resuming import resume_command, say_new
from banditplex.cli.tensorboard import event_files
from banditplex.errors import InputError
from banditplex.terminal import epoch_bar, say

if TYPE_CHECKING:
    from banditplex.multiplex import Multiplex, Name
    from banditplex.persistence.run_folder import RunFolder
    from banditplex.predictor import LinkPredictor

COLUMNS = ["target", "validation loss", "accuracy", "layers used", "most probable layers"]
SHOWN = 20
"""Targets that the table shows."""
GAINS = "layer_gains.csv"
"""The file of a run folder with `layer_gains_`."""


@reads_data
@options.with_settings()
@options.with_policy_flags
def train(
    data: Data,
    reading: Reading,
    run: Annotated[Path, typer.Option("-o", "--out", metavar="RUN", help="The folder of the run.")],
    settings: dict[str, Any],
    policy_flags: dict[str, list[str]],
    target: options.Target = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in that folder.")] = False,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write losses and probabilities to event files for TensorBoard.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors and, with --json, the result.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model on a multiplex and save it in a folder; --resume continues a run that was stopped.

    With --resume, settings and reading options that are not given stay as they were; more --epochs train it longer. If
    there is no run yet, a new one starts.
    """
    from banditplex.persistence.run_folder import RunFolder

    folder = RunFolder(run)
    folder.check_free(resume=resume, force=force)
    reading = folder.reading() | reading if resume else reading
    mx = load(data, reading, quiet=quiet)
    if resume and not folder.begun and not quiet:
        say_new(run)
    given = with_policy(options.plain(settings), policy_flags, mx.layer_names)
    targets = [as_name(name, mx.layer_names) for name in target] if target else None
    try:
        with epoch_bar(quiet=quiet) as show, event_files(tensorboard) as write:

            def on_epoch(model: "LinkPredictor", row: dict[str, Any]) -> None:
                if reading and reading != folder.reading():
                    folder.keep_reading(reading)
                if show is not None:
                    show(row, model.epochs)
                if write is not None:
                    write(row)

            if resume and folder.begun and not quiet:
                say_longer(folder, given)
            model = fit_in(folder, mx, targets, given, resume=resume, force=force, on_epoch=on_epoch)
    except KeyboardInterrupt:
        say(
            f"stopped after epoch {folder.progress().epoch}; continue with: {resume_command()}"
            if folder.begun
            else "stopped."
        )
        raise typer.Exit(130) from None
    result = summarise(model, folder)
    if as_json:
        print_json({"run": str(run), "directed": mx.directed} | result)
    elif not quiet:
        print(f"{data}: {mx.title}\n")
        print_gains(model.layer_gains_, f"All gains: {run / GAINS}.")
        print()
        print_table(COLUMNS, _rows(result))
        print(f"\n{run}: {_length(result)}")


def say_longer(folder: "RunFolder", given: Mapping[str, Any]) -> None:
    """Say what more epochs or more patience mean for a run that is resumed."""
    from banditplex.training.optimizer import rate_share

    before, done = folder.settings(), folder.progress().epoch
    now = {name: given.get(name, before[name]) for name in ("epochs", "patience")}
    stopped = folder.finished and done < before["epochs"]
    if stopped and now["patience"] <= before["patience"] and now["epochs"] > before["epochs"]:
        patience = before["patience"]
        say(f"{folder.path}: early stopping ended training after epoch {done}; --patience above {patience} goes on.")
    elif now["epochs"] > before["epochs"]:
        share = rate_share(done / now["epochs"])
        say(
            f"{folder.path}: training goes on after epoch {done}, to {now['epochs']} epochs instead of "
            f"{before['epochs']}; the learning rate restarts at {share:.0%} of its first value, as in a training of "
            f"{now['epochs']} epochs."
        )


def fit_in(
    folder: "RunFolder",
    mx: "Multiplex",
    targets: "Sequence[Name] | None",
    settings: Mapping[str, Any],
    *,
    resume: bool = False,
    force: bool = False,
    on_epoch: "Callable[[LinkPredictor, dict[str, Any]], Any] | None" = None,
) -> "LinkPredictor":
    """Fit a model in a run folder, with a checkpoint after each epoch, and save it there with a table of its gains.

    With `resume`, the run in the folder continues; `targets` and `settings` that are not given stay as they were. With
    `force`, a run in the folder is replaced.
    """
    from banditplex.predictor import LinkPredictor

    settings = dict(settings)
    if resume and folder.begun:
        before = folder.settings()
        targets = targets or before.pop("targets")
        settings = {name: value for name, value in before.items() if name != "targets"} | settings
        missing = [name for name in targets or () if name not in mx.layer_names]
        if missing:
            got = ", ".join(map(repr, mx.layer_names[:5])) + ", ..." * (mx.num_layers > 5)
            raise InputError(f"{folder.path}: expected the data of this run, with a layer {missing[0]!r}, got {got}.")
    model = LinkPredictor(**settings)
    folder.check_free(resume=resume, force=force)
    if force and folder.occupied:
        model.make_trainer(mx, targets)  # refuses bad input before anything is removed
        folder.clear()
        (folder.path / GAINS).unlink(missing_ok=True)
    model.fit(mx, targets, on_epoch, checkpoint=folder.path, resume=resume)
    model.save(folder.path)
    write_table(model.layer_gains_, folder.path / GAINS)
    return model


def summarise(model: "LinkPredictor", folder: "RunFolder") -> dict[str, Any]:
    """Return the result of a run: epochs, and for each target its validation, which layers help and which are drawn."""
    progress = folder.progress()
    rows = {row["layer"]: row for row in progress.history if row["epoch"] == progress.kept_epoch}
    table, gains, used = model.layer_probabilities_, model.layer_gains_, model.k_
    return {
        "epochs": progress.epoch,
        "kept_epoch": progress.kept_epoch,
        "targets": [
            {
                "target": target,
                "validation_loss": _known(rows[target]["validation_loss"]),
                "validation_accuracy": _known(rows[target]["validation_accuracy"]),
                "gains": gain_records(gains[gains["target"] == target].drop(columns="target")),
                "k": int(used[target]),
                "layer_probabilities": table.loc[target].drop(target).sort_values(ascending=False).to_dict(),
            }
            for target in table.index
        ],
    }


def _rows(result: dict[str, Any]) -> list[list[Any]]:
    """Return a row per target for the table, with its three most probable layers."""
    rows = []
    for entry in result["targets"][:SHOWN]:
        likely = list(entry["layer_probabilities"].items())[:3]
        shown = ", ".join(f"{name} {probability:.2f}" for name, probability in likely)
        rows.append([entry["target"], entry["validation_loss"], entry["validation_accuracy"], entry["k"], shown])
    more = len(result["targets"]) - SHOWN
    return rows + [[f"... {more} more", "", "", "", ""]] * (more > 0)


def _length(result: dict[str, Any]) -> str:
    """Say how long a training was, and which weights it kept."""
    epochs, best = result["epochs"], result["kept_epoch"]
    kept = f"; restored weights from epoch {best} (validation loss within one standard error of the best)"
    return f"{epochs} epoch{'s' * (epochs != 1)}{kept * (best != epochs)}."


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
