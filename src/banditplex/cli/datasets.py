"""`banditplex datasets`: list, show, fetch."""

import json
from typing import Annotated, Any

import typer

from banditplex.cli.data import Data, Reading, is_dataset, load, reading_notes, reads_data, title_of
from banditplex.cli.options import PlainCommand, PlainGroup, help_alone, option
from banditplex.cli.output import Json, print_json, print_lines, print_table, print_text
from banditplex.terminal import progress

app = typer.Typer(help="List, show and download data sets.", cls=PlainGroup, invoke_without_command=True)
app.callback()(help_alone)


@app.command("list", cls=PlainCommand)
def list_all(as_json: Json = False) -> None:
    """List the data sets, their sizes, and whether they are downloaded."""
    from banditplex.datasets import dataset_info, list_datasets

    rows = [dataset_info(name) for name in list_datasets()]
    if as_json:
        print_json(rows)
        return
    facts = [[r[name] for name in ("name", "nodes", "layers", "edges")] for r in rows]
    ways = [{None: "?", True: "directed", False: "undirected"}[r["directed"]] for r in rows]
    here = ["built in" if r["kind"] == "built-in" else "yes" if r["at_hand"] else "no" for r in rows]
    lines = [[*each, way, at, r["title"]] for each, way, at, r in zip(facts, ways, here, rows, strict=True)]
    print_table(["name", "nodes", "layers", "edges", "direction", "downloaded", "title"], lines)


@app.command(cls=PlainCommand)
@reads_data
def show(
    data: Data,
    reading: Reading,
    all_layers: Annotated[bool, option("--all", "Show all layers, not only the first 20.")] = False,
    as_json: Json = False,
) -> None:
    """Show the layers of a data set, file or folder."""
    from banditplex.datasets import check_files, dataset_info

    title = title_of(data)
    facts: dict[str, Any] = dataset_info(title) if is_dataset(title) else {"name": title, "at_hand": True}
    if not facts["at_hand"]:
        check_files(title)
    mx = load(data, reading) if facts["at_hand"] else None
    if mx is not None:
        rows = json.loads(mx.summary().layers.reset_index().to_json(orient="records"))
        counts = {"nodes": mx.num_nodes, "edges": mx.num_edges, "directed": mx.directed, "layers": rows}
    if as_json:
        more = {} if mx is None else counts | {"weighted": mx.weight is not None, "notes": reading_notes(mx)}
        print_json(facts | more)
        return
    for fact in ("title", "address", "terms", "citation", "note"):
        if facts.get(fact):
            print_text(f"[bold]{fact}[/]: ", facts[fact])
    if mx is None:
        print_text("", f"Not downloaded yet: use `banditplex datasets fetch {title}`.")
        return
    print_text("", mx.title)
    shown = rows if all_layers else rows[:20]
    if shown:
        print_table([name.replace("_", " ") for name in shown[0]], [list(row.values()) for row in shown])
    if len(shown) < len(rows):
        print(f"... {len(rows) - len(shown)} more layers (--all shows them)")


@app.command(cls=PlainCommand)
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Data sets to download.")], as_json: Json = False
) -> None:
    """Download data sets, verify their checksums, and print their folders."""
    from banditplex import datasets

    found = {}
    for name in names:
        with progress(f"Fetching {name}") as on_progress:
            found[name] = str(datasets.fetch(name, progress=on_progress))
        if not as_json:
            print_lines(f"{name}: {found[name]}")
    if as_json:
        print_json(found)
