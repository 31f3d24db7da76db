"""`banditplex convert` and `banditplex formats`."""

from pathlib import Path
from typing import Annotated

import typer

from banditplex.cli.data import Data, Reading, load, reads_data
from banditplex.cli.options import option
from banditplex.cli.output import Json, print_json, print_lines, print_table


@reads_data
def convert(
    data: Data,
    reading: Reading,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Path to write; the ending decides on the format.")],
    to_format: Annotated[str | None, option("--to", "Format of OUT, if the ending does not show it.")] = None,
    lossy: Annotated[bool, option("--lossy", "Drop what the format of OUT cannot store.")] = False,
    force: Annotated[bool, option("--force", "Replace OUT if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Convert a multiplex from one format to another."""
    from banditplex.io import check_place, write

    check_place(out, format=to_format, overwrite=force)
    mx = load(data, reading)
    write(mx, out, format=to_format, lossy=lossy, overwrite=force)
    if as_json:
        print_json({"out": str(out), "nodes": mx.num_nodes, "layers": mx.num_layers, "edges": mx.num_edges})
    else:
        print_lines(f"{out}: {mx.title}")


def formats(as_json: Json = False) -> None:
    """List the formats that can be read and written."""
    from banditplex.io import formats as known

    rows = [
        {"name": f.name, "endings": list(f.suffixes), "holds": sorted(f.holds), "description": f.description}
        for f in known.values()
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["name", "endings", "stores besides edges", "description"],
        [[r["name"], " ".join(r["endings"]), ", ".join(r["holds"]), r["description"]] for r in rows],
    )
