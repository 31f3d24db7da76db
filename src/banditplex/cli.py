"""The command line: one function per subcommand, no logic of its own.

Whatever a command needs is imported inside it, so that `banditplex --help` answers at once.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from banditplex import __version__
from banditplex.errors import InputError

if TYPE_CHECKING:
    from banditplex.io import Progress
    from banditplex.multiplex import Multiplex, Summary
    from banditplex.predictor import LinkPredictor

app = typer.Typer(
    name="banditplex",
    help="Link prediction on multiplex networks; a bandit learns which layers to look at.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets_app = typer.Typer(help="The data sets that load by name.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder, or the name of a data set.")]


def main() -> NoReturn:
    """Run the command line; what the user can mend is one line on stderr and status 2."""
    warnings.formatwarning = lambda message, *_, **__: f"banditplex: {message}\n"
    try:
        app(standalone_mode=True)
    except InputError as error:
        print(f"banditplex: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        raise SystemExit(0) from None
    raise SystemExit(0)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"banditplex {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@datasets_app.command("list")
def datasets_list(as_json: Json = False) -> None:
    """List the data sets with their sizes, and whether they are at hand."""
    from banditplex.datasets import describe, list_datasets

    rows = [describe(name) for name in list_datasets()]
    if as_json:
        _print_json(rows)
        return
    _print_table(
        ["name", "nodes", "layers", "edges", "direction", "at hand", "title"],
        [
            [r["name"], r["nodes"], r["layers"], r["edges"], _direction(r["directed"]), _at_hand(r), r["title"]]
            for r in rows
        ],
    )


@datasets_app.command("show")
def datasets_show(
    data: Data,
    all_layers: Annotated[bool, typer.Option("--all", help="Show every layer, not only the first 20.")] = False,
    as_json: Json = False,
) -> None:
    """Show what is in a data set, or in a file of yours, layer by layer."""
    from banditplex.datasets import describe, list_datasets

    facts: dict[str, Any] = (
        describe(data) if data in list_datasets() and not Path(data).exists() else {"name": data, "at_hand": True}
    )
    summary = _load(data).summary() if facts["at_hand"] else None
    if as_json:
        _print_json(facts | ({} if summary is None else {"layers": _rows(summary)}))
        return
    for fact in ("title", "address", "terms", "citation", "note"):
        if facts.get(fact):
            _print_text(f"[bold]{fact}[/]: ", facts[fact])
    if summary is None:
        _print_text("", f"Not at hand yet: `banditplex datasets fetch {data}` downloads it.")
        return
    _print_text("", summary.title)
    _print_summary(summary, limit=None if all_layers else 20)


@datasets_app.command("fetch")
def datasets_fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets to download.")],
    as_json: Json = False,
) -> None:
    """Download data sets, check them against their checksums, and say where they are."""
    from banditplex.datasets import fetch

    found = {}
    for name in names:
        with _progress(f"Fetching {name}") as progress:
            found[name] = str(fetch(name, progress=progress))
        if not as_json:
            print(f"{name}: {found[name]}")
    if as_json:
        _print_json(found)


@app.command()
def formats(as_json: Json = False) -> None:
    """List the formats that can be read and written."""
    from banditplex.io import formats as known

    rows = [
        {"name": f.name, "endings": list(f.suffixes), "holds": sorted(f.holds), "description": f.description}
        for f in known.values()
    ]
    if as_json:
        _print_json(rows)
        return
    _print_table(
        ["name", "endings", "holds besides edges", "description"],
        [[r["name"], " ".join(r["endings"]), ", ".join(r["holds"]), r["description"]] for r in rows],
    )


@app.command()
def convert(
    data: Annotated[str, typer.Argument(metavar="IN", help="A file, a folder, or the name of a data set.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write; the ending of the name says how.")],
    from_format: Annotated[str | None, typer.Option("--from", help="Format of IN, if its name does not say.")] = None,
    to_format: Annotated[str | None, typer.Option("--to", help="Format of OUT, if its name does not say.")] = None,
    directed: Annotated[
        bool | None, typer.Option("--directed/--undirected", help="Read IN so, whatever the file says.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a table: source=from,target=to,layer=kind,weight=w,time=t.")
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Drop what OUT's format cannot hold.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a multiplex from one format to another."""
    from banditplex.io import write

    options: dict[str, Any] = {} if directed is None else {"directed": directed}
    mx = _load(data, format=from_format, **options, **_parse_columns(columns))
    write(mx, out, format=to_format, lossy=lossy, overwrite=force)
    if as_json:
        _print_json({"out": str(out), "nodes": mx.num_nodes, "layers": mx.num_layers, "edges": mx.num_edges})
    else:
        print(f"{out}: {mx}")


@app.command()
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
    mx = _load(data).to_undirected() if undirected else _load(data)
    try:
        with _epochs(quiet) as on_epoch:
            model = runs.train(
                mx, run, targets=target, settings=settings, resume=resume, force=force, on_epoch=on_epoch
            )
    except KeyboardInterrupt:
        again = f"banditplex train {data} -o {run}{' --undirected' * undirected} --resume"
        print(f"banditplex: {runs.where_it_stopped(run, again)}", file=sys.stderr)
        raise typer.Exit(130) from None
    result = runs.describe(model, run)
    if as_json:
        _print_json({"run": str(run), "directed": mx.directed} | result)
    elif not quiet:
        print(f"{data}: {mx}")
        _print_table(runs.TARGET_COLUMNS, runs.target_rows(result, limit=20))
        print(f"{run}: {runs.in_words(result)}")


@app.command()
def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    layer: Annotated[str, typer.Option(help="The layer to predict links in.")],
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV, TSV or Parquet with columns source and target.")
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="The most likely new links, so many.")] = None,
    prior: Annotated[float, typer.Option(help="Share of links among the pairs you ask about.")] = 0.5,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="CSV, TSV or Parquet. Default: CSV to stdout.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Predict with a trained model: pairs of your own, or the most likely new links of a layer."""
    from banditplex import runs

    table = runs.predict(runs.load(run, device=device), layer, pairs=pairs, top=top, prior=prior)
    if out is not None:
        runs.write_table(table, out, force=force)
    elif as_json:
        _print_json(table.to_dict("records"))
    else:
        table.to_csv(sys.stdout, index=False)


@app.command()
def demo(
    seeds: Annotated[int, typer.Option(min=1, help="Splits of the data to train on.")] = 3,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the picture goes.")] = Path("banditplex-demo"),
    as_json: Json = False,
) -> None:
    """Show what choosing layers is worth, on the built-in data set `twins`; about a minute."""
    from banditplex import demo as show

    with _policies(show.POLICIES, seeds * epochs) as on_epoch:
        measured = show.measure(seeds=seeds, epochs=epochs, on_epoch=on_epoch)
    picture = show.write_picture(measured, out)
    rows, learnt = show.summarise(measured), show.learnt(measured)
    if as_json:
        share = show.oracle_share(rows)
        _print_json({"policies": rows, "oracle_share": share, "learnt": learnt, "picture": str(picture)})
        return
    print(f"{show.introduce(measured)}\n")
    _print_table(*show.policy_table(rows))
    print(f"\n{show.conclude(rows)}\n")
    _print_table(*show.learnt_table(learnt))
    print(f"\nCurves: {picture}")


# The hands of the commands


def _load(data: str, **options: Any) -> "Multiplex":
    from banditplex.datasets import list_datasets, load_dataset
    from banditplex.io import read

    options = {name: value for name, value in options.items() if value is not None}
    if data in list_datasets() and not Path(data).exists():
        if options:
            raise InputError(f"Expected no options for the data set {data!r}, got {', '.join(options)}.")
        return load_dataset(data)
    if not Path(data).exists():
        close = get_close_matches(data, list_datasets(), n=1)
        hint = f" did you mean {close[0]!r}?" if close else " `banditplex datasets list` names those."
        raise InputError(f"{data}: no such file or folder, and no data set of that name;{hint}")
    with _progress(f"Reading {data}") as progress:
        return read(data, progress=progress, **options)


def _parse_columns(text: str | None) -> dict[str, str]:
    roles = {"source": "source", "target": "destination", "destination": "destination"}
    roles |= {name: name for name in ("layer", "weight", "time")}
    columns = {}
    for part in text.split(",") if text else []:
        role, equals, column = part.partition("=")
        if role not in roles or not equals or not column:
            raise InputError(f"Expected --columns like source=from,target=to, got {part!r}; roles: {', '.join(roles)}.")
        columns[roles[role]] = column
    return columns


@contextmanager
def _progress(title: str) -> "Iterator[Progress | None]":
    """Yield a callback that draws a bar on stderr once something takes longer than a moment."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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


@contextmanager
def _policies(names: Iterable[str], total: int) -> "Iterator[Callable[[str, int, float], None] | None]":
    """Yield a callback that draws a bar per policy on stderr, with the test AUC beside it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description:8}"), TextColumn("{task.fields[auc]}")
    columns = (text[0], BarColumn(), MofNCompleteColumn(), text[1], TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {name: bar.add_task(name, total=total, start=False, auc="") for name in names}

        def show(policy: str, seed: int, auc: float) -> None:
            bar.start_task(tasks[policy])
            bar.update(tasks[policy], advance=1, auc=f"test AUC {auc:.3f}")

        yield show


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, default=str))


def _print_text(markup: str, text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console().print(Text.from_markup(markup) + Text(text))


def _print_table(columns: list[str], rows: list[list[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        number = any(isinstance(row[i], int | float) for row in rows)
        widest = max(len(_show(row[i])) for row in [columns, *rows])  # only the last column gives way
        width = None if i == len(columns) - 1 else widest
        table.add_column(column, justify="right" if number else "left", no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*(Text(_show(value)) for value in row))  # names are text, not markup
    Console(width=None if sys.stdout.isatty() else 160, soft_wrap=not sys.stdout.isatty()).print(table)


def _show(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _rows(summary: "Summary") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(summary.layers.reset_index().to_json(orient="records"))
    return rows


def _print_summary(summary: "Summary", limit: int | None) -> None:
    rows = _rows(summary)
    shown = rows[:limit]
    if shown:
        _print_table([name.replace("_", " ") for name in shown[0]], [list(row.values()) for row in shown])
    if len(shown) < len(rows):
        print(f"... {len(rows) - len(shown)} more layers (--all shows them)")


def _direction(directed: bool | None) -> str:
    return "?" if directed is None else "directed" if directed else "undirected"


def _at_hand(facts: dict[str, Any]) -> str:
    return "built in" if facts["kind"] == "built-in" else "yes" if facts["at_hand"] else "no"
