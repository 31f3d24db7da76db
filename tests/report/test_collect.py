"""The plain data of a page, against the model and against numbers worked out by hand."""

import base64
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.evaluation.metrics import FILTERED
from banditplex.evaluation.protocol import METRICS
from banditplex.report import collect, links
from banditplex.report.collect import (
    TITLES,
    collect_evaluation,
    collect_history,
    collect_leaderboard,
    collect_probabilities,
    collect_run,
    compare_rows,
    glance,
)
from banditplex.report.links import layers_with, terms_by_layer, top_links
from banditplex.report.page import as_json, pack, render
from tests.refusals import refuses


def unpack(packed):
    """Read packed numbers as the page does."""
    codes = np.frombuffer(base64.b64decode(packed["codes"]), "<u2").reshape(packed["shape"])
    return np.where(codes == 65_535, np.nan, packed["low"] + codes * packed["step"])


def small():
    """a: 0-1, 1-2, 2-3; b: 0-1, 1-2, 0-3; c: 0-1."""
    edges = {"a": [(0, 1), (1, 2), (2, 3)], "b": [(0, 1), (1, 2), (0, 3)], "c": [(0, 1)]}
    rows = [(*edge, layer) for layer, each in edges.items() for edge in each]
    source, destination, layer = zip(*rows, strict=True)
    return bx.Multiplex.from_edges(source, destination, layer, num_nodes=4)


@pytest.mark.parametrize("values", [[[0.25, np.nan], [-3.5, 7.0]], [5.0, 5.0], [], [np.nan]])
def test_packed_numbers_are_the_same_up_to_half_a_step(values):
    packed = pack(values)
    found = unpack(packed)
    assert found.shape == np.shape(values)
    assert np.isnan(found).tolist() == np.isnan(values).tolist()
    assert np.allclose(found, values, rtol=0, atol=packed["step"] / 2, equal_nan=True)


def test_the_multiplex_at_a_glance():
    """Jaccard: a and b 2 of 4 pairs, a and c 1 of 3, b and c 1 of 3. Pairs: 0-1 in 3 layers, 1-2 in 2, two in 1."""
    found = glance(small())
    assert unpack(found["overlap"]) == pytest.approx([2 / 4, 1 / 3, 1 / 3], abs=1e-5)
    assert found["layers_per_pair"] == [2, 1, 1]
    assert found["columns"]["edges"] == [3, 3, 1]
    assert found["columns"]["most_similar"] == [1, 0, 0]
    assert (found["nodes"], found["edges"], found["directed"]) == (4, 7, False)


def test_of_a_large_multiplex_sizes_alone(monkeypatch):
    monkeypatch.setattr("banditplex.report.collect.LARGE", 6)
    assert glance(small())["columns"] == {"edges": [3, 3, 1]}
    assert "overlap" not in glance(small())


def test_layers_that_have_a_pair():
    assert layers_with(small(), np.array([[1, 0], [2, 1], [3, 1], [0, 1]])) == [[0, 1, 2], [0, 1], [], [0, 1, 2]]


def history(epochs=2):
    """Target a draws b, then c; target c draws a in both epochs."""
    head = {"train_loss": 0.5, "validation_loss": 0.6, "validation_accuracy": 0.7, "regret": 1.0}
    rows = []
    for epoch in range(1, epochs + 1):
        drawn = {"b" if epoch == 1 else "c": 0.25 * epoch}
        losses = dict.fromkeys(drawn, 1.0 + epoch)
        rows.append({"epoch": epoch, "layer": "a", **head, "inclusion": drawn, "layer_loss": losses})
        rows.append({"epoch": epoch, "layer": "c", **head, "inclusion": {"a": 0.9}, "layer_loss": {"a": 0.1}})
    return rows


LIKELY = pd.DataFrame([[0, 0.3, 0.7], [0.6, 0.4, 0]], index=["a", "c"], columns=["a", "b", "c"])


def test_a_history_has_a_place_for_every_layer_that_was_drawn():
    found = collect_history(history(), LIKELY, small())
    assert (found["targets"], found["epochs"]) == ([0, 2], [1, 2])
    assert found["followed"] == [[2, 1], [0, 1]]  # the most probable first
    nan = np.nan
    expected = [[[nan, 0.5], [0.25, nan]], [[0.9, 0.9], [nan, nan]]]
    assert unpack(found["probability"]) == pytest.approx(np.array(expected), abs=1e-5, nan_ok=True)
    assert unpack(found["layer_loss"])[0] == pytest.approx(np.array([[nan, 3], [2, nan]]), abs=1e-4, nan_ok=True)
    assert unpack(found["regret"]).tolist() == [[1.0, 1.0]] * 2


def test_a_history_says_which_network_an_epoch_is_of():
    rows = [row | {"member": 1 if row["epoch"] < 3 else 2} for row in history(epochs=5)]
    assert collect_history(rows, LIKELY, small())["network"] == [1, 1, 2, 2, 2]


def test_of_a_long_history_the_most_probable_layers_are_followed(monkeypatch):
    monkeypatch.setattr(collect, "FOLLOWED", 4)
    mx = bx.Multiplex.from_edges([0] * 6, [1] * 6, [*"abcdef"], num_nodes=3)
    likely = pd.DataFrame([[0, 0.1, 0.2, 0.3, 0.4, 0.5]], index=["a"], columns=[*"abcdef"])
    rows = [row for row in history() if row["layer"] == "a"]
    assert collect_history(rows, likely, mx)["followed"] == [[5, 4, 3]]


def test_a_target_does_not_draw_itself():
    found = collect_probabilities(LIKELY, small())
    assert (found["targets"], found["layers"]) == ([0, 2], [0, 1, 2])
    expected = [[np.nan, 0.3, 0.7], [0.6, 0.4, np.nan]]
    assert unpack(found["values"]) == pytest.approx(np.array(expected), abs=1e-5, nan_ok=True)


def test_the_data_of_a_run_is_that_of_its_model(run, data):
    _, model = run
    names, gains = data["layers"], model.layer_gains_
    rows = zip(data["gains"]["target"], data["gains"]["layer"], unpack(data["gains"]["gain"]), strict=True)
    found = {(names[target], names[layer]): gain for target, layer, gain in rows}
    expected = gains.set_index(["target", "layer"])["gain"].to_dict()
    assert found == pytest.approx(expected, abs=1e-4)
    helps = [names[i] for i, each in zip(data["gains"]["target"], data["gains"]["helps"], strict=True) if each]
    assert sorted(helps) == sorted(gains[gains["helps"]]["target"])
    changed = {row["name"]: row["value"] for row in data["about"]["settings"] if row["value"] != row["default"]}
    assert changed == {"policy": "exp3", "epochs": "5", "warmup": "1", "width": "0"}
    shown = {row["name"]: row["value"] for row in data["about"]["settings"]}
    assert [shown[name] for name in ("hide", "policy_options")] == ["edge", "none"]
    assert len(data["held_out"]["targets"]) == 6
    json.loads(as_json(data))


def test_the_layers_that_predictions_use(run):
    """A model without a panel uses its most probable layers, as many as `k_` says; a panel has weights."""
    _, model = run
    names, found = model.multiplex_.layer_names, collect.collect_panel(model)
    assert {names[target]: [each[0] for each in found].count(target) for target in range(6)} == model.k_.to_dict()
    used = [*zip(model.panel_["target"], model.panel_["layer"], strict=True)]
    assert [(names[target], names[layer]) for target, layer, _ in found] == used
    panel = pd.DataFrame({"target": [names[0]] * 2, "layer": [names[3], names[1]], "weight": [0.75, 0.0]})
    other = SimpleNamespace(multiplex_=model.multiplex_, _fitted=None, panel_=panel)
    assert collect.collect_panel(other) == [(0, 3, 0.75), (0, 1, None)]


def test_links_come_with_their_evidence(run):
    _, model = run
    mx = model.multiplex_
    name = mx.layer_names[0]
    found = top_links(model, [name])
    part = found["targets"][0]
    assert found["near"] == "neighbours"
    table = model.recommend(name, top=100)
    assert part["probability"] == table["probability"].tolist()
    pairs = mx.node_index(table[["source", "destination"]].to_numpy())
    near = {layer: neighbours(mx.edges(layer)) for layer in mx.layer_names}
    union = neighbours(mx.edge_index)
    for i, (source, destination) in enumerate(pairs[:10].tolist()):
        assert part["has"][i] == [j for j, layer in enumerate(mx.layer_names) if destination in near[layer][source]]
        assert part["near_any"][i] == len(union[source] & union[destination])
        for layer, counts in zip(part["layers"], part["near"], strict=True):
            lists = near[mx.layer_names[layer]]
            assert counts[i] == len(lists[source] & lists[destination])
    terms = model.explain(table[["source", "destination"]].to_numpy(), name)
    assert part["own"] == pytest.approx(terms[terms["term"] == "own"]["value"].tolist(), abs=1e-4)
    assert part["base"] == pytest.approx(terms["value"][0], abs=1e-4)
    others = terms[~terms["term"].isin(["base", "own"])]
    groups = others.groupby(["source", "destination", "layer"])
    sums, kinds = groups["value"].sum(), groups["term"].agg(set)
    for i, pair in enumerate(table[["source", "destination"]].itertuples(index=False, name=None)):
        expected = {mx.layer_index(layer): value for layer, value in sums.loc[pair].items()}
        assert {layer: value for layer, value, _ in part["by_layer"][i]} == pytest.approx(expected, abs=1e-4)
        for layer, _, kind in part["by_layer"][i]:
            assert kinds.loc[(*pair, mx.layer_names[layer])] == {1: {"edge"}, 4: {"drawn"}, 5: {"edge", "drawn"}}[kind]
        size = [abs(value) for _, value, _ in part["by_layer"][i]]
        assert size == sorted(size, reverse=True)
    assert part["rest"] == [[0, 0]] * len(table)
    assert sorted(part["layers"][1:]) == sorted(
        mx.layer_index(n) for n in set(terms[terms["term"] == "drawn"]["layer"])
    )
    scores = model.score_pairs(table[["source", "destination"]].to_numpy(), name)
    added = [sum(value for _, value, _ in each) for each in part["by_layer"]]
    assert np.add(part["own"], added) + part["base"] == pytest.approx(scores, abs=1e-3)
    assert part["prior"] == table.attrs["prior"] == model.default_prior(name)
    assert part["unknown"] == 24 * 23 // 2 - 60
    assert [each["per"] for each in part["supposed"]] == [1.0, 0.25, 0.05]  # 1 for 100 known: not one new link
    for each in part["supposed"]:  # 60 known
        prior = each["per"] * 60 / part["unknown"]
        expected = model.predict_proba(table[["source", "destination"]].to_numpy(), name, prior=prior)
        assert each["probability"] == pytest.approx(expected.tolist())
    assert part["types"] is None


def test_of_many_layers_the_largest_terms_are_named(monkeypatch):
    """Terms of layer a: edge 1 + drawn 0.5; b: -3; c: 2. Two are named, and one is in the rest."""
    monkeypatch.setattr(links, "NAMED", 2)
    mx = bx.Multiplex.from_edges([0] * 4, [1] * 4, [*"abcd"], num_nodes=3)
    terms = [("base", "d", -1.0), ("own", "d", 0.25), ("edge", "b", -3.0), ("reverse", "c", 2.0), ("edge", "a", 1.0)]
    table = pd.DataFrame([*terms, ("drawn", "a", 0.5), *terms[:2]], columns=["term", "layer", "value"])
    assert terms_by_layer(mx, table) == {
        "base": -1.0, "own": [0.25, 0.25], "by_layer": [[(1, -3.0, 1), (2, 2.0, 2)], []], "rest": [[1, 1.5], [0, 0]],
    }  # fmt: skip
    assert terms_by_layer(mx, table[:2])["base"] == -1.0
    bare = terms_by_layer(mx, table[:7])  # the second pair has no term but the base
    assert (bare["own"], [len(each) for each in bare["by_layer"]]) == ([0.25], [2, 0])
    assert terms_by_layer(mx, table[:0]) == {"base": 0.0, "own": [], "by_layer": [], "rest": []}


def shop():
    """View: u0-i0, u0-i1, u1-i1, u1-i2, u2-i0; buy: u0-i0, u1-i1. Items are nodes 0 to 2, users 3 to 5."""
    view = [(3, 0), (3, 1), (4, 1), (4, 2), (5, 0)]
    edges = [*view, (3, 0), (4, 1)]
    types = ["item"] * 3 + ["user"] * 3
    return bx.Multiplex.from_edges(*zip(*edges, strict=True), ["view"] * 5 + ["buy"] * 2, num_nodes=6, node_types=types)


def test_between_unlike_nodes_paths_are_counted():
    """From u0 to i2: u0-i1-u1-i2; from u2 to i1: u2-i0-u0-i1; from u0 to i0 by its own edge alone: none."""
    mx = shop()
    near = links.Near(mx, np.arange(6))
    pairs = np.array([[3, 2], [1, 5], [3, 0], [5, 2]])
    assert near.what == "paths"
    expected = [walks(mx.edge_index, *pair) for pair in pairs.tolist()]
    assert near.count(pairs) == expected == [1, 1, 0, 0]
    assert near.count(pairs, mx.layer_index("buy")) == [walks(mx.edges("buy"), *pair) for pair in pairs.tolist()]
    rng = np.random.default_rng(0)
    edges = np.stack([rng.integers(0, 12, 60), rng.integers(12, 30, 60)])
    mx = bx.Multiplex.from_edges(*edges, "a", num_nodes=30, node_types=["u"] * 12 + ["v"] * 18)
    pairs = np.stack([rng.integers(0, 12, 40), rng.integers(12, 30, 40)], 1)
    assert links.Near(mx, np.arange(30)).count(pairs) == [walks(mx.edge_index, *pair) for pair in pairs.tolist()]


def walks(edges, u, v):
    """Count the paths u - w - x - v of four different nodes."""
    linked = {frozenset(edge) for edge in edges.T.tolist()}
    nodes = range(30)
    return sum(
        {frozenset((u, w)), frozenset((w, x)), frozenset((x, v))} <= linked
        for w in nodes for x in nodes if len({u, v, w, x}) == 4
    )  # fmt: skip


def test_rows_of_some_nodes_in_the_adjacency_matrix():
    """Edges 0-1, 1-2, 1-2 and 3-0: the rows of nodes 0 and 2, and no others."""
    found = links.adjacency(np.array([[0, 1, 1, 3], [1, 2, 2, 0]]), 4, np.array([0, 2]))
    assert found.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_too_many_paths_are_not_counted(monkeypatch):
    monkeypatch.setattr(links, "WALKS", 1)
    assert links.Near(shop(), np.arange(6)).count(np.array([[3, 2]])) is None


def test_a_node_with_a_loop_is_no_neighbour_of_itself():
    """Nodes 0 and 1 are linked, and share node 2; 0 has a loop."""
    mx = bx.Multiplex.from_edges([0, 0, 0, 1], [0, 1, 2, 2], ["a"] * 4, num_nodes=3)
    assert links.Near(mx, np.arange(3)).count(np.array([[0, 1]])) == [1]


def test_links_between_two_types_come_in_one_order():
    """Items have the lower indices here, and so they come first in all edges."""
    mx = shop()
    table = pd.DataFrame({"source": [2, 5], "destination": [3, 1]})
    pairs = links._in_order_of_types(mx, "view", table)
    assert pairs.tolist() == [[2, 3], [1, 5]]
    assert links._types(mx, pairs) == ["item", "user"]
    assert links._types(mx, np.array([[2, 3], [5, 1]])) is None
    assert links._types(small(), np.array([[0, 1]])) is None


def test_of_too_many_pairs_candidates_are_ranked(monkeypatch):
    """Layer a links users 0-3 with items 4-9: 24 pairs; b links items with items: 15 pairs."""
    mx = bx.Multiplex.from_edges(
        [0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9], [*"aaaabb"], num_nodes=10, node_types=["user"] * 4 + ["item"] * 6
    )
    monkeypatch.setattr(links, "BUDGET", 20)
    assert links._affordable(mx, ["a", "b"], np.array([24, 15])) == ["a", "b"]  # 20 // 8 + 15 pairs
    assert links._affordable(mx, ["a", "b"], np.array([15, 15])) == ["a"]  # 30 pairs are above 20
    model = bx.LinkPredictor(epochs=1, width=0, members=1, device="cpu").fit(mx)
    few, every = top_links(model, ["a", "b"])["targets"]
    assert (few["possible"], every["possible"], every["ranked"], every["chosen"]) == (24, 15, 15, "all pairs")
    assert few["chosen"].startswith("candidates")
    found = list(zip(few["source"], few["destination"], strict=True))
    # no known edge, and users with items alone: of 24 pairs, 4 are edges of a
    assert len(found) == len(set(found)) == few["ranked"] <= 20
    assert {(0, 8), (1, 9)} <= set(found)  # two steps apart, over 4 and 5
    assert all(source < 4 <= destination for source, destination in found)
    table = model.recommend("a", exact=False)
    assert (found, few["probability"]) == (
        list(zip(table["source"], table["destination"], strict=True)), table["probability"].tolist(),
    )  # fmt: skip


def neighbours(edges):
    lists = {node: set() for node in range(24)}
    for source, destination in edges.T.tolist():
        lists[source].add(destination)
        lists[destination].add(source)
    return lists


def test_the_page_of_a_comparison_tells_the_seeds():
    board = {"by_layer": None, "verdict": "a is best.", "warning": None, "seeds_text": "0 to 4"}
    found = collect_leaderboard("net.csv", small(), board)
    assert (found["kind"], found["layers"], found["findings"]) == ("compare", [*"abc"], [["a is best."]])
    assert found["about"]["seed"] == "0 to 4"


@pytest.mark.parametrize(("after", "says"), [(None, "2 x 3-fold cross-validation"), ("2020", "2 runs on edges that")])
def test_the_page_of_an_evaluation_tells_what_was_held_out(after, says):
    sizes = {"train_edges": 8, "test_edges": 2}
    rows = [
        {"method": "none", "trial": trial, "fold": 0, "scope": scope, "layer": layer, "roc_auc": 0.5, **sizes}
        for trial in (0, 1) for scope, layer in (("layer", "a"), ("mean", None))
    ]  # fmt: skip
    settings = {"hide": "pair", "trials": 2, "folds": 3, "seed": 7, "after": after, **sizes}
    gains = pd.DataFrame({name: [] for name in ("target", "layer", "gain", "low", "high", "weight", "helps")})
    found = collect_evaluation("net.csv", small(), gains, rows, ["none"], settings)
    assert found["comparison"]["text"].startswith(says)
    assert found["about"]["seed"] == 7


def test_policies_side_by_side():
    """Two runs of two methods: means .7 and .8 over runs."""
    auc = {("a", 0): 0.6, ("a", 1): 0.8, ("b", 0): 0.7, ("b", 1): 0.9}
    sizes = {"train_edges": 8, "test_edges": 2}
    rows = []
    for (method, fold), value in auc.items():
        head = {"method": method, "trial": 0, "fold": fold}
        rows += [head | {"scope": "layer", "layer": layer, "roc_auc": value, **sizes} for layer in "xy"]
        rows.append(head | {"scope": "mean", "layer": None, "roc_auc": value, **sizes})
    found = compare_rows(rows, ["a", "b"])
    assert [line["mean"] for line in found["lines"]] == pytest.approx([0.7, 0.8])
    assert found["lines"][1]["difference"] == pytest.approx(0.1)
    assert (found["reference"], found["runs"]) == ("a", 2)
    assert found["by_layer"][1]["layer"] == "y"
    assert np.ravel(found["by_layer"][1]["values"]) == pytest.approx([0.7, 0.8])


def test_a_page_of_37_layers_is_below_3_mb():
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 400, (2, 37 * 300))
    mx = bx.Multiplex.from_edges(
        *ends, np.repeat([f"airline {i}" for i in range(37)], 300), num_nodes=400, self_loops="drop"
    )
    names = list(mx.layer_names)
    likely = pd.DataFrame(rng.dirichlet(np.ones(37), 37), index=names, columns=names)
    rows = [
        {"epoch": epoch, "layer": name, "train_loss": rng.random(), "validation_loss": 1.0, "validation_accuracy": 0.5,
         "regret": 1.0, "inclusion": dict.fromkeys(names, 0.1), "layer_loss": dict.fromkeys(names, 0.2)}
        for epoch in range(1, 101) for name in names
    ]  # fmt: skip
    pairs = [(a, b, 0.1, 0.0, 0.2, 1.0, True) for a in names for b in names if a != b]
    gains = pd.DataFrame(pairs, columns=["target", "layer", "gain", "low", "high", "weight", "helps"])
    part = {
        "target": 0, "ranked": 79_800, "possible": 79_800, "chosen": "all pairs", "prior": 0.004, "unknown": 79_500,
        "types": None, "base": -2.0, "supposed": [],
        "source": ["somebody with a name"] * 54,
        "destination": ["another person"] * 54,
        "probability": rng.random(54).tolist(), "has": [[*range(10)]] * 54, "layers": [*range(9)],
        "own": rng.random(54).round(4).tolist(), "rest": [[2, 0.1234]] * 54,
        "by_layer": [[(i, round(rng.random(), 4), 5) for i in range(8)] for _ in range(54)],
        "near": [[3] * 54] * 9, "near_any": [7] * 54,
    }  # fmt: skip
    data = collect.collect_graph(mx, "air", None, gains) | {
        "history": collect_history(rows, likely, mx),
        "probabilities": collect_probabilities(likely, mx),
        "links": {"targets": [part] * 37, "all_targets": 37, "near": "neighbours"},
    }
    assert len(render(data).encode()) < 3_000_000


def test_notes_on_reading_are_in_the_words_of_the_command_line(run, tmp_path):
    shutil.copytree(run[0], tmp_path / "run")
    told = ["net.csv: columns not used: since; if 'since' is the time, say --columns time='since'."]
    (tmp_path / "run" / "reading.json").write_text(json.dumps({"notes": told}))
    assert collect_run(tmp_path / "run", run[1], layers=[])["about"]["notes"] == told


def test_how_long_gains_took_is_on_the_page(run, tmp_path):
    """As `train` has measured it: a page made later, from a loaded model, has the same number."""
    shutil.copytree(run[0], tmp_path / "run")
    about = json.loads((tmp_path / "run" / "about.json").read_text())
    (tmp_path / "run" / "about.json").write_text(json.dumps(about | {"gains_seconds": 1.25}))
    assert collect_run(tmp_path / "run", run[1], layers=[])["about"]["gains_seconds"] == 1.25
    (tmp_path / "run" / "about.json").write_text(json.dumps(about | {"gains_seconds": -1}))
    with refuses("gains_seconds", "-1"):
        collect_run(tmp_path / "run", run[1], layers=[])


def test_every_metric_has_a_title_on_the_page():
    assert TITLES.keys() == {*METRICS, *FILTERED}
