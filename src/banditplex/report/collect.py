"""From a run, or from policies side by side, to the plain data of a page.

The data is a dictionary of sections; the page shows those that are there. Layers are indices into `layers`, the list of
their names. Large arrays are packed (see `pack`).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from banditplex.arrays import Ints
from banditplex.evaluation import summary
from banditplex.multiplex import Multiplex, Name
from banditplex.persistence.run_folder import RunFolder
from banditplex.predictor import LinkPredictor
from banditplex.report.about import describe, read_about
from banditplex.report.findings import find_help, find_links, find_policies, find_quality
from banditplex.report.kept import made_from
from banditplex.report.links import top_links
from banditplex.report.page import pack
from banditplex.training.config import SETTINGS, Setting

Row = Mapping[str, Any]
LINE = ("method", "metric", "runs", "mean", "low", "high", "difference", "difference_low", "difference_high", "p")
TITLES = {
    "accuracy": "accuracy", "roc_auc": "ROC-AUC", "average_precision": "average precision",
    "ap_at_50": "average precision at 50", "f1": "F1",
    "mrr": "mean reciprocal rank", "hits_at_1": "hits at 1", "hits_at_10": "hits at 10", "hits_at_50": "hits at 50",
    "filtered_mrr": "filtered mean reciprocal rank", "filtered_hits_at_1": "filtered hits at 1",
    "filtered_hits_at_3": "filtered hits at 3", "filtered_hits_at_10": "filtered hits at 10",
}  # fmt: skip
HIDDEN = {"layer": "its own layer", "pair": "every layer", "edge": "one direction of its layer"}
"""Where a held-out pair is hidden."""


def compare_rows(rows: Sequence[Row], methods: Sequence[str], *, limit: int = 400) -> dict[str, Any]:
    """Return the comparison of methods: the table of `summary`, and the means of each of the first layers."""
    table = summary(rows, methods=list(methods))
    reference = next(iter(table[table["difference"].isna()]["method"]), methods[0])
    runs: Any = pd.DataFrame([row for row in rows if row["scope"] == "layer"])
    names = list(dict.fromkeys(runs["layer"]))[:limit]
    metrics = [name for name in dict.fromkeys(table["metric"]) if name in TITLES]
    means = runs.groupby(["layer", "method"])[metrics].mean()
    by_layer = [{"layer": str(name), "values": [means.loc[name, each].tolist() for each in methods]} for name in names]
    return {
        "methods": list(methods),
        "metrics": [{"name": name, "title": TITLES[name]} for name in metrics],
        "lines": [{name: line[name] for name in LINE} for line in table.to_dict("records") if line["metric"] in TITLES],
        "reference": reference,
        "runs": int(table["runs"].iloc[0]),
        "spread": "the 95 % interval of the mean",
        "by_layer": by_layer,
    }


def held_out_edges(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many edges of the targets the first run was trained on, and how many it held out."""
    first = next(row for row in rows if row["scope"] == "mean")
    return {name: first[name] for name in ("train_edges", "test_edges")}


def say_held_out(asked: Mapping[str, Any]) -> str:
    """Say what share of the edges a run does not see, given what was asked for and `held_out_edges`."""
    train, test = asked["train_edges"], asked["test_edges"]
    if asked.get("after") is not None:
        until = f"up to {asked['after']}, and were tested on {test:,} later"
        return f"Models saw the {train:,} linked pairs of the targets {until}."
    if asked.get("split") == "fixed":
        return (
            f"Models saw {train:,} linked pairs of the targets in training, and were tested on {test:,} of the split."
        )
    share = f"1/{asked['folds']} of the edges of every layer"
    return f"Each run holds out {share}: it saw {train:,} of {train + test:,} linked pairs of the targets."


LARGE = 20_000_000
MATRIX = 1_000  # layers that matrices show: those with the most edges


def glance(mx: Multiplex) -> dict[str, Any]:
    """Return sizes and, up to `LARGE` edges, columns of the layers, their Jaccard indices, and layers per pair."""
    shown = in_matrices(mx)
    sizes = {"nodes": mx.num_nodes, "edges": mx.num_edges, "directed": mx.directed, "shown": shown.tolist()}
    sizes["types"] = node_counts(mx)
    if mx.num_edges > LARGE:
        return sizes | {"columns": {"edges": mx.layer_sizes.tolist()}}
    summary = mx.summary()
    table = summary.layers
    place = {name: index for index, name in enumerate(mx.layer_names)}
    columns: dict[str, Any] = {name: table[name].tolist() for name in ("edges", "active_nodes", "density", "jaccard")}
    columns["most_similar"] = [place.get(name) for name in table["most_similar"]]
    overlap = summary.overlap[shown][:, shown].toarray()
    return sizes | {
        "columns": columns,
        "overlap": pack(overlap[np.triu_indices(len(shown), 1)]),
        "layers_per_pair": layers_per_pair(mx).tolist(),
    }


def node_counts(mx: Multiplex) -> list[tuple[str, int]]:
    """Return the types of nodes with their numbers of nodes, that of the first node first; empty without types."""
    if mx.node_types is None:
        return []
    found, first, count = np.unique(mx.type_index, return_index=True, return_counts=True)
    return [(mx.type_names[found[place]], int(count[place])) for place in np.argsort(first).tolist()]


def in_matrices(mx: Multiplex) -> Ints:
    """Return the layers that matrices show, in the order of the multiplex."""
    return np.sort(np.argsort(-mx.layer_sizes, kind="stable")[:MATRIX])


def layers_per_pair(mx: Multiplex) -> Ints:
    """Return how many linked pairs of nodes have an edge in exactly 1, 2, ... layers."""
    source, destination = mx.edge_index
    return np.bincount(np.unique(source * mx.num_nodes + destination, return_counts=True)[1])[1:]


Data = dict[str, Any]
FOLLOWED = 200_000
"""Numbers per quantity in the play through epochs; if there are more, each target has its most probable layers only."""
CURVES = ("train_loss", "validation_loss", "validation_accuracy", "regret")


def collect_run(
    folder: Path, model: LinkPredictor, layers: Sequence[Name] | None = None, title: str | None = None
) -> Data:
    """Return the data of the page of a run: its folder, and the model that was saved there.

    `layers` are the targets whose links are listed; None: the largest, as many as can be ranked in a few seconds.
    `title` is that of the page; None: the one that the run was given, or made from the name of the data.
    """
    about, run = read_about(folder, model), RunFolder(folder)
    about |= {"notes": run.notes() or about.get("notes", [])}  # as the command line says them, if it read the data
    kept = list(run.progress().kept_epochs) if run.begun else []
    data = collect_model(model, {"data": folder.resolve().name} | about, kept, layers)
    own = data["title"] if about.get("title") is None else about["title"]
    made = None if layers else {"files": made_from(folder), "title": own}
    return data | {"kind": "train", "title": own if title is None else title, "made_from": made}


def collect_model(
    model: LinkPredictor, about: Mapping[str, Any], kept: Sequence[int] = (), layers: Sequence[Name] | None = None
) -> Data:
    """Return the data of all sections about a model; `kept` are the epochs whose weights it has."""
    mx, likely, history = model.multiplex_, model.layer_probabilities_, model.history_.to_dict("records")
    data = collect_graph(mx, about["data"], about.get("relevant"), model.layer_gains_)
    held_out, links = about.get("held_out"), top_links(model, layers)
    targets = [mx.layer_index(name) for name in likely.index]
    return data | {
        "findings": [*data["findings"], find_quality(targets, held_out), find_links(links, targets, held_out)],
        "panel": collect_panel(model),
        "probabilities": collect_probabilities(likely, mx),
        "history": collect_history(history, likely, mx) | {"kept_epochs": list(kept)},
        "held_out": held_out,
        "links": links,
        "about": collect_about(about, model.get_params(deep=False)),
    }


def collect_evaluation(
    title: str, mx: Multiplex, gains: pd.DataFrame, rows: Sequence[Row], methods: Sequence[str], settings: Row
) -> Data:
    """Return the data of the page of an evaluation: the rows of `evaluate`, and gains that were measured beside it."""
    about = describe(title, mx)
    compared = compare_rows(rows, methods)
    how, runs = f"{settings['trials']} x {settings['folds']}-fold cross-validation", settings["trials"]
    if settings.get("after") is not None or settings.get("split") == "fixed":
        on = "edges that came later" if settings.get("after") is not None else "the split that comes with the data"
        how = f"{runs} run{'s' * (runs > 1)} on {on}"
    text = (
        f"{how}, the same splits for all policies. {say_held_out(settings)} A held-out pair is hidden in "
        f"{HIDDEN[settings['hide']]}. "
        "p-values: Nadeau and Bengio's t-test over runs, adjusted for the number of comparisons (Holm)."
    )
    data = collect_graph(mx, title, about["relevant"], gains)
    return data | {
        "kind": "evaluate",
        "findings": [*data["findings"], find_policies(compared)],
        "comparison": compared | {"text": text},
        "about": collect_about(about, {}) | {"seed": settings["seed"]},
    }


def collect_leaderboard(title: str, mx: Multiplex, board: Mapping[str, Any]) -> Data:
    """Return the data of the page of a comparison; `board` is plain: what `leaderboard.board.for_page` returns."""
    about = describe(title, mx)
    layers = {"title": as_title(title), "layers": [str(name) for name in mx.layer_names], "multiplex": glance(mx)}
    by_layer = board["by_layer"] and board["by_layer"] | {"values": pack(board["by_layer"]["values"])}
    return layers | {
        "kind": "compare",
        "findings": [[each] for each in (board["verdict"], board["warning"]) if each],
        "truth": about["relevant"],
        "leaderboard": {**board, "by_layer": by_layer},
        "about": collect_about(about, {}) | {"seed": board["seeds_text"]},
    }


def collect_graph(mx: Multiplex, data: str, truth: Any, gains: pd.DataFrame) -> Data:
    """Return what every page has: title, layers, the multiplex at a glance, gains, and the known truth (or None)."""
    gains = gains.sort_values(["helps", "gain"], ascending=False, kind="stable")
    columns: Data = {name: [mx.layer_index(each) for each in gains[name]] for name in ("target", "layer")}
    columns |= {name: pack(gains[name].to_numpy(float)) for name in ("gain", "low", "high", "weight")}
    return {
        "title": as_title(data),
        "layers": [str(name) for name in mx.layer_names],
        "findings": [find_help(gains, mx)],
        "multiplex": glance(mx),
        "gains": columns | {"helps": [int(each) for each in gains["helps"]]},
        "truth": truth,
    }


def as_title(data: str) -> str:
    """Return a title for a page about data of this name: without folder, ending and underscores."""
    names = [re.sub(r"\.[a-z]{2,8}(\.gz)?$", "", re.split(r"[/\\]", name)[-1]) for name in data.split(", ")]
    title = re.sub(r"(?<=\w)[_-]+(?=\w)", " ", ", ".join(names)).strip()
    return title[:1].upper() + title[1:] or data


def collect_panel(model: LinkPredictor) -> list[tuple[int, int, float | None]]:
    """Return target, layer and weight of all layers that predictions look at in detail; None: it has no weight."""
    mx = model.multiplex_
    columns = model.panel_[["target", "layer", "weight"]].itertuples(index=False)
    return [(mx.layer_index(target), mx.layer_index(layer), float(weight) or None) for target, layer, weight in columns]


def collect_probabilities(table: pd.DataFrame, mx: Multiplex) -> Data:
    """Return how likely layers are to be drawn: targets x layers, those that matrices show; NaN for itself."""
    layers, targets = in_matrices(mx), np.array([mx.layer_index(name) for name in table.index], np.int64)
    rows = np.flatnonzero(np.isin(targets, layers))
    values = table.to_numpy(float)[rows][:, layers]
    values[np.equal.outer(targets[rows], layers)] = np.nan
    return {"targets": targets[rows].tolist(), "layers": layers.tolist(), "values": pack(values)}


def collect_history(rows: Sequence[Mapping[Any, Any]], likely: pd.DataFrame, mx: Multiplex) -> Data:
    """Return the curves of each target (T, epochs), and what its policy drew: (T, m, epochs) for m followed layers.

    Epochs count on from network to network; `network` is that of each epoch, from 1 up.

    `probability` is the mean inclusion probability of a layer in the rounds of an epoch in which it was drawn, and
    `layer_loss` its mean layer loss; both are not known where it was not drawn.
    """
    epochs = sorted({row["epoch"] for row in rows})
    place, when = {name: i for i, name in enumerate(likely.index)}, {epoch: i for i, epoch in enumerate(epochs)}
    curves = np.full((len(CURVES), len(place), len(epochs)), np.nan)
    others = mx.num_layers - 1
    most = int(np.clip(FOLLOWED // max(1, len(place) * len(epochs)), min(3, others), others))
    order = np.argsort(-likely.to_numpy(float), axis=1, kind="stable")
    own = np.array([mx.layer_index(name) for name in likely.index], np.int64)
    followed = order[order != own[:, None]].reshape(len(place), -1)[:, :most]
    column = [{mx.layer_names[layer]: i for i, layer in enumerate(each)} for each in followed.tolist()]
    drawn = np.full((2, len(place), most, len(epochs)), np.nan)
    for row in rows:
        i, e = place[row["layer"]], when[row["epoch"]]
        curves[:, i, e] = [row[name] for name in CURVES]
        for number, name in enumerate(("inclusion", "layer_loss")):
            for layer, value in row[name].items():
                if layer in column[i]:
                    drawn[number, i, column[i][layer], e] = value
    named = {name: pack(values) for name, values in zip(CURVES, curves, strict=True)}
    policies = {"followed": followed.tolist(), "probability": pack(drawn[0]), "layer_loss": pack(drawn[1])}
    member = {row["epoch"]: row.get("member", 1) for row in rows}
    network = [member[epoch] for epoch in epochs]
    return {"targets": own.tolist(), "epochs": epochs, "network": network, **named, **policies}


def collect_about(about: Mapping[str, Any], settings: Mapping[str, Any]) -> Data:
    """Return how a run was made, and all settings with their defaults."""
    listed = [
        {"name": name, "value": _shown(settings[name], each), "default": _shown(each.default, each), "text": each.text}
        for name, each in SETTINGS.items()
        if name in settings
    ]
    told = ("data", "command", "date", "versions", "notes", "gains_seconds")
    return {name: about.get(name) for name in told} | {"settings": listed}


def _shown(value: Any, setting: Setting) -> str:
    """Return the value of a setting in words; None is what its documentation says that it means."""
    if value is None:
        found = re.search(r"None: (?:.*means )?([^.]+)\.", f"{setting.text} {setting.also}")
        return found[1] if found else "none"
    return getattr(value, "__name__", str(value))
