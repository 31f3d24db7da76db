"""Katz against a dense inverse of the graph without the pair's own edge."""

import numpy as np
import pytest

from banditplex.baselines import Katz
from banditplex.baselines import heuristics as katz_module
from banditplex.multiplex import Multiplex
from tests.refusals import refuses

NODES = 20
PAIRS = np.array([(u, v) for u in range(NODES) for v in range(NODES) if u != v])


def random_layers(seed, density=0.12):
    flags = np.random.default_rng(seed).random((2, NODES, NODES)) < density
    flags &= np.triu(np.ones((NODES, NODES), bool), 1)
    layer, source, destination = np.nonzero(flags)
    return Multiplex.from_edges(source, destination, np.array(["a", "b"])[layer], num_nodes=NODES), flags | flags.mT


def inverse(matrix, beta, u, v, *, without):
    matrix = matrix.astype(float)
    if without:
        matrix[u, v] = matrix[v, u] = 0
    return np.linalg.inv(np.eye(NODES) - beta * matrix)[u, v]


@pytest.mark.parametrize("beta", [0.005, 0.1])
def test_target_layer(beta):
    mx, flags = random_layers(0)
    scores = Katz(beta=beta).fit(mx).score_pairs(PAIRS, "b")
    expected = [inverse(flags[1], beta, u, v, without=True) for u, v in PAIRS]
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_union(hide):
    """An edge that the other layer has is seen, unless pairs are hidden everywhere."""
    mx, flags = random_layers(1)
    scores = Katz(graph="union", beta=0.05, hide=hide).fit(mx).score_pairs(PAIRS, "a")
    union = flags[0] | flags[1]
    expected = [inverse(union, 0.05, u, v, without=hide == "pair" or not flags[1, u, v]) for u, v in PAIRS]
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-15)


def test_a_beta_that_is_too_large_is_reduced():
    """.9 over the largest eigenvalue; 3 for the complete graph of four nodes."""
    source, destination = np.triu_indices(4, 1)
    mx = Multiplex.from_edges(source, destination, "a", num_nodes=5)
    model = Katz(beta=7.0).fit(mx)
    without = np.ones((4, 4)) - np.eye(4)
    without[0, 1] = without[1, 0] = 0
    expected = np.linalg.inv(np.eye(4) - 0.3 * without)[0, 1]
    np.testing.assert_allclose(model.score_pairs([[0, 1], [0, 4]], "a"), [expected, 0], rtol=1e-9)


def test_large_graphs_are_exact_up_to_three_steps(monkeypatch):
    """With 6 of 20 eigenvalues, the error is below what the other eigenvalues can add: beta^4 l^4 / (1 - beta l)."""
    mx, flags = random_layers(2, density=0.2)
    monkeypatch.setattr(katz_module, "EXACT", 5)
    monkeypatch.setattr(katz_module, "RANK", 6)
    scores = Katz(beta=0.05).fit(mx).score_pairs(PAIRS, "a")
    expected = np.array([inverse(flags[0], 0.05, u, v, without=True) for u, v in PAIRS])
    left = 0.05 * np.sort(np.abs(np.linalg.eigvalsh(flags[0].astype(float))))[-7]
    bound = left**4 / (1 - left)
    assert np.abs(scores - expected).max() < 2 * bound  # the own edge is removed with two such entries
    assert bound < 0.1 * expected.max()


def test_mistakes_are_refused():
    mx, _ = random_layers(0)
    with refuses("beta", "0"):
        Katz(beta=0).fit(mx)
    with refuses("graph", "'all'"):
        Katz(graph="all").fit(mx)
