"""The first look of a long training: said once, early, and true."""

import numpy as np
import pytest

import banditplex as bx
from banditplex.cli import gains as first_look
from banditplex.cli.gains import FirstLook, findings, likely_links
from banditplex.datasets.groups import groups
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
    (layers, links) = findings(model)
    targets = list(dict.fromkeys(panel["target"]))
    assert len(targets) == 6
    assert layers.startswith(f"layers that seem to help: {panel['layer'].iloc[0]}")
    assert layers.endswith(", others for 3 more targets")
    assert links.startswith(f"links to check first in {targets[0]}: ")
    assert links.count(" and ") == 3


def test_without_panels_it_says_so_and_a_large_multiplex_has_no_links(monkeypatch):
    model = fitted(multiplex(), policy="none")
    assert findings(model)[0] == "layers that seem to help: none so far"
    assert findings(model)[1].startswith("links to check first in a: ")
    monkeypatch.setattr(first_look, "MOST_EDGES", 1)
    assert len(findings(model)) == 1


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


def test_before_many_targets_are_learnt_it_says_what_a_quick_model_of_the_first_finds(monkeypatch, capsys):
    monkeypatch.setattr(first_look, "MANY", 48)
    mx = groups(48, 4, num_nodes=200, edges_per_layer=400, num_communities=4, seed=3)
    settings = {"device": "cpu", "epochs": 40, "members": 3}
    FirstLook(silent=True).begin(mx, None, settings)
    FirstLook().begin(mx, ["g0-0", "g1-0"], settings)
    assert capsys.readouterr().err == ""
    FirstLook().begin(mx, None, settings)
    said = capsys.readouterr().err
    assert " s, with a quick model of g0-0 alone: layers that seem to help: g0-" in said
    assert " for g0-0; links to check first in g0-0: " in said
    assert said.startswith("banditplex: a first look after ")
    assert said.endswith(". Training may change this.\n")
    assert said.count("\n") == 1


def test_a_first_target_that_cannot_be_learnt_alone_is_left_to_the_fit_of_all(monkeypatch, capsys):
    monkeypatch.setattr(first_look, "MANY", 2)
    ends = np.argwhere(np.triu(np.ones((6, 6)), 1))
    every, one = (np.repeat(name, len(ends)) for name in ("full", "other"))
    mx = bx.Multiplex.from_edges(*np.concatenate([ends, ends[:5]]).T, np.concatenate([every, one[:5]]), num_nodes=6)
    FirstLook().begin(mx, None, {"device": "cpu"})
    assert capsys.readouterr().err == ""


def test_the_search_for_panels_says_how_far_it_is():
    mx = groups(48, 4, num_nodes=60, edges_per_layer=80, num_communities=4, seed=3)
    seen = []
    bx.LinkPredictor(epochs=1, members=1, device="cpu").fit(mx, ["g0-0", "g1-0"], on_search=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]  # two passes over two targets
    seen.clear()
    bx.LinkPredictor(epochs=1, members=1, device="cpu").fit(bx.load_dataset("twins"), ["a"], on_search=seen.append)
    assert seen == [0.5, 1.0]
    for policy in ({"policy": "none"}, {"policy": "fixed", "policy_options": {"layers": ["b"]}}):
        seen.clear()
        bx.LinkPredictor(epochs=1, **policy).fit(bx.load_dataset("twins"), ["a"], on_search=seen.append)
        assert seen == [1.0]
