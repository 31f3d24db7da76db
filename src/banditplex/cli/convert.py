"""`banditplex convert`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from banditplex.cli.data import load, parse_columns
from banditplex.cli.output import Json, print_json


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

    options: dict[str, Any] = {"format": from_format, "directed": directed, **parse_columns(columns)}
    mx = load(data, **options)
    write(mx, out, format=to_format, lossy=lossy, overwrite=force)
    if as_json:
        print_json({"out": str(out), "nodes": mx.num_nodes, "layers": mx.num_layers, "edges": mx.num_edges})
    else:
        print(f"{out}: {mx}")
