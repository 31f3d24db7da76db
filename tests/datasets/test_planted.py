"""Planted multiplexes: counts are exact, what is asked for is there, what cannot be is refused."""

from importlib import import_module
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from banditplex.datasets import planted, similar_layer
from tests.refusals import refuses

MODULE = import_module("banditplex.datasets.planted")  # the package's attribute of that name is the function


def pairs(mx, layer):
    return set(map(tuple, mx.edges(layer).T.tolist()))


@pytest.fixture(scope="module")
def mx():
    return planted(14, 3, 0.7, group_size=4, num_nodes=60, edges_per_layer=200, communities=4, within=0.9, seed=5)


def test_layers_are_sorted_distinct_and_of_one_size(mx):
    assert (mx.num_nodes, mx.num_layers, mx.num_edges, mx.directed) == (60, 14, 14 * 200, False)
    for layer in mx.layer_names:
        edges = list(map(tuple, mx.edges(layer).T.tolist()))
        assert edges == sorted(set(edges))
        assert len(edges) == 200
        assert all(0 <= u < v < 60 for u, v in edges)


def test_names_sort_in_order_and_say_who_is_relevant(mx):
    assert list(mx.layer_names) == sorted(mx.layer_names)
    assert mx.layer_names[:5] == ("g1-base", "g1-copy1", "g1-copy2", "g1-copy3", "g2-base")
    relevant = mx.metadata["relevant"]
    assert relevant["g2-copy2"] == ["g2-base", "g2-copy1", "g2-copy3"]
    assert relevant["noise1"] == relevant["noise2"] == []
    assert list(relevant) == list(mx.layer_names)


def test_copies_keep_exactly_the_share_asked_for(mx):
    for group in ("g1", "g2", "g3"):
        base = pairs(mx, f"{group}-base")
        for copy in mx.metadata["relevant"][f"{group}-base"]:
            assert len(base & pairs(mx, copy)) == 140


def test_base_layers_have_the_edges_inside_communities_and_groups_differ(mx):
    """The best cut into four communities of 15 holds at least the 180 planted edges; any random one about 47."""
    for group in ("g1", "g2", "g3"):
        graph = nx.Graph(list(pairs(mx, f"{group}-base")))
        found = nx.community.louvain_communities(graph, seed=1)
        assert sorted(map(len, found)) == [15] * 4
        assert sum(graph.subgraph(part).number_of_edges() for part in found) == 180
    assert len(pairs(mx, "g1-base") & pairs(mx, "g2-base")) < 60  # by chance: 200 * 200 / 1770 = 23


def test_noise_is_spread_over_all_pairs():
    """Each of the 45 pairs of ten nodes is in a layer of 9 edges with chance 1/5: 4,000 layers, six deviations."""
    noise = planted(4000, 0, 0.5, num_nodes=10, edges_per_layer=9, seed=1)
    seen = np.bincount(noise.edge_index[0] * 10 + noise.edge_index[1], minlength=100)
    counts = [seen[u * 10 + v] for u, v in combinations(range(10), 2)]
    assert max(abs(np.array(counts) - 800)) < 6 * np.sqrt(4000 * 0.2 * 0.8)


def test_uneven_communities_and_edges_across_only():
    """Ten nodes in three communities, 4 + 3 + 3, have 12 pairs inside and 33 across: all can be taken exactly."""
    everything_inside = planted(2, 1, 1, num_nodes=10, edges_per_layer=12, communities=3, within=1)
    graph = nx.Graph(everything_inside.edges("g1-base").T.tolist())
    assert sorted(map(len, nx.connected_components(graph))) == [3, 3, 4]
    everything_across = planted(2, 1, 1, num_nodes=10, edges_per_layer=33, communities=3, within=0)
    missing = nx.complement(nx.Graph(everything_across.edges("g1-base").T.tolist()))
    assert sorted(map(len, nx.connected_components(missing))) == [3, 3, 4]


def test_a_seed_is_a_multiplex():
    def make(seed):
        return planted(6, 2, 0.8, num_nodes=50, edges_per_layer=80, communities=3, seed=seed)

    assert make(1) == make(1)
    assert make(1) != make(2)


@pytest.mark.parametrize("group_size", [2, 30])
def test_many_batches(monkeypatch, group_size):
    """A batch of 1,000 edges holds ten layers: groups of 30 do not fit into one."""
    monkeypatch.setattr(MODULE, "_BATCH", 1_000)
    many = planted(100, 3, 0.5, group_size=group_size, num_nodes=40, edges_per_layer=100, communities=2)
    for layer in many.layer_names:
        assert len(pairs(many, layer)) == 100
    for group in ("g1", "g2", "g3"):
        base, *copies = [pairs(many, name) for name in many.layer_names if name.startswith(group)]
        assert len(copies) == group_size - 1
        assert all(len(base & copy) == 50 for copy in copies)


@pytest.mark.slow
def test_ten_million_edges_in_a_thousand_layers():
    large = planted(1_000, 200, 0.8, num_nodes=10_000, edges_per_layer=10_000, communities=50)
    assert large.num_edges == 10_000_000 > 4 * MODULE._BATCH
    key = (large.edge_layer * 10_000 + large.edge_index[0]) * 10_000 + large.edge_index[1]
    assert (np.diff(key) > 0).all()
    overlap = len(pairs(large, "g200-base") & pairs(large, "g200-copy1"))
    assert overlap == 8_000


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"similarity": 1.5}, ["similarity", "got 1.5"]),
        ({"within": -0.1}, ["within", "got -0.1"]),
        ({"groups": 5}, ["5 groups of 2 layers", "10", "num_layers", 8]),
        ({"group_size": 1}, ["group_size", 2, "got 1"]),
        ({"edges_per_layer": 0}, ["edges_per_layer", 1, "got 0"]),
        ({"num_nodes": 1 << 32}, ["num_nodes", "2,147,483,648", "4,294,967,296"]),
        ({"communities": 21}, ["communities", 20, "got 21"]),
        ({"edges_per_layer": 191}, ["edges_per_layer", 190, "20 nodes", "got 191"]),
        # 90 of 100 edges are to be replaced, 20 * 19 / 2 - 100 = 90 non-edges are there; with 101 edges 91 and 89
        ({"edges_per_layer": 101, "within": 0.4, "similarity": 0.1}, ["91 of 101 edges", "89 non-edges"]),
        # two communities of ten nodes have 90 pairs inside, 100 across
        ({"edges_per_layer": 100, "within": 0.91}, ["within=0.91", "91 of 100", "90 pairs"]),
        ({"edges_per_layer": 110, "within": 0.05}, ["within=0.05", "104 of 110", "100 pairs"]),
    ],
)
def test_what_cannot_be_is_refused(options, values):
    defaults = {
        "num_layers": 8,
        "groups": 3,
        "similarity": 0.8,
        "num_nodes": 20,
        "edges_per_layer": 30,
        "communities": 2,
    }
    with refuses(*values):
        planted(**(defaults | options))


def test_the_densest_feasible_copy_takes_every_non_edge():
    mx = planted(2, 1, 0.1, num_nodes=20, edges_per_layer=100, communities=2, within=0.5)
    base, copy = pairs(mx, "g1-base"), pairs(mx, "g1-copy1")
    assert len(base & copy) == 10
    assert copy - base == set(combinations(range(20), 2)) - base


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("similarity", [0, 0.25, 0.9, 1])
def test_similar_layer_keeps_and_replaces(directed, similarity):
    rng = np.random.default_rng(0)
    edges = np.array([(v, u) for u, v in combinations(range(9), 2)])[::3].T  # 12 edges, larger index first
    made = set(map(tuple, similar_layer(edges, 9, similarity, rng, directed=directed).T.tolist()))
    base = set(map(tuple, edges.T.tolist())) if directed else {(v, u) for u, v in edges.T.tolist()}
    assert len(made) == 12
    assert len(made & base) == round(12 * similarity)
    assert all(0 <= u < 9 and 0 <= v < 9 and u != v for u, v in made)
    assert directed or all(u < v for u, v in made)


def test_similar_layer_draws_kept_and_new_edges_evenly():
    """Path 0-1-2-3, one edge of three replaced: an edge is kept with chance 2/3, a non-edge drawn with 1/3."""
    rng = np.random.default_rng(0)
    counts = dict.fromkeys(combinations(range(4), 2), 0)
    for _ in range(1000):
        for u, v in similar_layer([[0, 1, 2], [1, 2, 3]], 4, 2 / 3, rng).T.tolist():
            counts[u, v] += 1
    for pair, count in counts.items():
        chance = 2 / 3 if pair in {(0, 1), (1, 2), (2, 3)} else 1 / 3
        assert abs(count - 1000 * chance) < 5 * np.sqrt(1000 * 2 / 9)


@pytest.mark.parametrize(
    ("edges", "values"),
    [
        ([[0, 1], [1, 0]], ["duplicate"]),
        ([[0, 1], [1, 1]], ["self loops"]),
        ([[0, 1], [1, 9]], ["0 to 3", "0 to 9"]),
        ([[0, 0, 0, 1, 1], [1, 2, 3, 2, 3]], ["3 of 5 edges", "1 non-edges", "4 nodes", "6 pairs"]),
    ],
)
def test_similar_layer_refuses(edges, values):
    with refuses(*values):
        similar_layer(edges, 4, 0.5, np.random.default_rng(0))
