"""`groups`: layers of a group share near pairs and as many edges as asked for; counts are exact."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from banditplex.datasets import check_dataset, groups, load_dataset
from banditplex.datasets.sampling import Communities, decode
from tests.refusals import refuses

SMALL = {"num_nodes": 60, "edges_per_layer": 100, "num_communities": 4, "within": 0.9}


def pairs(mx, layer):
    return set(map(tuple, mx.edges(layer).T.tolist()))


def members(mx, group):
    return [pairs(mx, layer) for layer in mx.layer_names if layer.startswith(f"{group}-")]


def test_the_declaration_holds():
    """400 nodes, 60 layers of 800 edges: 12 groups of 5, as issued by the defaults."""
    mx = check_dataset("groups")
    assert mx.layer_sizes.tolist() == [800] * 60
    assert (mx.num_nodes, mx.layer_names[0], mx.layer_names[-1]) == (400, "g0-0", "g11-4")
    assert load_dataset("groups", seed=1) != mx
    assert load_dataset("groups", num_layers=10).num_layers == 10


def test_the_truth_is_the_group():
    mx = groups(8, 3, noise_layers=2, **SMALL)
    relevant = mx.metadata["relevant"]
    assert list(relevant) == list(mx.layer_names)
    assert relevant["g1-1"] == ["g1-0", "g1-2"]
    assert relevant["noise-0"] == relevant["noise-1"] == []


@pytest.mark.parametrize("overlap", ["independent", "disjoint", "copied"])
def test_a_group_shares_communities(overlap):
    """The 270 planted edges of three layers, 90 of 100 each, lie inside four communities of 15 nodes."""
    mx = groups(6, 3, overlap=overlap, **SMALL)
    found = []
    for group in ("g0", "g1"):
        union = nx.Graph([pair for layer in members(mx, group) for pair in layer])
        parts = nx.community.louvain_communities(union, seed=1)
        assert sorted(map(len, parts)) == [15] * 4
        for layer in members(mx, group):
            graph = nx.Graph(list(layer))
            assert sum(graph.subgraph(part).number_of_edges() for part in parts) == 90
        found.append(set(map(frozenset, parts)))
    assert found[0] != found[1]


def test_a_group_shares_positions():
    """90 of 100 edges are among the 420 near pairs (4 * 15 * 14 / 2): near pairs close triangles, others do not."""
    mx = groups(7, 3, noise_layers=1, shared="positions", **SMALL)
    unions = [set.union(*members(mx, group)) for group in ("g0", "g1")]
    clustering = [nx.transitivity(nx.Graph(list(union))) for union in unions]
    assert min(clustering) > 3 * nx.transitivity(nx.Graph(list(pairs(mx, "noise-0"))))
    one, two, three = members(mx, "g0")
    shared = [len(a & b) for a, b in combinations((one, two, three), 2)]
    assert all(10 < count < 30 for count in shared)  # by chance 90 * 90 / 420 = 19; of other groups 5.6


def test_layers_drawn_independently_share_edges_by_chance_alone():
    """Two layers share 90 * 90 / 420 near pairs and 10 * 10 / 1350 others in the mean: 19.36; 300 pairs of layers."""
    mx = groups(300, 3, **SMALL)
    shared = [len(a & b) for group in range(100) for a, b in combinations(members(mx, f"g{group}"), 2)]
    variance = 90 * (90 / 420) * (330 / 420) * (330 / 419) + 0.08  # hypergeometric
    assert abs(np.mean(shared) - 19.36) < 4 * np.sqrt(variance / 300)


def test_disjoint_layers_share_no_edge_and_can_fill_the_group():
    mx = groups(4, 4, overlap="disjoint", **SMALL)
    layers = members(mx, "g0")
    assert len(set.union(*layers)) == sum(map(len, layers)) == 400
    full = groups(3, 3, overlap="disjoint", num_nodes=6, num_communities=2, edges_per_layer=2, within=1)
    assert set.union(*members(full, "g0")) < set(combinations(range(6), 2))
    assert full.union().num_edges == 6  # two triangles, all of their edges


@pytest.mark.parametrize("copied", [0, 0.5, 1])
def test_copied_layers_keep_the_share_of_the_first(copied):
    first, *others = members(groups(5, 5, overlap="copied", copied=copied, **SMALL), "g0")
    assert [len(first & other) for other in others] == [100 * copied] * 4


def test_opposite_pairs_take_the_place_of_those_inside_and_back():
    """Of all pairs of 24 nodes in four communities of six, 60 are inside, and each of them has one of its own."""
    layout = Communities(24, 4)
    one, other = decode(np.arange(24 * 23 // 2), 24)
    first, second = layout.opposite(one, other)
    assert len({tuple(sorted(pair)) for pair in zip(first.tolist(), second.tolist(), strict=True)}) == 24 * 23 // 2
    inside = one // 6 == other // 6
    assert inside.sum() == 4 * 6 * 5 // 2
    assert ((first // 6 - second // 6)[inside] % 4 == 2).all()
    changed = (first != one) | (second != other)
    assert changed.sum() == 2 * inside.sum()
    again = layout.opposite(first, second)
    assert np.array_equal(again, [one, other])


def test_layers_after_the_first_link_opposite_communities():
    """Nodes of a community have the same neighbours there; of 90 edges, 81 are opposite, and 4 or so by chance."""
    mx = groups(5, 5, kin="opposite", **SMALL)
    first, *others = (mx.edges(name) for name in mx.layer_names)
    side = np.zeros((60, 60))
    for edges in others:
        side[edges[0], edges[1]] += 1
        side[edges[1], edges[0]] += 1
    alike = side @ side  # how often two nodes link to the same third one
    near = alike[first[0], first[1]].mean()
    assert near > 3 * alike[np.triu_indices(60, 1)].mean()
    assert np.mean([mx.has_edges(first.T, name).mean() for name in mx.layer_names[1:]]) < 0.1


@pytest.mark.parametrize("shared", ["communities", "positions"])
def test_a_seed_is_a_multiplex(shared):
    assert groups(5, 5, shared=shared, seed=1) == groups(5, 5, shared=shared, seed=1)
    assert groups(5, 5, shared=shared, seed=1) != groups(5, 5, shared=shared, seed=2)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"shared": "hubs"}, ["shared", "communities, positions", "'hubs'"]),
        ({"overlap": "some"}, ["overlap", "independent, disjoint, copied", "'some'"]),
        ({"kin": "far"}, ["kin", "alike, opposite", "'far'"]),
        ({"kin": "opposite", "shared": "positions"}, ["shared='positions'", "kin='opposite'"]),
        ({"kin": "opposite", "overlap": "copied"}, ["overlap='copied'", "kin='opposite'"]),
        ({"kin": "opposite", "num_communities": 5}, ["even number", "5 communities of 60 nodes"]),
        ({"kin": "opposite", "num_communities": 8}, ["the same size", "8 communities of 60 nodes"]),
        ({"num_layers": 12}, ["12 layers", "groups of 5"]),
        ({"noise_layers": 11}, ["10 layers", "11 of noise"]),
        ({"group_size": 0}, ["group_size", 1, "got 0"]),
        ({"within": 1.5}, ["within", "got 1.5"]),
        ({"copied": -1}, ["copied", "got -1"]),
        ({"num_communities": 61}, ["communities", 60, "got 61"]),
        ({"edges_per_layer": 500}, ["450 of 500", "420 pairs"]),
        ({"overlap": "disjoint"}, [450, "90 edges", "5 layers", "'disjoint'", 420]),
        ({"overlap": "copied", "copied": 0, "edges_per_layer": 400}, [720, "360 edges", "'copied'", 420]),
    ],
)
def test_what_cannot_be_is_refused(options, values):
    with refuses(*values):
        groups(**({"num_layers": 10} | SMALL | options))
