"""The pairs of an epoch: all edges, each with a negative, and the evidence on both."""

from itertools import combinations

import numpy as np
import pytest
import torch

from banditplex.pairs.visibility import HIDE
from banditplex.training import supply
from banditplex.training.supply import TURNS, Supply
from tests.nn.test_graph import random_multiplex
from tests.training.test_data import data_of


def epochs(data, numbers, seed=0):
    """Return the pairs (2, E, 2) and the evidence of some epochs, edges in their own order."""
    kept, rng = Supply(data, seed), np.random.default_rng(0)
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
    for pairs, _ in epochs(data, range(TURNS + 1)):
        edges, negatives = pairs.tolist()
        assert edges == data.train_edges.pairs.tolist()
        for (u, v), target in zip(negatives, data.targets[data.train_edges.instance].tolist(), strict=True):
            assert u != v
            layers = range(3) if hide == "pair" else [target]
            assert not any((layer, u, v) in linked for layer in layers)


def test_negatives_with_evidence_take_turns():
    data = data_of(random_multiplex(1, num_nodes=30, num_edges=120))
    found = [pairs[1].tolist() for pairs, _ in epochs(data, range(2 * TURNS))]
    assert found[:TURNS] == found[TURNS:]
    assert all(a != b for a, b in combinations(found[:TURNS], 2))
    assert [pairs[1].tolist() for pairs, _ in epochs(data, range(TURNS))] == found[:TURNS]  # so that a run can go on
    assert epochs(data, [0], seed=1)[0][0][1].tolist() != found[0]


def test_negatives_without_evidence_are_drawn_anew():
    data = data_of(random_multiplex(1, num_nodes=30, num_edges=120), evidence="drawn")
    found = epochs(data, range(2 * TURNS))
    assert all(evidence is None for _, evidence in found)
    assert all(a[1].tolist() != b[1].tolist() for (a, _), (b, _) in combinations(found, 2))


def test_evidence_is_that_on_the_pairs_in_the_order_of_the_epoch(monkeypatch):
    monkeypatch.setattr(supply, "CHUNK", 7)
    data = data_of(random_multiplex(2, num_nodes=20, num_edges=90), [2, 0])
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(data.train_edges)))
    pairs, evidence = Supply(data, 0).epoch(1, order, np.random.default_rng(0))
    assert pairs[0].tolist() == data.train_edges.pairs[order].tolist()
    target = torch.from_numpy(data.targets[data.train_edges.instance[order]])
    for i in range(0, len(order), 9):
        for side in range(2):
            alone = data.train_graph.evidence.columns(pairs[side, i : i + 1], target[i : i + 1])
            torch.testing.assert_close(evidence[side, i], alone[0])
