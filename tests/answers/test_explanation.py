"""Why a pair has its score, and in which layers it is likely."""

from dataclasses import replace

import numpy as np
import pytest

import banditplex as bx
from banditplex.answers.explanation import explain
from banditplex.nn.ensemble import members_of
from tests.refusals import refuses
from tests.test_predictor import FAST, small

LAYER = "g1-base"


def some(mx, layer, size=12):
    """Return known edges of a layer and random pairs."""
    pairs = np.random.default_rng(0).integers(0, 40, (size, 2))
    return np.concatenate([mx.edges(layer).T[:size], pairs[pairs[:, 0] != pairs[:, 1]]])


@pytest.mark.parametrize("settings", [{"width": 0, "k": 2}, {"width": 4, "k": 1}, {"width": 0, "evidence": "drawn"}])
@pytest.mark.parametrize("directed", [False, True])
def test_the_terms_of_a_pair_add_up_to_its_score(settings, directed):
    mx = small().to_directed() if directed else small()
    model = bx.LinkPredictor(**{**FAST, **settings}).fit(mx, [LAYER])
    pairs = some(mx, "g2-base")
    pairs = np.unique(pairs, axis=0)
    table = model.explain(pairs, LAYER)
    total = table.groupby(["source", "destination"])["value"].sum()
    found = [total[tuple(pair)] for pair in pairs.tolist()]
    assert found == pytest.approx(model.score_pairs(pairs, LAYER).tolist(), rel=1e-4, abs=1e-5)
    assert (table[table["term"] == "own"]["layer"] == LAYER).all()
    drawn = table[table["term"] == "drawn"].groupby(["source", "destination"])["layer"].apply(list)
    assert all(len(layers) == model.k_[LAYER] and LAYER not in layers for layers in drawn)
    for term, way in (("edge", pairs), ("reverse", pairs[:, ::-1])):
        rows = table[table["term"] == term]
        listed = {tuple(row) for row in rows[["source", "destination", "layer"]].to_numpy().tolist()}
        expected = {
            (*pair, name)
            for pair, turned in zip(pairs.tolist(), way.tolist(), strict=True)
            for name in mx.layer_names
            if name != LAYER and mx.has_edges([turned], name)[0]
        }
        assert listed == (expected if "evidence" not in settings and (directed or term == "edge") else set())


@pytest.mark.parametrize("directed", [False, True])
def test_a_term_of_several_networks_is_the_mean_of_theirs(directed):
    mx = small().to_directed() if directed else small()
    model = bx.LinkPredictor(**{**FAST, "k": 2, "members": 3, "epochs": 1}).fit(mx, [LAYER])
    pairs = np.unique(some(mx, "g2-base"), axis=0)
    key, whole = ["source", "destination", "term", "layer"], model._fitted
    networks = [replace(whole, model=member) for member in members_of(whole.model)]
    assert len(networks) == 3
    alone = [explain(network, pairs, LAYER).set_index(key)["value"].to_dict() for network in networks]
    found = model.explain(pairs, LAYER).set_index(key)["value"].to_dict()
    assert len({round(each[name], 5) for each in alone for name in [next(n for n in found if n[2] == "edge")]}) == 3
    assert found == pytest.approx({name: sum(each[name] for each in alone) / 3 for name in found}, abs=1e-5)


def test_the_own_term_comes_first_and_then_the_largest(fitted):
    mx, model = fitted
    pairs = some(mx, "g2-base", 3)
    table = model.explain(pairs, LAYER)
    starts = np.flatnonzero(table["term"] == "own")
    assert len(starts) == len(pairs)
    ends = [*starts[1:].tolist(), len(table)]
    for start, end, pair in zip(starts.tolist(), ends, pairs.tolist(), strict=True):
        rows = table.iloc[start:end]
        assert rows[["source", "destination"]].drop_duplicates().to_numpy().tolist() == [pair]
        size = rows["value"].abs().tolist()[1:]
        assert size == sorted(size, reverse=True)
    assert len(model.explain([], LAYER)) == 0
    with refuses("pairs", [4, 4]):
        model.explain([[4, 4]], LAYER)


def test_layers_of_pairs_are_ranked_by_their_probability(fitted):
    mx, model = fitted
    pairs = some(mx, LAYER, 4)
    for prior in (None, 0.3):
        table = model.which_layers(pairs, prior=prior)
        assert len(table) == 4 * len(pairs)
        chance = {name: model.predict_proba(pairs, name, prior=prior) for name in mx.layer_names}
        for place, pair in enumerate(pairs.tolist()):
            rows = table.iloc[4 * place : 4 * place + 4]
            assert rows[["source", "destination"]].to_numpy().tolist() == [pair] * 4
            assert rows["layer"].tolist() == sorted(mx.layer_names, key=lambda name: -chance[name][place])
            assert rows["probability"].tolist() == [chance[name][place] for name in rows["layer"]]
            assert rows["known"].tolist() == [bool(mx.has_edges([pair], name)[0]) for name in rows["layer"]]
    assert len(model.which_layers([])) == 0


def test_zeros_and_ones_are_probabilities_cut_at_one_half(fitted):
    mx, model = fitted
    pairs = some(mx, LAYER)
    for prior in (0.5, 0.1):
        expected = [int(p >= 0.5) for p in model.predict_proba(pairs, LAYER, prior=prior)]
        assert model.predict(pairs, LAYER, prior=prior).tolist() == expected
    assert set(model.predict(pairs, LAYER).tolist()) == {0, 1}
