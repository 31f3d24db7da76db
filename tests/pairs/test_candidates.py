"""Candidates: each way beside a slow loop over all pairs."""

from itertools import combinations, permutations

import numpy as np
import pytest

import banditplex as bx
from banditplex.pairs import candidates
from banditplex.pairs.candidates import (
    Layer,
    Positions,
    adjacency,
    by_degrees,
    find_candidates,
    linked,
    nearest,
    two_steps,
)
from banditplex.pairs.known import PairSpace


def graph(directed, seed=0):
    """Return three random layers of 30 nodes, in which node 29 has no edge."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 29, (2, 150))
    return bx.Multiplex.from_edges(
        *ends, rng.choice(["a", "b", "c"], 150), num_nodes=30, directed=directed, self_loops="drop"
    )


def every_pair(mx):
    return list((permutations if mx.directed else combinations)(range(mx.num_nodes), 2))


def edges(mx, layer):
    return {tuple(edge) for edge in mx.edges(layer).T.tolist()}


def neighbours(mx, layers):
    """Return for each node how many edges lead to each other node, in either direction."""
    found = [{} for _ in range(mx.num_nodes)]
    for name in layers:
        for u, v in {frozenset(edge) for edge in edges(mx, name)} if len(layers) == 1 else edges(mx, name):
            for one, other in ((u, v), (v, u)):
                found[one][other] = found[one].get(other, 0) + 1
    return found


def allocation(lists, u, v):
    """Return the sum over common neighbours w of a_uw a_wv / (sum of a_w)."""
    common = lists[u].keys() & lists[v].keys()
    return sum(lists[u][w] * lists[w][v] / sum(lists[w].values()) for w in common)


def check(found, scores, mx, layer, size):
    """Check that the pairs found are free, and those of the highest scores, up to ties."""
    known = edges(mx, layer)
    pairs = [tuple(divmod(key, mx.num_nodes)) for key in found.tolist()]
    free = {pair: scores[pair] for pair in every_pair(mx) if pair not in known and scores[pair] > 0}
    assert len(pairs) == len(set(pairs)) == min(size, len(free))
    assert set(pairs) <= set(free)
    highest = sorted(free.values(), reverse=True)[:size]
    assert sorted((free[pair] for pair in pairs), reverse=True) == pytest.approx(highest)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [7, 40, 10_000])
def test_each_way_keeps_the_pairs_of_the_highest_scores(directed, size, monkeypatch):
    monkeypatch.setattr(candidates, "PATHS", 50)  # several blocks of rows
    monkeypatch.setattr(candidates, "CELLS", 100)
    mx = graph(directed)
    layer, pairs = Layer(mx, 1, None), every_pair(mx)
    own, union = neighbours(mx, ["b"]), neighbours(mx, ["a", "b", "c"])
    strength = [sum(each.values()) for each in union]
    between = {(u, v): union[u].get(v, 0) for u, v in pairs}
    scores = {(u, v): n - 1 / (1 + strength[u] * strength[v]) if n else 0 for (u, v), n in between.items()}
    check(linked(layer, adjacency(mx, None), size), scores, mx, "b", size)
    for index, lists in ((1, own), (None, union)):
        scores = {(u, v): allocation(lists, u, v) for u, v in pairs}
        check(two_steps(layer, adjacency(mx, index), size), scores, mx, "b", size)
    rng = np.random.default_rng(1)
    vectors, values = rng.normal(size=(30, 4)).astype(np.float32), np.array([2, 1, -1, 0.5], np.float32)
    scores = {
        (u, v): max(0.0, sum(float(vectors[u, i] * values[i] * vectors[v, i]) for i in range(4))) for u, v in pairs
    }
    check(nearest(layer, Positions(vectors, values), np.arange(30), size), scores, mx, "b", size)
    tails, heads = rng.integers(0, 6, (2, 30)).astype(float)
    scores = {(u, v): tails[u] * heads[v] for u, v in pairs}
    if not directed:
        scores = {(u, v): max(tails[u] * heads[v], tails[v] * heads[u]) for u, v in pairs}
    check(by_degrees(layer, tails, heads, size), scores, mx, "b", size)


def test_the_nodes_of_the_lowest_degree_are_not_compared(monkeypatch):
    monkeypatch.setattr(candidates, "MAX_NODES", 3)
    mx = bx.Multiplex.from_edges([0], [1], "a", num_nodes=6)
    vectors = np.ones((6, 1), np.float32)
    keys = nearest(Layer(mx, 0, None), Positions(vectors, np.ones(1, np.float32)), np.array([1, 9, 3, 0, 7, 2]), 10)
    assert sorted(divmod(key, 6) for key in keys.tolist()) == [(1, 2), (1, 4), (2, 4)]


def test_paths_through_the_largest_hub_are_left_out_where_there_are_too_many(monkeypatch):
    """Nodes 1 to 5 share the hub 0; 1 and 2 share 6 as well: 5 * 5 paths through the hub, 2 * 2 through 6."""
    mx = bx.Multiplex.from_edges([0] * 5 + [6, 6], [1, 2, 3, 4, 5, 1, 2], "a", num_nodes=7)
    layer, matrix = Layer(mx, 0, None), adjacency(mx, 0)
    every = [*combinations(range(1, 6), 2), (0, 6)]
    assert sorted(divmod(key, 7) for key in two_steps(layer, matrix, 50).tolist()) == sorted(every)
    monkeypatch.setattr(candidates, "MAX_WORK", 20)
    assert sorted(divmod(key, 7) for key in two_steps(layer, matrix, 50).tolist()) == [(0, 6), (1, 2)]


def test_pairs_of_types_that_a_layer_does_not_link_are_no_candidates():
    users, items = [0, 0, 1, 1, 2, 2], [4, 5, 5, 6, 6, 7]
    mx = bx.Multiplex.from_edges(
        [*users, 0, 1],
        [*items, 1, 2],
        ["buys"] * 6 + ["knows"] * 2,
        num_nodes=8,
        node_types=["user"] * 4 + ["item"] * 4,
    )
    everywhere = Positions(np.ones((8, 1), np.float32), np.ones(1, np.float32))
    found = find_candidates(mx, 0, size=100, space=PairSpace(mx), positions=[everywhere])
    free = {(u, i) for u in range(4) for i in range(4, 8)} - edges(mx, "buys")
    assert {tuple(pair) for pair in found["positions"].tolist()} == free
    for pairs in found.values():
        assert {tuple(pair) for pair in pairs.tolist()} <= free
    assert not len(find_candidates(mx, 0, size=100)["positions"])


def test_a_layer_without_edges_has_candidates():
    mx = bx.Multiplex.from_edges([0, 1], [1, 2], "a", num_nodes=4, layer_names=["a", "none"])
    found = find_candidates(mx, 1)
    assert found["linked"].tolist() == [[0, 1], [1, 2]]
    assert found["neighbours"].tolist() == [[0, 2]]
    assert found["degrees"].tolist() == []
