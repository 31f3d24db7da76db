"""New links: all pairs, candidates, and the pairs of one node."""

import numpy as np
import pytest

import banditplex as bx
from banditplex.answers import ranking
from banditplex.pairs.known import PairSpace
from tests.refusals import refuses

LAYER = "g1-base"


def listed(table):
    return [tuple(pair) for pair in table[["source", "destination"]].to_numpy().tolist()]


def test_candidates_hold_the_most_likely_pairs_and_say_what_they_are(fitted):
    mx, model = fitted
    exact, found = (model.recommend(LAYER, top=10, exact=each) for each in (None, False))
    assert listed(found) == listed(exact)  # there is room for nearly all pairs
    assert exact.attrs["chosen"] == "all pairs"
    assert exact.attrs["ranked"] == exact.attrs["possible"] == found.attrs["possible"] == 40 * 39 // 2
    assert 10 < found.attrs["ranked"] < 40 * 39 // 2
    for words in ("candidates", "linked in other layers", "common neighbours", "position", "many edges"):
        assert words in found.attrs["chosen"]
    assert found["probability"].to_numpy() == pytest.approx(exact["probability"].to_numpy(), rel=1e-4)
    assert not mx.has_edges(found[["source", "destination"]].to_numpy(), LAYER).any()


def test_layers_of_many_pairs_are_ranked_by_candidates(fitted, monkeypatch):
    _, model = fitted
    notes, steps = [], []
    arguments = {"top": 5, "note": notes.append, "on_progress": lambda *step: steps.append(step)}
    assert model.recommend(LAYER, **arguments).attrs["chosen"] == "all pairs"
    assert (notes, steps) == ([], [(780, 780)])
    monkeypatch.setattr(ranking, "EXACT", 779)
    table = model.recommend(LAYER, **arguments)
    assert table.attrs["chosen"].startswith("candidates")
    assert steps[1:] == [(table.attrs["ranked"], table.attrs["ranked"])]
    assert "780 pairs" in notes[0]
    assert "exact=True" in notes[0]
    assert model.recommend(LAYER, **arguments, exact=True).attrs["chosen"] == "all pairs"
    assert "all 780 pairs" in notes[1]
    assert "second" in notes[1]


def test_the_estimate_is_the_time_of_a_pair(fitted):
    mx, model = fitted
    one = ranking.estimate(model._fitted, LAYER, PairSpace(mx))
    assert 1e-8 < one < 1e-2  # between 100 and 100 million pairs per second


@pytest.mark.parametrize("directed", [False, True])
def test_links_of_one_node(directed, fitted):
    mx, model = fitted
    if directed:
        mx = mx.to_directed()
        model = bx.LinkPredictor(epochs=1, width=0).fit(mx, [LAYER])
    others = [node for node in range(40) if node != 7 and not mx.has_edges([[7, node]], LAYER)[0]]
    scores = model.score_pairs([[7, node] for node in others], LAYER)
    table = model.recommend(LAYER, node=7, top=100)
    assert listed(table) == [(7, others[place]) for place in np.argsort(-scores, kind="stable")]
    assert (table.attrs["ranked"], table.attrs["chosen"]) == (39, "all pairs of node 7")
    with refuses("node", 99):
        model.recommend(LAYER, node=99)
    with refuses("node=", "candidates="):
        model.recommend(LAYER, node=7, candidates=[[0, 1]])


def test_nodes_by_name_and_pairs_of_their_types_only():
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 8, 60), rng.integers(8, 20, 60)
    names = [f"u{i}" for i in range(8)] + [f"i{i}" for i in range(12)]
    mx = bx.Multiplex.from_edges(
        [names[i] for i in user], [names[i] for i in item], rng.choice(["buys", "likes"], 60), node_names=names,
        node_types=["user"] * 8 + ["item"] * 12,
    )  # fmt: skip
    model = bx.LinkPredictor(epochs=1, width=0).fit(mx)
    table = model.recommend("buys", node="i3", top=100)
    assert set(table["source"]) == {"i3"}
    bought = {names[u] for u, i in mx.edges("buys").T.tolist() if names[i] == "i3"}
    assert set(table["destination"]) == {f"u{i}" for i in range(8)} - bought
    few = model.recommend("buys", top=1000, exact=False)
    assert {(a[0], b[0]) for a, b in listed(few)} == {("u", "i")}
    pairs = [["u0", "u1"], ["u0", "i3"], ["i3", "u0"], ["i0", "i1"]]
    assert (model.predict_proba(pairs, "buys") > 0).tolist() == [False, True, True, False]  # it is undirected
    assert (model.which_layers(pairs[:1])["probability"] == 0).all()
    with refuses("names", "'u0'", "got 11"):
        model.recommend("buys", node=11)


@pytest.mark.parametrize("settings", [{"width": 4}, {"width": 0, "evidence": "drawn"}])
def test_candidates_of_every_kind_of_model(settings, fitted):
    mx, _ = fitted
    model = bx.LinkPredictor(epochs=1, **settings).fit(mx, [LAYER])
    assert listed(model.recommend(LAYER, top=5, exact=False)) == listed(model.recommend(LAYER, top=5))
