"""Why a pair has its score, and in which layers it is likely."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.answers.explanation import _typical_pairs, explain
from banditplex.nn.ensemble import members_of
from banditplex.nn.known import Known
from banditplex.nn.pair_features import PairFeatures, num_features, other_features
from banditplex.nn.spectral import NUM_COLUMNS
from banditplex.nn.view import pack
from tests.quick import every, only
from tests.refusals import refuses
from tests.test_predictor import FAST, small
from tests.training.stacked import stacked

LAYER = "g1-base"


def some(mx, layer, size=12):
    """Return known edges of a layer and random pairs."""
    pairs = np.random.default_rng(0).integers(0, 40, (size, 2))
    return np.concatenate([mx.edges(layer).T[:size], pairs[pairs[:, 0] != pairs[:, 1]]])


WAYS = [{"width": 0, "k": 2}, {"width": 4, "k": 1}, {"width": 0, "evidence": "drawn", "k": "auto"}]


@pytest.mark.parametrize(("directed", "settings"), every(2, [False, True], WAYS))
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


@pytest.mark.parametrize("directed", only([False], [False, True]))
def test_a_term_of_several_networks_is_the_mean_of_theirs(directed):
    mx = small().to_directed() if directed else small()
    with stacked(regression=False, vectors=False):
        model = bx.LinkPredictor(**{**FAST, "k": 2, "members": 3, "epochs": 1}).fit(mx, [LAYER])
    pairs = np.unique(some(mx, "g2-base"), axis=0)
    key, whole = ["source", "destination", "term", "layer"], model._fitted
    networks = [replace(whole, model=member) for member in members_of(whole.model)]
    assert len(networks) == 3
    alone = [explain(network, pairs, LAYER).set_index(key)["value"].to_dict() for network in networks]
    found = model.explain(pairs, LAYER).set_index(key)["value"].to_dict()
    assert len({round(each[name], 5) for each in alone for name in [next(n for n in found if n[2] == "edge")]}) == 3
    assert found == pytest.approx({name: sum(each[name] for each in alone) / 3 for name in found}, abs=1e-5)


def without_pair(mx, pair, target):
    """Return the multiplex without the edges between two nodes, both ways, in other layers than the target."""
    source, destination, layer = *mx.edge_index, mx.edge_layer
    between = np.isin(source, pair) & np.isin(destination, pair) & (layer != mx.layer_index(target))
    names = np.array(mx.layer_names, object)
    kept = bx.Multiplex.from_edges(
        source[~between], destination[~between], names[layer[~between]], num_nodes=mx.num_nodes, directed=mx.directed
    )
    assert kept.layer_names == mx.layer_names
    return kept


def unlinked_by_hand(fitted, pair, chosen):
    """Return the terms of a pair from data without its edges in other layers, by the network's parts.

    The layer's share of all edges and positions are those of the whole data: the edges are thought away for this pair
    alone.
    """
    net, place = fitted.model, torch.tensor([pair])
    visibility, mx = net.visibility, without_pair(fitted.mx, pair, LAYER)
    view = pack(mx, "cpu", visibility)
    target = torch.tensor([mx.layer_index(LAYER)])
    layers = torch.from_numpy(chosen)[None]
    known, whole = Known.of(view, place, target), Known.of(fitted.view, place, target)
    values, own = known.values.clone(), num_features(visibility)[0]
    kept = [own + 2, *range(values.shape[1] - 2 * NUM_COLUMNS, values.shape[1])]
    values[:, kept] = whole.values[:, kept]
    other = other_features(view.graph, place, known.row, layers, visibility)
    assert not len(known.lists.places)
    own = PairFeatures.without_lists(values, place, target, known.row)
    first, rest = net.terms((own, other, known.lists), target, len(chosen))
    return [*first.tolist(), *rest.tolist()]


@pytest.mark.parametrize("directed", only([True], [False, True]))
def test_what_a_layer_adds_is_what_the_score_loses_without_its_link(directed):
    """Terms without links are those of data without them; links have the rest; a typical pair has the mean terms."""
    mx = small().to_directed() if directed else small()
    model = bx.LinkPredictor(**{**FAST, "width": 0, "k": 2, "members": 1}).fit(mx, [LAYER])
    fitted, pairs = model._fitted, np.unique(some(mx, "g2-base"), axis=0)
    sample = np.unique(_typical_pairs(fitted, LAYER), axis=0)
    chosen, _ = fitted.terms(pairs[:1], LAYER)
    with torch.no_grad():
        rest = np.array([unlinked_by_hand(fitted, pair, chosen) for pair in pairs.tolist()])
        some_rest = [unlinked_by_hand(fitted, pair, chosen) for pair in sample[:5].tolist()]
    assert fitted.terms(sample[:5], LAYER, linked=False)[1] == pytest.approx(np.array(some_rest), abs=1e-4)
    usual = fitted.terms(_typical_pairs(fitted, LAYER), LAYER, linked=False)[1].mean(0)
    _, terms = fitted.terms(pairs, LAYER)
    table, names, seen = model.explain(pairs, LAYER), mx.layer_names, 0
    assert table[table["term"] == "base"]["value"].to_numpy() == pytest.approx(usual.sum(), abs=1e-5)
    for place, pair in enumerate(pairs.tolist()):
        rows = table[(table["source"] == pair[0]) & (table["destination"] == pair[1])]
        links = rows[rows["term"].isin(["edge", "reverse"])]
        assert links["value"].sum() == pytest.approx(terms[place].sum() - rest[place].sum(), abs=1e-4)
        own = rows[rows["term"] == "own"]["value"].item()
        assert own == pytest.approx(rest[place][0] - usual[0], abs=1e-4)
        drawn = rows[rows["term"] == "drawn"].set_index("layer")["value"]
        expected = {names[layer]: rest[place][1 + m] - usual[1 + m] for m, layer in enumerate(chosen.tolist())}
        assert drawn.to_dict() == pytest.approx(expected, abs=1e-4)
        seen += len(links) > 1
    assert seen > 3
    assert set(table["term"]) == {"base", "own", "edge", "drawn"} | ({"reverse"} if directed else set())


def test_layers_that_have_the_pair_share_what_their_number_adds():
    """By a plain loop: weight / sqrt(n + 1), what is left of the term that is always on / n, and the drawn term."""
    mx = small()
    model = bx.LinkPredictor(**{**FAST, "width": 0, "k": 1, "members": 1}).fit(mx, [LAYER])
    fitted, target = model._fitted, mx.layer_index(LAYER)
    listed = fitted.model.listed
    weight = (listed.of_layer * listed.of_target[target]).sum(1).tolist()
    pairs = np.unique(some(mx, "g2-base"), axis=0)
    chosen, terms = fitted.terms(pairs, LAYER)
    _, rest = fitted.terms(pairs, LAYER, linked=False)
    table = model.explain(pairs, LAYER)
    several = 0
    for place, pair in enumerate(pairs.tolist()):
        having = [i for i, name in enumerate(mx.layer_names) if i != target and mx.has_edges([pair], name)[0]]
        n = len(having)
        parts = {i: weight[i] / (n + 1) ** 0.5 for i in having}
        left = terms[place, 0] - rest[place, 0] - sum(parts.values())
        expected = {
            mx.layer_names[i]: part + left / n + (terms[place, 1] - rest[place, 1]) * (i == chosen[0])
            for i, part in parts.items()
        }
        rows = table[(table["source"] == pair[0]) & (table["destination"] == pair[1]) & (table["term"] == "edge")]
        assert rows.set_index("layer")["value"].to_dict() == pytest.approx(expected, abs=1e-5)
        several += n > 1
    assert several > 2


def test_base_and_own_term_come_first_and_then_the_largest(fitted):
    mx, model = fitted
    pairs = some(mx, "g2-base", 3)
    table = model.explain(pairs, LAYER)
    starts = np.flatnonzero(table["term"] == "base")
    assert len(starts) == len(pairs)
    assert (table["term"].iloc[starts + 1] == "own").all()
    ends = [*starts[1:].tolist(), len(table)]
    for start, end, pair in zip(starts.tolist(), ends, pairs.tolist(), strict=True):
        rows = table.iloc[start:end]
        assert rows[["source", "destination"]].drop_duplicates().to_numpy().tolist() == [pair]
        size = rows["value"].abs().tolist()[2:]
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
