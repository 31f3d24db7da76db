"""`banditplex predict`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from banditplex.cli.data import parse_columns
from banditplex.cli.output import Json, print_json
from banditplex.errors import InputError


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    layer: Annotated[str, typer.Option(help="The layer to predict links in.")],
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV, TSV or Parquet with columns source and target.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="ROLE=NAME,..", help="Columns of the pairs' file, as source=from,target=to."),
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

    if (pairs is None) == (top is None):
        raise InputError(f"Expected either --pairs FILE or --top N, got {'neither' if top is None else 'both'}.")
    if columns is not None and pairs is None:
        raise InputError("Expected --columns with --pairs FILE, whose columns it names, got it without.")
    if out is not None:
        runs.check_table(out, force=force)
    elif force:
        raise InputError("Expected --force with -o FILE, which it replaces, got it without.")
    roles = parse_columns(columns)
    table = runs.predict(runs.load(run, device=device), layer, pairs=pairs, columns=roles, top=top, prior=prior)
    if out is not None:
        runs.write_table(table, out, force=force)
    if as_json:
        print_json(table.to_dict("records") if out is None else {"out": str(out), "layer": layer, "pairs": len(table)})
    elif out is not None:
        print(f"{out}: {len(table)} pair{'s' * (len(table) != 1)}")
    else:
        table.to_csv(sys.stdout, index=False)
