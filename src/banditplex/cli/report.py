"""`banditplex report`, and the page that other commands write."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.commands import complete_layer
from banditplex.cli.data import as_name
from banditplex.cli.output import Json, print_json
from banditplex.cli.predict import load_model
from banditplex.errors import InputError
from banditplex.terminal import bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The page.", show_default="RUN/report.html")
    ] = None,
    layer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAYER",
            help="List predicted links of this layer; may be repeated.",
            show_default="the largest layers",
            autocompletion=complete_layer,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only errors.")] = False,
    as_json: Json = False,
) -> None:
    """Write one HTML page about a run: which layers help, how training went, and the most likely new links."""
    if out is not None:
        check_page(out, force=force)
    model = load_model(run, device=device)
    names = model.multiplex_.layer_names
    page = write_run_page(run, model, out, [as_name(each, names) for each in layer] if layer else None, quiet=quiet)
    if as_json:
        print_json({"run": str(run), "report": str(page)})
    elif not quiet:
        print(f"Report: {page}")


def write_run_page(
    run: Path,
    model: "LinkPredictor",
    page: Path | None = None,
    layers: "Sequence[Name] | None" = None,
    *,
    quiet: bool = False,
) -> Path:
    """Write the page of a run, into its folder if no other place is given; return its path."""
    from banditplex.report.about import PAGE
    from banditplex.report.collect import collect_run
    from banditplex.report.page import write_page

    path = run / PAGE if page is None else page
    with bars(["Writing the report"], quiet=quiet):
        write_page(path, collect_run(run, model, layers))
    return path


def write_evaluation_page(
    rows_file: Path,
    data: str,
    mx: "Multiplex",
    gains: "pd.DataFrame",
    rows: list[dict[str, Any]],
    methods: list[str],
    settings: dict[str, Any],
) -> Path:
    """Write the page of an evaluation beside the file of its rows; return its path."""
    from banditplex.report.collect import collect_evaluation
    from banditplex.report.page import write_page

    path = rows_file.with_suffix(".html")
    write_page(path, collect_evaluation(data, mx, gains, rows, methods, settings))
    return path


def write_comparison_page(folder: Path, data: str, mx: "Multiplex", board: dict[str, Any]) -> Path:
    """Write the page of a comparison into its folder; return its path."""
    from banditplex.report.about import PAGE
    from banditplex.report.collect import collect_leaderboard
    from banditplex.report.page import write_page

    write_page(folder / PAGE, collect_leaderboard(data, mx, board))
    return folder / PAGE


def check_page(path: Path, *, force: bool = False) -> None:
    """Refuse a place for a page that is no HTML file, has no folder, or is taken, unless `force` replaces it."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends in .html.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected the folder {path.parent} to exist.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force replaces it.")
