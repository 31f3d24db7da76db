"""`banditplex predict`."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli import output
from banditplex.cli.data import READING, Reading, as_name, in_flags, parse_columns, parse_node_columns
from banditplex.cli.options import option
from banditplex.errors import InputError
from banditplex.multiplex.join import FEATURE_NAMES
from banditplex.multiplex.names import no_target, unknown
from banditplex.multiplex.notes import Quiet, collected, note
from banditplex.multiplex.roles import EDGE_ROLES, choose_columns, with_usual
from banditplex.persistence.index import read_index, read_layers, read_nodes
from banditplex.persistence.run_folder import RunFolder
from banditplex.terminal import progress, say

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor

DIGITS, SHOWN = 4, 5  # significant digits of the numbers in a table; layers that a message names
TOP = 20  # links that are shown if nothing else is asked for
READ_ALIKE = ("bipartite", "fold_case", "missing", "decimal", "date_format")
"""Options of the run's tables that hold for a table of later edges, too; wide tables and matrices have no layer."""
_OTHERS = "|".join({*READING, "format"} - {"columns", "node_table"})  # options of reading that this command lacks
_HINT = re.compile(rf"; [^;]*\b(?:{_OTHERS})=[^;]*?(?=\.?$|;)")
TERMS = {  # what the terms of a score come from; all but the first are differences from a typical pair
    "base": "the score of a typical pair",
    "own": "the neighbourhood of the pair in the target layer and in all layers together",
    "edge": "a layer has the pair (reverse: the other way round)",
    "drawn": "the neighbourhood of the pair in a layer that predictions look at",
}


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or of a saved model.")],
    layer: Annotated[
        str | None,
        option(
            "The layer to predict links in.",
            shown="the only target; all of them with --node or --pairs, if these have no column of layers",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        option("CSV, TSV or Parquet with columns source, target and, if each pair has its own, layer.", "FILE"),
    ] = None,
    columns: Annotated[
        list[str] | None,
        option("Columns of the table of pairs or of --context, as source=from,target=to.", "ROLE=NAME,.."),
    ] = None,
    top: Annotated[
        int | None, option("The N most likely new links of a layer, without --pairs.", "N", shown=str(TOP), min=1)
    ] = None,
    node: Annotated[str | None, option("New links of this node only; if directed, from it.", "NAME")] = None,
    exact: Annotated[bool, option("--exact", "Rank all pairs, even if this takes long.")] = False,
    explain: Annotated[
        bool, option("--explain", "Write a row for each term of a pair's score; the score is their sum (see below).")
    ] = False,
    context: Annotated[
        Path | None, option("Edges that came after training, in any format; predictions use them.", "FILE")
    ] = None,
    nodes: Annotated[
        Path | None, option("Table of nodes with features or types of new ones in --context.", "FILE")
    ] = None,
    prior: Annotated[
        float | None,
        option("Share of links among the pairs you ask about. Default: every tenth link is unknown.", min=0, max=1),
    ] = None,
    out: Annotated[Path | None, option("-o", "--out", "CSV, TSV or Parquet. Default: CSV to stdout.", "FILE")] = None,
    device: Annotated[str, option("auto, cpu, cuda, ...")] = "auto",
    force: Annotated[bool, option("--force", "Replace FILE if it exists.")] = False,
    safe_csv: Annotated[
        bool, option("--safe-csv", "Write ' before names that a spreadsheet would take for formulas (CSV, TSV).")
    ] = False,
    as_json: output.Json = False,
) -> None:
    """Predict with a trained model: the most likely new links of a layer, or pairs of your own.

    A terminal shows a table with four digits; files, pipes and --json have all digits. A CSV file with letters beyond
    ASCII begins with a byte order mark, so that Excel shows them.

    Terms of --explain, in units of the score (log odds; above 0 speaks for a link): base is the score of a typical
    pair; own, what the neighbourhood of the pair in the target layer and in all layers together adds; edge, that
    another layer has the pair (reverse: the other way round); drawn, the neighbourhood of the pair in a layer that
    predictions look at. The column layer is the layer of the term.
    """
    beside = next((flag for flag, given in (("--top", top), ("--node", node), ("--exact", exact)) if given), None)
    if pairs is not None and beside is not None:
        raise InputError(f"Expected --pairs FILE or {beside}, got both.")
    top = TOP if pairs is None and top is None else top
    if columns and pairs is None and context is None:
        raise InputError("Expected --pairs FILE or --context FILE with --columns, got none.")
    if nodes is not None and context is None:
        raise InputError("Expected --context FILE with --nodes, got none.")
    if out is not None:
        output.check_place(out, output.ENDINGS, force=force)
    elif force:
        raise InputError("Expected -o FILE with --force, got none.")
    check_layer(run, layer, needed=node is None and pairs is None)
    reading, used = RunFolder(run).reading(), RunFolder(run).columns()
    roles = _columns_of(reading) | parse_columns(columns)
    fold_case = bool(reading.get("fold_case"))
    of_table = {path: _columns_in(path, used) | roles for path in (pairs, context) if path is not None}

    def read_asked(mx: "Multiplex", targets: "Sequence[Name]") -> "pd.DataFrame | None":
        if pairs is None:
            return None
        return _read_asked(pairs, layer, mx, targets, columns=of_table[pairs], fold_case=fold_case)

    known = _known(run) if context is None and (node is not None or pairs is not None) else None
    if known is not None and node is not None:
        check_node(known[0], node, fold_case)
    asked = None if known is None else read_asked(*known)
    model = load_model(run, device=device)
    targets = model.layer_probabilities_.index.tolist()
    later = None if context is None else _read_context(context, reading, of_table[context], model.multiplex_, nodes)
    asked = read_asked(later or model.multiplex_, targets) if known is None else asked
    parts = dict.fromkeys([layer] if layer is not None else map(str, targets), asked)
    own = asked is not None and "layer" in asked
    if asked is not None and own:
        parts = {str(each): part for each, part in asked.groupby("layer", sort=False)} or {str(targets[0]): asked}
    layers, tables = list(parts), []
    with progress("Ranking pairs") as on_progress:
        for each, part in parts.items():
            table = predictions(
                model, each, pairs=part, top=top, node=node, exact=exact, fold_case=fold_case, prior=prior,
                context=later, on_progress=on_progress,
            )  # fmt: skip
            tables.append(table)
    if table.attrs.get("ranked", 0) < table.attrs.get("possible", 0):
        ranked = f"{table.attrs['ranked']:,} of {table.attrs['possible']:,} pairs"
        say(f"ranked {ranked}, {table.attrs['chosen']}; --exact ranks all.")
    if prior is None:
        priors = [each.attrs["prior"] for each in tables]
        shown = dict.fromkeys(f"{each:.2g}" for each in (min(priors), max(priors)))
        say(
            f"Probabilities assume that every tenth link is unknown: a share of {' to '.join(shown)} of the unknown "
            "pairs are links. If you expect more or fewer, give their share with --prior."
        )
    impossible = sum(int((each["probability"] == 0).sum()) for each in tables)
    if impossible:
        say(f"Probability 0 of {impossible:,} pair{'s' * (impossible > 1)}: the layer links no nodes of such types.")
    _warn_of_chance(run, model, layers)
    num_pairs = sum(map(len, tables))
    if explain:
        tables = [_with_terms(model, *each, later) for each in zip(tables, layers, strict=True)]
    table = _together(tables, layers, "target" if explain else "layer", own=own)
    if safe_csv:
        table = output.without_formulas(table)
    if out is not None:
        output.write_table(table, out)
    if as_json:
        which = {"layer": layers[0]} if len(layers) == 1 else {"layers": layers}
        output.print_json(table.to_dict("records") if out is None else {"out": str(out)} | which | {"pairs": num_pairs})
    elif out is not None:
        output.print_lines(f"{out}: {num_pairs} pair{'s' * (num_pairs != 1)}")
    elif sys.stdout.isatty():
        output.print_table([str(name) for name in table], table.to_numpy(object).tolist(), digits=DIGITS)
        if explain and num_pairs:
            told = "; ".join(f"{term}: {text}" for term, text in TERMS.items())
            print(f"\n{output.wrapped(f'The score is the sum of the terms. {told}.')}")
    else:
        table.to_csv(sys.stdout, index=False)


def _with_terms(model: "LinkPredictor", table: "pd.DataFrame", layer: str, later: "Multiplex | None") -> "pd.DataFrame":
    """Return a row for each term of each pair's score."""
    if table.empty:
        return table
    ends = table[["source", "destination"]].drop_duplicates().to_numpy()
    terms = model.explain(ends, as_name(layer, model.multiplex_.layer_names), context=later)
    return table.reset_index().merge(terms, on=["source", "destination"], sort=False).set_index("index")


def _together(tables: "list[pd.DataFrame]", layers: list[str], column: str, *, own: bool) -> "pd.DataFrame":
    """Return the tables of several layers as one, with a column that says which; a single one as it is.

    If pairs have layers of their `own`, rows are in the order of the file.
    """
    import pandas as pd

    for table, layer in zip(tables, layers, strict=True):
        if own or len(tables) > 1:
            table.insert(0, column, layer)
    table = pd.concat([table for table in tables if len(table)] or tables)
    return (table.sort_index(kind="stable") if own else table).reset_index(drop=True)


def load_model(folder: Path, *, device: str = "auto") -> "LinkPredictor":
    """Return the model of a run; refuse a run whose training has not finished."""
    run = RunFolder(folder)
    if run.begun and not run.finished:
        command = f"banditplex train DATA -o {folder} --resume"
        raise InputError(f"{folder}: training has not finished; continue it with `{command}`.")
    from banditplex.predictor import LinkPredictor

    return LinkPredictor.load(folder, device=device)


def _warn_of_chance(run: Path, model: "LinkPredictor", layers: list[str]) -> None:
    """Say if the run's held-out edges of layers were not clearly told from other pairs."""
    from banditplex.report.about import read_about

    names = [str(name) for name in model.layer_probabilities_.index]
    about = read_about(run, model)
    if about and not about.get("held_out"):
        say("How well the model predicts is not known: it has no held-out edges.")
    quality = dict(zip(names, (about.get("held_out") or {}).get("targets") or [], strict=False))
    unclear = [layer for layer in layers if not quality.get(layer, {}).get("clear", True)]
    if not unclear:
        return
    aucs = [quality[layer]["roc_auc"] for layer in unclear[:SHOWN]]
    shown = ["too few of them" if auc is None else f"ROC-AUC {auc:.2f}" for auc in aucs]
    listed = ", ".join(f"{name!r} ({auc})" for name, auc in zip(unclear, shown, strict=False))
    more = f" and {len(unclear) - SHOWN} more" * (len(unclear) > SHOWN)
    some = f"layer{'s' * (len(unclear) > 1)} {listed}{more}"
    say(f"On held-out edges of {some} the model is not clearly better than chance.")


def check_layer(run: Path, layer: str | None, *, needed: bool) -> None:
    """Refuse a layer that the index of a run has no links of, before anything that takes long to import is imported.

    A run that cannot be read is refused when the model is loaded.
    """
    if not run.is_dir():
        read_index(run)  # refuses
    layers: Sequence[str | int] = []
    with suppress(InputError, OSError, IndexError):
        layers, targets = read_layers(run)
    if not layers:
        return
    if layer is None and needed and len(targets) > 1:
        listed = ", ".join(map(repr, targets[:SHOWN])) + ", ..." * (len(targets) > SHOWN)
        raise InputError(f"Expected --layer NAME, one of the {len(targets)} targets {listed}, got none.")
    name = None if layer is None else as_name(layer, layers)
    if name is not None and name not in layers:
        raise unknown(name, layers, "layer")
    if name is not None and name not in targets:
        raise no_target(name, targets)


def _known(run: Path) -> "tuple[Multiplex, list[str | int]] | None":
    """Return the nodes and layers of a run without edges, and its targets, before torch is imported.

    None: they cannot be read, and the run is refused when the model is loaded.
    """
    from banditplex.multiplex import Multiplex

    try:
        layers, targets = read_layers(run)
        return Multiplex.from_edges([], [], [], node_names=read_nodes(run), layer_names=layers), targets
    except (InputError, OSError):
        return None


def _read_asked(
    path: Path, layer: str | None, mx: "Multiplex", targets: "Sequence[Name]", *, columns: Mapping[str, Any],
    fold_case: bool,
) -> "pd.DataFrame":  # fmt: skip
    """Return the pairs of a file and, if it has a column of them, their layers; refuse both that and a layer."""
    from banditplex.io.tables.nodes import read_pairs

    with _with_our_hints():
        column = choose_columns(_header(path), columns, roles=["layer"]).get("layer")
        if layer is not None and column is not None:
            hint = "--columns layer= leaves the column out"
            raise InputError(f"{path}: expected --layer or the column {column!r}, got both; {hint}.")
        pairs = read_pairs(path, mx, columns=columns, fold_case=fold_case, targets=targets)
    return pairs.astype({"layer": str}) if "layer" in pairs else pairs


def check_node(mx: "Multiplex", node: str, fold_case: bool) -> None:
    """Refuse a node that is not there, before torch is imported."""
    from banditplex.pairs.asked import as_node

    as_node(mx, _node_of(node, mx, fold_case))


def _node_of(node: str, mx: "Multiplex", fold_case: bool) -> "Name":
    """Return the name of the node that a text stands for, or what it would be."""
    from banditplex.io.tables.nodes import NodeFinder

    place = NodeFinder(mx.node_names, fold_case=fold_case).find([node])[0]
    names = mx.node_names.tolist()
    return as_name(node, names[:1]) if place < 0 else names[place]


def _columns_of(reading: Reading) -> dict[str, Any]:
    """Return the columns that the data of a run were read with, or usual ones, by role."""
    return {role: with_usual(role, name) for role, name in parse_columns(reading.get("columns")).items()}


@contextmanager
def _with_our_hints() -> Iterator[None]:
    """Leave hints at options of reading that this command lacks out of errors and warnings."""
    try:
        with collected(silent=True) as notes:
            yield
    except InputError as error:
        raise InputError(_HINT.sub("", str(error))) from None
    for each in notes:
        note(_HINT.sub("", each), quiet=isinstance(each, Quiet))


def _header(path: Path) -> Sequence[str]:
    """Return the names of the columns of a table; none if it is another file."""
    from banditplex.io.tables.files import SUFFIXES
    from banditplex.io.tables.reading import header_of
    from banditplex.multiplex.options import TableOptions

    return header_of(path, TableOptions()) if path.is_file() and path.name.lower().endswith(SUFFIXES) else ()


def _columns_in(path: Path, used: Mapping[str, str]) -> dict[str, str]:
    """Return those columns of the data of a run, by role, that another table has, too."""
    names = _header(path)
    return {role: name for role, name in used.items() if role in EDGE_ROLES and name in names}


def _read_context(
    path: Path, before: Reading, roles: Mapping[str, Any], mx: "Multiplex", nodes: Path | None
) -> "Multiplex":
    """Return the training graph with the edges of a file; a table, with columns by role, is read as the run's was."""
    from banditplex.io import read
    from banditplex.io.tables.files import SUFFIXES
    from banditplex.io.tables.reading import header_of
    from banditplex.multiplex.names import ONLY_LAYER
    from banditplex.multiplex.options import TableOptions

    if not path.exists():
        raise InputError(f"{path}: no such file.")
    options: dict[str, Any] = {}
    if nodes is not None:
        features = dict.fromkeys(name.partition("=")[0] for name in mx.metadata.get(FEATURE_NAMES, ()))
        columns = {"features": "+".join(features)} | parse_node_columns(before.get("node_columns") or ())
        options = {"node_table": nodes, "node_columns": columns}
    if path.name.lower().endswith(SUFFIXES):
        shapes = () if "layer" in map(str.lower, header_of(path, TableOptions())) else ("wide", "matrix")
        options = {"bipartite": False} | options  # training has said it if columns share no node
        options |= {name: before[name] for name in (*READ_ALIKE, *shapes) if name in before}
        options |= roles
    with progress(f"Reading {path}") as on_progress, _with_our_hints():
        later = read(path, progress=on_progress, directed=mx.directed, **options)
    try:
        joint = mx.with_edges(later)
    except InputError as error:
        lacks = nodes is None and ("node features" in str(error) or "node types" in str(error))
        hint = "; --nodes FILE has them." if lacks else "."
        if later.layer_names == (ONLY_LAYER,) and ONLY_LAYER not in mx.layer_names:
            hint = " A column 'layer' says which layers edges are in."
        message = str(error) if hint.startswith(" ") else str(error).removesuffix(".")
        raise InputError(f"{path}: {message}{hint}") from None
    new = joint.num_nodes - mx.num_nodes
    if new:
        shown = joint.node_names[mx.num_nodes :].tolist()[0]
        say(f"{path}: {new:,} node{'s' * (new > 1)} that training did not have, as {shown!r}.")
    return joint


def predictions(
    model: "LinkPredictor", layer: str, *, pairs: "pd.DataFrame | None" = None, top: int | None = None,
    node: str | None = None, exact: bool = False, fold_case: bool = False, prior: float | None = None,
    context: "Multiplex | None" = None, on_progress: "Callable[[int, int], Any] | None" = None,
) -> "pd.DataFrame":  # fmt: skip
    """Return probability and score of `pairs`, or of the `top` new links; `attrs` has the prior assumed."""
    import pandas as pd

    mx = model.multiplex_ if context is None else context
    name = as_name(layer, mx.layer_names)
    if pairs is None:
        of = None if node is None else _node_of(node, mx, fold_case)
        table = model.recommend(
            name, top=top or 0, node=of, exact=exact or None, prior=prior, context=context, on_progress=on_progress,
            note=lambda text: say(in_flags(text)),
        )  # fmt: skip
        ends = table[["source", "destination"]].to_numpy()
    else:
        table = pairs[["source", "destination"]].copy()
        ends = table.to_numpy()
        assumed = model.default_prior(name, context=context) if prior is None else prior
        table["probability"] = model.predict_proba(ends, name, prior=assumed, context=context)
        table.attrs["prior"] = assumed
    return table.assign(score=model.score_pairs(ends, name, context=context) if len(table) else pd.Series(dtype=float))
