"""`banditplex predict`."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.commands import complete_layer
from banditplex.cli.data import as_name, parse_columns, parse_node_columns
from banditplex.cli.flags import in_flags
from banditplex.cli.output import Json, print_json, print_lines
from banditplex.errors import InputError
from banditplex.multiplex.join import FEATURE_NAMES
from banditplex.multiplex.roles import with_usual
from banditplex.terminal import escape, progress, say

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex import Multiplex
    from banditplex.predictor import LinkPredictor

TOP = 20
"""Links that are shown if nothing else is asked for."""
SEPARATOR = {".csv": ",", ".tsv": "\t"}
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How texts begin that a spreadsheet takes for formulas, or hides."""


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    layer: Annotated[
        str | None,
        typer.Option(
            help="The layer to predict links in.",
            show_default="the target, if there is one",
            autocompletion=complete_layer,
        ),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV, TSV or Parquet with columns source and target.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=NAME,..", help="Columns of the pairs' file, as source=from,target=to."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="The N most likely new links, without --pairs.", metavar="N", show_default=str(TOP)),
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="New links of this node only; if directed, from it.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Rank all pairs for the most likely ones, even where this takes long.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="A row for each term of a pair's score: which layers speak for it.")
    ] = False,
    context: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Edges that came after training, in any format: predictions see them, too."),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of nodes with features or types of new ones in --context."),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Share of links among the pairs you ask about. Default: the density of the layer."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="CSV, TSV or Parquet. Default: CSV to stdout.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    safe_csv: Annotated[
        bool,
        typer.Option("--safe-csv", help="Write ' before names that a spreadsheet would take for formulas (CSV, TSV)."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict with a trained model: the most likely new links of a layer, or pairs of your own.

    A CSV file with letters beyond ASCII begins with a byte order mark, so that Excel shows them.
    """
    beside = next((flag for flag, given in (("--top", top), ("--node", node), ("--exact", exact)) if given), None)
    if pairs is not None and beside is not None:
        raise InputError(f"Expected --pairs FILE or {beside}, got both.")
    top = TOP if pairs is None and top is None else top
    if columns and pairs is None:
        raise InputError("Expected --pairs FILE with --columns, got none.")
    if nodes is not None and context is None:
        raise InputError("Expected --context FILE with --nodes, got none.")
    if out is not None:
        check_table(out, force=force)
    elif force:
        raise InputError("Expected -o FILE with --force, got none.")
    roles = _columns_of(run) | parse_columns(columns)
    model = load_model(run, device=device)
    layer = _only_target(model) if layer is None else layer
    later = None if context is None else _read_context(context, run, model.multiplex_, nodes)
    with progress("Ranking pairs") as on_progress:
        table = predictions(
            model, layer, pairs=pairs, columns=roles, top=top, node=node, exact=exact, prior=prior, context=later,
            on_progress=on_progress,
        )  # fmt: skip
    if table.attrs.get("ranked", 0) < table.attrs.get("possible", 0):
        ranked = f"{table.attrs['ranked']:,} of {table.attrs['possible']:,} pairs"
        say(f"ranked {ranked}, {table.attrs['chosen']}; --exact ranks all.")
    if prior is None:
        density = f"{table.attrs['prior']:.2g}, the density of layer {layer!r}"
        say(
            f"Probabilities assume that a share of {density}, of the pairs are links: about as many new links as known "
            "ones. If fewer are missing, they are too high, and --prior lowers them."
        )
    _warn_of_chance(run, model, layer)
    num_pairs = len(table)
    if explain and num_pairs:
        ends = table[["source", "destination"]].drop_duplicates().to_numpy()
        terms = model.explain(ends, as_name(layer, model.multiplex_.layer_names), context=later)
        table = table.merge(terms, on=["source", "destination"], sort=False)
    if safe_csv:
        table = without_formulas(table)
    if out is not None:
        write_table(table, out)
    if as_json:
        print_json(table.to_dict("records") if out is None else {"out": str(out), "layer": layer, "pairs": num_pairs})
    elif out is not None:
        print_lines(f"{out}: {num_pairs} pair{'s' * (num_pairs != 1)}")
    elif sys.stdout.isatty():
        print_lines(
            table.map(lambda cell: escape(cell) if isinstance(cell, str) else cell).to_csv(index=False).rstrip()
        )
    else:
        table.to_csv(sys.stdout, index=False)


def load_model(folder: Path, *, device: str = "auto") -> "LinkPredictor":
    """Return the model of a run; refuse a run whose training has not finished."""
    from banditplex.persistence.run_folder import RunFolder
    from banditplex.predictor import LinkPredictor

    run = RunFolder(folder)
    if run.begun and not run.finished:
        command = f"banditplex train DATA -o {folder} --resume"
        raise InputError(f"{folder}: training has not finished; continue it with `{command}`.")
    return LinkPredictor.load(folder, device=device)


def _warn_of_chance(run: Path, model: "LinkPredictor", layer: str) -> None:
    """Say if the run's held-out edges of a layer were not clearly told from other pairs."""
    from banditplex.report.about import read_about

    names = [str(name) for name in model.layer_probabilities_.index]
    quality = dict(zip(names, (read_about(run).get("held_out") or {}).get("targets") or [], strict=False))
    if not quality.get(layer, {}).get("clear", True):
        auc = quality[layer]["roc_auc"]
        shown = "too few of them" if auc is None else f"ROC-AUC {auc:.2f}"
        say(f"On held-out edges of layer {layer!r} the model is not clearly better than chance ({shown}).")


def _only_target(model: "LinkPredictor") -> str:
    """Return the target of a model that has a single one."""
    targets = model.layer_probabilities_.index.tolist()
    if len(targets) > 1:
        listed = ", ".join(map(repr, targets[:5])) + ", ..." * (len(targets) > 5)
        raise InputError(f"Expected --layer NAME, one of the {len(targets)} targets {listed}, got none.")
    return str(targets[0])


def _columns_of(run: Path) -> dict[str, Any]:
    """Return the columns that the data of a run were read with, or usual ones, by role."""
    from banditplex.persistence.run_folder import RunFolder

    given = parse_columns(RunFolder(run).reading().get("columns"))
    return {role: with_usual(role, name) for role, name in given.items()}


def _read_context(path: Path, run: Path, mx: "Multiplex", nodes: Path | None) -> "Multiplex":
    """Return the training graph with the edges of a file; a table is read as that of the run was."""
    from banditplex.io import read
    from banditplex.io.table_join import SUFFIXES
    from banditplex.persistence.run_folder import RunFolder

    before = RunFolder(run).reading()
    options: dict[str, Any] = {}
    if nodes is not None:
        features = dict.fromkeys(name.partition("=")[0] for name in mx.metadata.get(FEATURE_NAMES, ()))
        columns = {"features": "+".join(features)} | parse_node_columns(before.get("node_columns") or ())
        options = {"node_table": nodes, "node_columns": columns}
    if path.name.lower().endswith(SUFFIXES):
        options |= {name: before[name] for name in ("bipartite", "fold_case", "missing") if name in before}
        options |= _columns_of(run)
    with progress(f"Reading {path}") as on_progress:
        later = read(path, progress=on_progress, directed=mx.directed, **options)
    try:
        joint = mx.with_edges(later)
    except InputError as error:
        lacks = nodes is None and ("node features" in str(error) or "node types" in str(error))
        hint = "; --nodes FILE has them." if lacks else "."
        raise InputError(f"{path}: {str(error).removesuffix('.')}{hint}") from None
    new = joint.num_nodes - mx.num_nodes
    if new:
        shown = joint.node_names[mx.num_nodes :].tolist()[0]
        say(f"{path}: {new:,} node{'s' * (new > 1)} that training did not have, as {shown!r}.")
    return joint


def predictions(
    model: "LinkPredictor",
    layer: str,
    *,
    pairs: Path | None = None,
    columns: Mapping[str, Any] | None = None,
    top: int | None = None,
    node: str | None = None,
    exact: bool = False,
    prior: float | None = None,
    context: "Multiplex | None" = None,
    on_progress: "Callable[[int, int], Any] | None" = None,
) -> "pd.DataFrame":
    """Return a table of the pairs of a file, or of the `top` most likely new links, with probability and score.

    The prior that was assumed is in `attrs["prior"]`.
    """
    import pandas as pd

    from banditplex.io.pair_table import read_pairs

    mx = model.multiplex_ if context is None else context
    name = as_name(layer, mx.layer_names)
    if pairs is None:
        of = None if node is None else as_name(node, mx.node_names.tolist()[:1])
        table = model.recommend(
            name, top=top or 0, node=of, exact=exact or None, prior=prior, context=context, on_progress=on_progress,
            note=lambda text: say(in_flags(text)),
        )  # fmt: skip
        ends = table[["source", "destination"]].to_numpy()
    else:
        ends = read_pairs(pairs, mx, columns=columns)
        table = pd.DataFrame(ends, columns=["source", "destination"])
        assumed = model.density(name, context=context) if prior is None else prior
        table["probability"] = model.predict_proba(ends, name, prior=assumed, context=context)
        table.attrs["prior"] = assumed
    return table.assign(score=model.score_pairs(ends, name, context=context) if len(table) else pd.Series(dtype=float))


def without_formulas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose texts begin with ' if a spreadsheet would take them for formulas."""
    return table.map(lambda cell: f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell)


def check_table(path: Path, *, force: bool = False) -> None:
    """Refuse a table file whose name says no format, or that exists already, unless `force` replaces it."""
    if path.suffix.lower() not in (*SEPARATOR, ".parquet"):
        raise InputError(f"{path}: expected a name that ends in .csv, .tsv or .parquet.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected the folder {path.parent} to exist.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force replaces it.")


def _is_ascii(table: "pd.DataFrame") -> bool:
    texts = table.select_dtypes(["object", "string"])
    return all(str(cell).isascii() for name in texts for cell in (name, *texts[name].unique()))


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of the name; a file that exists is replaced.

    Excel takes a CSV file for UTF-8 only if it begins with a byte order mark; it gets one if there is a need.
    """
    draft = path.with_name(path.name + ".new")
    try:
        if path.suffix.lower() == ".parquet":
            table.to_parquet(draft, index=False)
        else:
            encoding = "utf-8-sig" if path.suffix.lower() == ".csv" and not _is_ascii(table) else "utf-8"
            table.to_csv(draft, index=False, sep=SEPARATOR[path.suffix.lower()], encoding=encoding)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):  # a read-only disk
            draft.unlink()
        raise InputError(f"{path}: cannot be written: {error.strerror or error}.") from None
