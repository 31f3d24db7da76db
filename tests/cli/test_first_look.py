"""The first look of a long training: said once, early, and true."""

import numpy as np
import pytest

import banditplex as bx
from banditplex.cli import gains as first_look
from banditplex.cli.gains import FirstLook, findings, likely_links
from banditplex.datasets.groups import groups
from banditplex.training.find import DRAWN
from tests.persistence.killed import multiplex

ROW = {"epoch": 1, "epochs": 10, "layers": [{"layer": "a"}]}


def fitted(mx, **settings):
    return bx.LinkPredictor(epochs=2, device="cpu", members=1, **settings).fit(mx)


@pytest.mark.parametrize("directed", [False, True])
def test_links_are_the_most_likely_of_all_unknown_pairs_where_these_are_few(directed):
    rng = np.random.default_rng(0)
    ends, layer = rng.integers(0, 12, (2, 60)), np.repeat(["a", "b"], 30)
    mx = bx.Multiplex.from_edges(*ends, layer, num_nodes=12, directed=directed, self_loops="drop")
    model = fitted(mx)
    pairs = np.argwhere(~np.eye(12, dtype=bool))
    pairs = pairs if directed else pairs[pairs[:, 0] < pairs[:, 1]]
    either = mx.has_edges(pairs, "a") | mx.has_edges(pairs[:, ::-1], "a")
    free = pairs[~either]
    scores = model.score_pairs(free, "a")
    found = likely_links(model, "a")
    assert len(found) == 3
    assert not any(mx.has_edges([pair], "a")[0] for pair in found)
    if not directed:  # of a directed pair, one direction is drawn
        assert sorted(map(tuple, found)) == sorted(map(tuple, free[np.argsort(-scores, kind="stable")[:3]].tolist()))


def test_layers_are_those_of_the_panels():
    model = fitted(bx.load_dataset("twins"))
    panel = model.panel_[model.panel_["weight"] > 0]
    (layers, links) = findings(model, "layers that seem to help", panel)
    targets = list(dict.fromkeys(panel["target"]))
    assert len(targets) == 6
    assert layers.startswith(f"layers that seem to help: {panel['layer'].iloc[0]}")
    assert layers.endswith(", others for 3 more targets")
    assert links.startswith(f"links to check first in {targets[0]}: ")
    assert links.count(" and ") == 3


def test_without_panels_it_says_so_and_a_large_multiplex_has_no_links(monkeypatch):
    model = fitted(multiplex(), policy="none")
    assert findings(model, "layers", model.panel_)[0] == "layers: none so far"
    assert findings(model, "layers", model.panel_)[1].startswith("links to check first in a: ")
    monkeypatch.setattr(first_look, "MOST_EDGES", 1)
    assert len(findings(model, "layers", model.panel_)) == 1


def test_it_is_said_once_after_some_seconds_and_not_near_the_end(monkeypatch, capsys):
    model = fitted(multiplex(), policy="none")
    FirstLook().epoch(model, ROW)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(first_look, "AFTER", 0.0)
    FirstLook().epoch(model, ROW | {"epoch": 6})
    assert capsys.readouterr().err == ""
    look = FirstLook()
    look.epoch(model, ROW)
    look.epoch(model, ROW)
    said = capsys.readouterr().err
    assert said.startswith("banditplex: a first look after 0 s: layers that seem to help: ")
    assert said.endswith(". Training may change this.\n")
    assert said.count("\n") == 1


def test_while_panels_are_searched_for_it_says_once_what_bandits_draw(monkeypatch, capsys):
    monkeypatch.setattr(first_look, "AFTER", 0.0)
    mx = groups(48, 4, num_nodes=60, edges_per_layer=80, num_communities=4, seed=3)
    look, seen = FirstLook(), []

    def searching(model, share):
        look.search(model, share)
        seen.append((share, model.panel_.loc[model.panel_["target"] == "g0-0", "layer"].tolist()))

    model = bx.LinkPredictor(epochs=1, members=1, device="cpu")
    model.fit(mx, ["g0-0", "g1-0"], on_search=searching)
    shares, drawn = zip(*seen, strict=True)
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1
    assert {len(layers) for layers in drawn} == {DRAWN}
    said = capsys.readouterr().err
    assert said.startswith("banditplex: a first look after 0 s: layers that bandits draw most: ")
    assert f"{drawn[0][0]} and {drawn[0][1]} for g0-0, " in said
    assert "; links to check first in g0-0: " in said
    assert said.endswith(". The search may change this.\n")
    assert said.count("\n") == 1
    FirstLook(silent=True).search(model, 0.5)
    assert capsys.readouterr().err == ""


def test_without_bandits_the_search_says_nothing(monkeypatch, capsys):
    """Of up to 32 other layers, regressions compare all: there is no network yet that could say anything."""
    monkeypatch.setattr(first_look, "AFTER", 0.0)
    seen = []
    look, model = FirstLook(), bx.LinkPredictor(epochs=1, members=1, device="cpu")
    model.fit(bx.load_dataset("twins"), ["a"], on_search=lambda *at: seen.append(at[1]) or look.search(*at))
    assert seen == [0.5, 1.0]
    for policy in ({"policy": "none"}, {"policy": "fixed", "policy_options": {"layers": ["b"]}}):
        seen.clear()
        bx.LinkPredictor(epochs=1, **policy).fit(
            bx.load_dataset("twins"), ["a"], on_search=lambda *at: seen.append(at[1])
        )
        assert seen == [1.0]
    assert capsys.readouterr().err == ""


def test_after_the_search_the_model_is_as_before(tmp_path):
    """A search that is given up leaves no small network behind, and an earlier fit stays until there is another."""

    def give_up(model, share):
        raise KeyboardInterrupt

    mx = groups(48, 4, num_nodes=60, edges_per_layer=80, num_communities=4, seed=3)
    model = bx.LinkPredictor(epochs=1, members=1, device="cpu")
    with pytest.raises(KeyboardInterrupt):
        model.fit(mx, ["g0-0"], on_search=give_up)
    assert not model.__sklearn_is_fitted__()
    earlier = model.fit(bx.load_dataset("twins"), ["a"]).score_pairs([[0, 1]], "a")
    with pytest.raises(KeyboardInterrupt):
        model.fit(mx, ["g0-0"], on_search=give_up)
    assert model.score_pairs([[0, 1]], "a") == earlier
