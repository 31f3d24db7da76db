"""The pairs of an epoch: all edges, each with a negative, and the evidence on both."""

from itertools import combinations

import numpy as np
import pytest
import torch

from banditplex.nn import compute_pair_features, known
from banditplex.pairs.visibility import HIDE
from banditplex.training import supply
from banditplex.training.config import Config
from banditplex.training.supply import KEPT_NEGATIVES, Supply
from tests.nn.test_graph import random_multiplex
from tests.quick import every
from tests.training.test_data import data_of


def epochs(data, numbers, seed=0):
    """Return the pairs (2, E, 2) and the evidence of some epochs, edges in their own order."""
    kept, rng = Supply(data, Config(seed=seed)), np.random.default_rng(0)
    return [kept.epoch(number, torch.arange(len(data.train_edges)), rng) for number in numbers]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", HIDE)
@pytest.mark.parametrize("evidence", ["all", "drawn"])
def test_negatives_are_never_edges(evidence, hide, directed):
    mx = random_multiplex(0, num_nodes=14, num_edges=100, directed=directed)
    data = data_of(mx, hide=hide, evidence=evidence, validation=0.2)
    linked = {
        (layer, *ends)
        for layer in range(3)
        for u, v in data.train_mx.edges(layer).T.tolist()
        for ends in ([(u, v)] if directed and hide == "edge" else [(u, v), (v, u)])
    }
    for pairs, _ in epochs(data, range(KEPT_NEGATIVES + 1)):
        edges, negatives = pairs.tolist()
        assert edges == data.train_edges.pairs.tolist()
        for (u, v), target in zip(negatives, data.targets[data.train_edges.instance].tolist(), strict=True):
            assert u != v
            layers = range(3) if hide == "pair" else [target]
            assert not any((layer, u, v) in linked for layer in layers)


def test_negatives_with_evidence_take_turns():
    data = data_of(random_multiplex(1, num_nodes=30, num_edges=120))
    found = [pairs[1].tolist() for pairs, _ in epochs(data, range(2 * KEPT_NEGATIVES))]
    assert found[:KEPT_NEGATIVES] == found[KEPT_NEGATIVES:]
    assert all(a != b for a, b in combinations(found[:KEPT_NEGATIVES], 2))
    assert [pairs[1].tolist() for pairs, _ in epochs(data, range(KEPT_NEGATIVES))] == found[
        :KEPT_NEGATIVES
    ]  # so that a run can go on
    assert epochs(data, [0], seed=1)[0][0][1].tolist() != found[0]


def test_columns_of_other_layers_are_kept_if_they_are_needed_often_and_are_few(monkeypatch):
    data = data_of(random_multiplex(1, num_nodes=30, num_edges=120))

    def kept(epochs, drawn):
        return Supply(data, Config(), epochs, drawn)._others

    assert kept(1000, 1)
    assert not kept(1, 0)
    monkeypatch.setattr(supply, "OTHER_BYTES", 0)
    assert not kept(1000, 1)


def test_negatives_without_evidence_are_drawn_anew():
    data = data_of(random_multiplex(1, num_nodes=30, num_edges=120), evidence="drawn")
    found = epochs(data, range(2 * KEPT_NEGATIVES))
    assert all(evidence is None for _, evidence in found)
    assert all(a[1].tolist() != b[1].tolist() for (a, _), (b, _) in combinations(found, 2))


def test_what_takes_too_much_memory_is_not_kept_but_looked_up(monkeypatch):
    data = data_of(random_multiplex(2, num_nodes=20, num_edges=90), [2, 0])
    order, size = torch.arange(len(data.train_edges)), 5 * len(data.train_edges) * (60 + 4 * (7 + 27))
    for most, kept in ((size, True), (size - 1, False)):
        monkeypatch.setattr(supply, "KEPT_BYTES", most)
        pairs, places = Supply(data, Config()).epoch(0, order, np.random.default_rng(0))
        assert pairs[0].tolist() == data.train_edges.pairs.tolist()
        assert (places is not None) == kept
    assert not data.train_view.graph.has_edge(pairs[1], torch.from_numpy(data.targets)[data.train_edges.instance]).any()


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_what_is_known_is_that_of_the_pairs_in_the_order_of_the_epoch(monkeypatch, most):
    monkeypatch.setattr(known, "LOOKED_UP_AT_ONCE", 7)
    monkeypatch.setattr(known, "MAX_LISTED", most)
    data = data_of(random_multiplex(2, num_nodes=20, num_edges=90), [2, 0])
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(data.train_edges)))
    supplied = Supply(data, Config())
    pairs, places = supplied.epoch(1, order, np.random.default_rng(0))
    assert pairs[0].tolist() == data.train_edges.pairs[order].tolist()
    target = torch.from_numpy(data.targets[data.train_edges.instance[order]])
    view, nothing = data.train_view, torch.zeros(1, 0, dtype=torch.long)
    for side in range(2):
        found = supplied.known(places[side, ::9])
        assert (found.lists is None) == (most == 0)
        for i, (pair, layer) in enumerate(zip(pairs[side, ::9], target[::9], strict=True)):
            asked = pair[None], layer[None]
            own = compute_pair_features(view.graph, *asked, nothing, data.visibility)[0]
            alone = torch.cat([own.values, view.evidence.columns(*asked)], 1)
            torch.testing.assert_close(found.values[i], alone[0])
            assert found.row[:, i].tolist() == own.row[:, 0].tolist()
            if most:
                start, end = found.lists.start[i : i + 2]
                assert found.lists.places[start:end].tolist() == view.evidence.layers_of(*asked)[1].tolist()


@pytest.mark.parametrize(("hide", "directed"), every(5, HIDE, [False, True]))
def test_features_in_few_other_layers_are_looked_up_once(monkeypatch, hide, directed):
    monkeypatch.setattr(known, "LOOKED_UP_AT_ONCE", 7)
    data = data_of(random_multiplex(2, num_nodes=20, num_edges=90, directed=directed), [2, 0], hide=hide)
    order, epochs = torch.arange(len(data.train_edges)), 2  # 5 * 2 features are kept for each edge, of 2 * 2 used
    assert Supply(data, Config(), epochs - 1, 1).known(order).others is None  # used too seldom to pay
    supplied = Supply(data, Config(), epochs, 1)
    pairs, places = supplied.epoch(0, order, np.random.default_rng(0))
    target = torch.from_numpy(data.targets[data.train_edges.instance])
    view, rng = data.train_view, np.random.default_rng(1)
    for side in range(2):
        drawn = torch.from_numpy(rng.permuted(np.tile([0, 1, 2], (len(order), 1)), axis=1))
        layers = torch.stack([row[row != of] for row, of in zip(drawn, target, strict=True)])
        found = supplied.known(places[side]).in_layers(view, pairs[side], target, layers)
        alone = compute_pair_features(view.graph, pairs[side], target, layers, data.visibility)[1]
        torch.testing.assert_close(found.values, alone.values)
        assert torch.equal(found.layer, layers.flatten())


def test_a_process_keeps_what_is_known_of_its_own_targets():
    data, mine = (data_of(random_multiplex(2, num_nodes=20, num_edges=90), [2, 0]) for _ in range(2))
    vars(mine)["mine"] = np.array([False, True])
    places = torch.arange(len(data.train_edges))
    own = places[data.train_edges.instance == 1]
    expected = Supply(data, Config()).known(own)
    found = Supply(mine, Config()).known(places)
    assert 0 < len(own) < len(places)
    torch.testing.assert_close(found.values, expected.values)


@pytest.mark.parametrize("together", [0, 1 << 15])
def test_a_step_gets_what_is_known_of_its_own_pairs(monkeypatch, together):
    monkeypatch.setattr(supply, "TOGETHER", together)
    data = data_of(random_multiplex(2, num_nodes=20, num_edges=90), [2, 0])
    supplied, size = Supply(data, Config(), 2, 1), len(data.train_edges)
    order = torch.from_numpy(np.random.default_rng(0).permutation(size))
    _, places = supplied.epoch(1, order, np.random.default_rng(0))
    steps = [(slice(0, 11), None), (slice(11, 12), None), (slice(12, size), None)]
    for (edges, _), look in zip(steps, supplied.look_ups(places, steps), strict=True):
        found, expected = look(), supplied.known(torch.cat([places[0, edges], places[1, edges]]))
        assert torch.equal(found.values, expected.values)
        assert torch.equal(found.row, expected.row)
        assert torch.equal(found.others, expected.others)
        first, last = found.lists.start[[0, -1]].tolist()
        assert torch.equal(found.lists.start - first, expected.lists.start)
        assert torch.equal(found.lists.places[first:last], expected.lists.places)
