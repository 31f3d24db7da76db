"""`banditplex report`, and the page that other commands write."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.data import as_name
from banditplex.cli.options import option
from banditplex.cli.output import Json, check_place, print_json
from banditplex.cli.predict import check_layer, load_model
from banditplex.errors import InputError
from banditplex.terminal import bars, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from banditplex.multiplex import Name
    from banditplex.predictor import LinkPredictor

Title = Annotated[str | None, option("Title of the page.", "TEXT", shown="the name of the data")]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    out: Annotated[Path | None, option("-o", "--out", "The page.", "FILE", shown="RUN/report.html")] = None,
    layer: Annotated[
        list[str] | None,
        option("List predicted links of this layer; may be repeated.", "LAYER", shown="the largest layers"),
    ] = None,
    title: Title = None,
    device: Annotated[str, option("auto, cpu, cuda, ...")] = "auto",
    force: Annotated[bool, option("--force", "Replace FILE if it exists.")] = False,
    quiet: Annotated[bool, option("--quiet", "Print only errors.")] = False,
    as_json: Json = False,
) -> None:
    """Write one HTML page about a run: which layers help, and the most likely new links."""
    if out is not None:
        check_place(out, (".html", ".htm"), force=force)
    for each in (*(layer or ()), None):
        check_layer(run, each, needed=False)
    from banditplex.report.kept import PAGE, kept_data
    from banditplex.report.page import write_page

    page, data = out or run / PAGE, kept_data(run, title) if not layer and device == "auto" else None
    if data is None:
        model = load_model(run, device=device)
        layers = [as_name(each, model.multiplex_.layer_names) for each in layer] if layer else None
        write_run_page(run, model, page, layers, title, quiet=quiet)
    else:
        write_page(page, data)
    if as_json:
        print_json({"run": str(run), "report": str(page)})
    elif not quiet:
        print(f"Report: {page}")


def write_run_page(
    run: Path, model: "LinkPredictor", page: Path | None = None, layers: "Sequence[Name] | None" = None,
    title: str | None = None, *, quiet: bool = False,
) -> Path:  # fmt: skip
    """Write the page of a run, into its folder if no other place is given; return its path."""
    from banditplex.report.collect import collect_run
    from banditplex.report.kept import PAGE
    from banditplex.report.page import write_page

    path = run / PAGE if page is None else page
    with bars(["Writing the report"], quiet=quiet):
        write_page(path, collect_run(run, model, layers, title))
    return path


def page_beside(data: "Sequence[str]", what: str) -> Path:
    """Return a place for a page for which none was asked: in the working folder, named after the data."""
    return Path(f"{Path(data[0]).resolve().stem}-{what}.html")


def last_line(files: "Sequence[str]", page: Path | None) -> str:
    """Return what a command says last: which files it wrote, and its page."""
    return " ".join([*files, *([] if page is None else [f"Report: {page}"])])


def try_page(page: Path, data: dict[str, Any], *, asked: bool) -> Path | None:
    """Write a page of results; return its path, None if it cannot be written there and was not `asked` for."""
    from banditplex.report.page import write_page

    try:
        write_page(page, data)
    except InputError as error:
        if asked:
            raise
        say(f"no report: {error}")  # results, which took long, are printed all the same
        return None
    return page
