"""`banditplex train`."""

import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli import options
from banditplex.cli.data import Data, Reading, as_name, later_columns, load, reading_notes, reads_data, title_of
from banditplex.cli.gains import FirstLook, named, print_gains
from banditplex.cli.options import option, parse_options
from banditplex.cli.output import Json, print_json, print_lines, print_table, records, wrapped, write_table
from banditplex.cli.report import Title, write_run_page
from banditplex.cli.resuming import exit_status, resume_command, say_new, stoppable
from banditplex.errors import InputError
from banditplex.multiplex.notes import columns_of
from banditplex.persistence.run_folder import RunFolder
from banditplex.storage.files import locked_folder
from banditplex.terminal import Estimate, say, training_bar
from banditplex.training.distributed import Lost, current, is_first, joined

if TYPE_CHECKING:
    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor

COLUMNS = ["target", "validation loss", "accuracy", "looked at in detail"]
EVERY = (  # what the last column does not say
    "Predictions also look at which layers have the pair, and at the union of all layers, whether listed here or not."
)
SHOWN = 20  # targets that the table shows
LISTED = 100  # most probable layers of each target that --json lists
SILENT = 10.0  # seconds after which a training tells how it goes in lines, where a bar cannot be drawn
QUICK_EPOCHS = 20  # epochs with --quick: so few that there is one network
NUMBERS = ("train_loss", "validation_loss", "train_accuracy", "validation_accuracy", "regret")
"""Columns of the history that TensorBoard gets for each target; `inclusion`, for each layer drawn."""
GAINS = "layer_gains.csv"  # the file of a run folder with `layer_gains_`


@reads_data
@options.with_settings()
def train(
    data: Data,
    reading: Reading,
    run: Annotated[Path, option("-o", "--out", "The folder of the run.", "RUN")],
    settings: dict[str, Any],
    policy_option: options.PolicyOption = None,
    target: options.Target = None,
    resume: Annotated[bool, option("--resume", "Continue the run in that folder.")] = False,
    force: Annotated[bool, option("--force", "Replace the run in that folder.")] = False,
    quick: Annotated[bool, option("--quick", "A first look: one network of 20 epochs, unless given.")] = False,
    title: Title = None,
    tensorboard: Annotated[
        Path | None, option("Write losses and probabilities to event files for TensorBoard.", "DIR")
    ] = None,
    quiet: Annotated[bool, option("--quiet", "Print only errors and, with --json, the result.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model on a multiplex and save it in a folder; --resume continues a run that was stopped.

    With --resume, settings and reading options that are not given stay as they were; more --epochs train it longer. If
    there is no run yet, a new one starts.
    """
    folder, others = RunFolder(run), not is_first()
    quiet = quiet or others
    if not others:
        folder.check_free(resume=resume, force=force)
    if resume:
        reading = added(folder.reading(), reading)
    if quick:
        settings.setdefault("epochs", QUICK_EPOCHS)
    given = options.plain(settings)
    if policy_option:
        given["policy_options"] = parse_options(policy_option)
    if not resume:  # which has the other settings
        options.check_settings(given)
    mx = load(data, reading, quiet=quiet)
    notes = reading_notes(mx)
    if resume and not folder.begun and not quiet:
        say_new(run)
    targets = [as_name(name, mx.layer_names) for name in target] if target else None
    for name in () if resume else targets or ():
        mx.layer_index(name)  # refuses
    from banditplex.report.about import write_about

    try:
        events = event_files(None if others else tensorboard)
        with (
            stoppable(quiet=quiet, ends=others) as how,
            training_bar(quiet=quiet, lines=True, after=SILENT) as show,
            events as write,
            joined(),
        ):
            hint = f"{how} leaves a run that --resume continues" + ("" if quick else "; --quick for a first look")
            clock = Estimate("epochs at most", hint, sets_up=True)
            look = FirstLook(silent=quiet or as_json or current().size > 1)

            def on_epoch(model: "LinkPredictor", row: dict[str, Any]) -> None:
                if not quiet and not resume:
                    clock.tell(row["epoch"], row["epochs"])
                look.epoch(model, row)
                if show is not None:
                    show.epoch(row)
                if write is not None:
                    write(row)

            if resume and folder.begun and not quiet:
                say_longer(folder, given)
            if not resume:
                look.begin(mx, targets, given)
            model = fit_in(
                folder, mx, targets, given, reading=reading, notes=notes, resume=resume, force=force,
                on_epoch=on_epoch, on_search=None if show is None else show.search,
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        if not others:
            say(_how_to_go_on(folder))
        raise typer.Exit(exit_status(stop)) from None
    except Lost as lost:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which torchrun sends now; this process ends by itself
        raise InputError(f"{lost} The run has {_how_to_go_on(folder)}") from None
    if others:
        return
    write_about(run, title_of(data), mx, model, title)
    page = write_run_page(run, model, title=title, quiet=quiet)
    result = summarise(model, folder)
    if as_json:
        print_json({"run": str(run), "directed": mx.directed} | result | {"notes": notes, "report": str(page)})
    elif not quiet:
        print_lines(f"{title_of(data)}: {mx.title}\n")
        print_gains(model.layer_gains_, f"All gains: {run / GAINS}.")
        print()
        print_table(COLUMNS, _rows(result))
        if model.evidence == "all" and mx.num_layers > 1:
            print(f"\n{wrapped(EVERY)}")
        for line in _chance(result):
            print_lines(f"\n{line}")
        print_lines(f"\n{run}: {_length(result)} Report: {page}")


def added(before: Reading, now: Reading) -> Reading:
    """Return options that data were read with, and those that are given now; columns of other roles are kept."""
    lists = {name: value for name, value in now.items() if isinstance(value, list)}
    return before | now | {name: later_columns(before.get(name, ()), value) for name, value in lists.items()}


def say_longer(folder: RunFolder, given: Mapping[str, Any]) -> None:
    """Say what more epochs or more patience mean for a run that is resumed."""
    from banditplex.training.optimizer import rate_share

    before, networks = folder.settings(), folder.progress().networks
    epochs, patience = (given.get(name, before[name]) for name in ("epochs", "patience"))
    if epochs <= before["epochs"]:
        return
    going = [epoch for epoch, since_best in networks if since_best < patience]
    if folder.finished and not going:
        done = _numbers(epoch for epoch, _ in networks)
        say(f"{folder.path}: early stopping ended training after {done}; --patience above {patience} goes on.")
        return
    some = f" of {len(going)} of {len(networks)} networks" * (len(networks) > 1)
    others = "; early stopping has ended that of the others" * (0 < len(going) < len(networks))
    shares = ", ".join(f"{rate_share(epoch / epochs):.0%}" for epoch in sorted(set(going)))
    say(
        f"{folder.path}: training{some} goes on after {_numbers(going)}, to {epochs} epochs instead of "
        f"{before['epochs']}{others}; the learning rate restarts at {shares} of its first value, as in a training of "
        f"{epochs} epochs."
    )


def _numbers(epochs: Iterable[int]) -> str:
    """Return numbers of epochs in words, each once."""
    distinct = sorted(set(epochs))
    return f"epoch{'s' * (len(distinct) > 1)} {', '.join(map(str, distinct))}"


def fit_in(
    folder: RunFolder, mx: "Multiplex", targets: "Sequence[Name] | None", settings: Mapping[str, Any], *,
    reading: Mapping[str, Any] | None = None, notes: Sequence[str] = (), resume: bool = False, force: bool = False,
    on_epoch: "Callable[[LinkPredictor, dict[str, Any]], Any] | None" = None,
    on_search: "Callable[[float], Any] | None" = None,
) -> "LinkPredictor":  # fmt: skip
    """Fit a model in a run folder, with checkpoints on the way, and save it there with a table of its gains.

    With `resume`, the run in the folder continues; `targets` and `settings` that are not given stay as they were. With
    `force`, a run in the folder is replaced. `reading` says how the data were read, for those who resume the run, and
    `notes` what was guessed. Of several processes that train together, the first one writes.
    """
    from banditplex.predictor import LinkPredictor
    from banditplex.report.kept import ABOUT, PAGE

    group = current()

    def look() -> tuple[dict[str, Any], bool]:
        folder.check_free(resume=resume, force=force)
        return folder.settings() if resume and folder.begun else {}, force and folder.occupied

    with locked_folder(folder.path) if group.is_writer else nullcontext():
        before, replaced = group.from_first(look)  # now that nobody else can change it
        targets = targets or before.pop("targets", None)
        missing = [name for name in targets or () if before and name not in mx.layer_names]
        if missing:
            got = ", ".join(map(repr, mx.layer_names[:5])) + ", ..." * (mx.num_layers > 5)
            what = f"the data of this run, with a layer {missing[0]!r}"
            raise InputError(f"{folder.path}: expected {what}, got {got}.")
        model = LinkPredictor(**{name: value for name, value in before.items() if name != "targets"} | dict(settings))
        if replaced:
            model.make_trainer(mx, targets)  # refuses bad input before anything is removed
        if replaced and group.is_writer:
            folder.clear()
            for name in (GAINS, ABOUT, PAGE):
                (folder.path / name).unlink(missing_ok=True)
        if group.is_writer and not folder.begun:
            folder.keep_reading(dict(reading or {}), notes, columns_of(mx.metadata))
        model.fit(mx, targets, on_epoch, on_search=on_search, checkpoint=folder.path, resume=resume)
        if group.is_writer:
            folder.keep_reading(dict(reading or {}), notes, columns_of(mx.metadata))
            model.save(folder.path)
            write_table(model.layer_gains_, folder.path / GAINS)
    return model


def _how_to_go_on(folder: RunFolder) -> str:
    """Say how far a run has come that was stopped, and how it is continued."""
    if not folder.begun:
        return "stopped."
    return f"stopped after epoch {folder.progress().epoch}; continue with: {resume_command()}"


def summarise(model: "LinkPredictor", folder: RunFolder) -> dict[str, Any]:
    """Return the result of a run: epochs, and for each target its validation, which layers help and which are drawn.

    `clear` says whether held-out edges are told from other pairs better than by chance, None if it is not known.
    """
    from banditplex.report.about import read_about

    quality = (read_about(folder.path, model).get("held_out") or {}).get("targets") or [{}] * len(model.k_)
    progress = folder.progress()
    kept = [row for row in progress.history if row["epoch"] in progress.kept_epochs]
    table, gains, panel = model.layer_probabilities_, model.layer_gains_, model.panel_
    used = {target: panel.loc[panel["target"] == target, "layer"].tolist() for target in table.index}
    return {
        "epochs": progress.epoch,
        "kept_epochs": list(progress.kept_epochs),
        "targets": [
            {
                "target": target,
                "validation_loss": _mean(kept, target, "validation_loss"),
                "validation_accuracy": _mean(kept, target, "validation_accuracy"),
                "gains": records(gains[gains["target"] == target].drop(columns="target")),
                "roc_auc": row.get("roc_auc"),
                "clear": row.get("clear"),
                "k": len(used[target]),
                "layers_used": used[target],
                "layer_probabilities": table.loc[target].drop(target).nlargest(LISTED).to_dict(),
            }
            for target, row in zip(table.index, quality, strict=True)
        ],
    }


def _rows(result: dict[str, Any]) -> list[list[Any]]:
    """Return a row per target for the table, with the layers that predictions look at, and whether they help."""
    rows = []
    for entry in result["targets"][:SHOWN]:
        helping = {gain["layer"] for gain in entry["gains"] if gain["helps"]}
        used = [[str(name) for name in entry["layers_used"] if (name in helping) is helps] for helps in (True, False)]
        shown = [
            f"{', '.join(names[:3])}{f' and {len(names) - 3} more' * (len(names) > 3)} ({words})"
            for names, words in zip(used, ("helps" if len(used[0]) == 1 else "help", "no gain shown"), strict=True)
            if names
        ]
        numbers = entry["validation_loss"], entry["validation_accuracy"]
        rows.append([entry["target"], *numbers, "; ".join(shown) or "none"])
    more = len(result["targets"]) - SHOWN
    return rows + [[f"... {more} more", "", "", ""]] * (more > 0)


def _chance(result: dict[str, Any]) -> list[str]:
    """Say which targets are not predicted clearly better than by chance, or for which this is not known, if any."""
    guessed, unknown = (
        [entry["target"] for entry in result["targets"] if entry["clear"] is clear] for clear in (False, None)
    )
    lines = [f"Not clearly better than chance on held-out edges: {named(guessed)}."] * bool(guessed)
    return lines + [f"Not known to be better than chance, without held-out edges: {named(unknown)}."] * bool(unknown)


def _length(result: dict[str, Any]) -> str:
    """Say how long a training was, and which weights it kept."""
    epochs, kept = result["epochs"], result["kept_epochs"]
    networks = f" of {len(kept)} networks" * (len(kept) > 1)
    restored = f"; restored weights from {_numbers(kept)} (validation loss within one standard error of the best)"
    chosen = kept != [epochs] and any(entry["validation_loss"] is not None for entry in result["targets"])
    return f"{epochs} epoch{'s' * (epochs != 1)}{networks}{restored * chosen}."


def _mean(rows: list[dict[str, Any]], target: Any, name: str) -> float | None:
    """Return the mean over networks of a number of a target; None where it is not known."""
    mean = math.fsum(row[name] for row in rows if row["layer"] == target) / sum(row["layer"] == target for row in rows)
    return None if math.isnan(mean) else mean


@contextmanager
def event_files(folder: Path | None) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Yield a callback that writes the row of an epoch, as `on_epoch` gets it, to a folder; None without one."""
    if folder is None:
        yield None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        how = "pip install 'banditplex[tensorboard]'"
        raise InputError(f"Expected the package tensorboard for --tensorboard, got none installed: {how}.") from None
    with SummaryWriter(str(folder)) as writer:

        def write(row: dict[str, Any]) -> None:
            for name, value in scalars(row):
                writer.add_scalar(name, value, row["epoch"])
            writer.flush()

        yield write


def scalars(row: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield names and numbers of an epoch: of each target, then the inclusion probability of each layer it drew."""
    for each in row["layers"]:
        known = {name: each[name] for name in NUMBERS if name in each and not math.isnan(each[name])}
        yield from ((f"{name}/{each['layer']}", value) for name, value in known.items())
        yield from ((f"inclusion of {each['layer']}/{layer}", value) for layer, value in each["inclusion"].items())
