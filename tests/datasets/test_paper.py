"""The paper's two synthetic sets: exact similarity, and every number of their docstrings."""

import re

import networkx as nx
import numpy as np
import pytest

from banditplex.datasets import check_dataset, load_dataset
from banditplex.datasets.planted import rand_internship, small_3_layers
from tests.refusals import refuses


def pairs(mx, layer):
    return set(map(tuple, mx.edges(layer).T.tolist()))


def advice():
    """CKM's layer "advice", as networkx sees it."""
    mx = load_dataset("ckm")
    return nx.DiGraph(mx.edges("advice").T.tolist())


def get_on_with():
    mx = load_dataset("vickers")
    return nx.DiGraph((mx.edges("get on with").T + 1).tolist())  # students 1 to 29


@pytest.mark.parametrize(
    ("name", "function"), [("rand-internship", rand_internship), ("small-3-layers", small_3_layers)]
)
def test_the_docstrings_have_the_counts(real_data, name, function):
    mx = check_dataset(name)
    said = re.search(r"(\d+) nodes, (\d+) layers, ([\d,]+) edges, (\w+)\.", function.__doc__)
    assert [int(value.replace(",", "")) for value in said.groups()[:3]] == [mx.num_nodes, mx.num_layers, mx.num_edges]
    assert said[4] == ("directed" if mx.directed else "undirected")


@pytest.mark.parametrize("whole", [False, True])
def test_rand_internship_is_similar_as_described(real_data, whole):
    mx = load_dataset("rand-internship", whole=whole)
    size = 449 if whole else 231
    assert mx.layer_names == ("ckm", "similar-90", "similar-10", "similar-10b", "similar-5", "similar-1")
    assert mx.layer_sizes.tolist() == [size] * 6
    shared = [len(pairs(mx, "ckm") & pairs(mx, name)) for name in mx.layer_names[1:]]
    assert shared == [round(size * share) for share in (0.9, 0.1, 0.1, 0.05, 0.01)]
    assert mx.metadata["relevant"]["ckm"] == ["similar-90"]
    assert mx.metadata["relevant"]["similar-90"] == ["ckm"]
    assert mx.metadata["relevant"]["similar-10"] == []
    assert mx.num_nodes == (246 if whole else 106)


@pytest.mark.parametrize("whole", [False, True])
def test_small_3_layers_is_similar_as_described(real_data, whole):
    mx = load_dataset("small-3-layers", whole=whole)
    size = 361 if whole else 174
    assert mx.layer_sizes.tolist() == [size] * 3
    assert len(pairs(mx, "vickers") & pairs(mx, "similar-90")) == round(0.9 * size)
    assert len(pairs(mx, "vickers") & pairs(mx, "similar-10")) == round(0.1 * size)
    assert mx.num_nodes == (29 if whole else 20)


def test_seeds_change_the_copies_alone(real_data):
    one, two = load_dataset("rand-internship", seed=1), load_dataset("rand-internship", seed=2)
    assert one != two
    assert pairs(one, "ckm") == pairs(two, "ckm")


def test_the_base_layer_is_that_of_ckm(real_data):
    mx, ckm = load_dataset("rand-internship"), load_dataset("ckm").to_undirected()
    named = {tuple(mx.node_names[list(pair)].tolist()) for pair in pairs(mx, "ckm")}
    assert named < {tuple(ckm.node_names[list(pair)].tolist()) for pair in pairs(ckm, "advice")}


def test_what_the_docstring_says_about_ckm(real_data):
    arcs = advice()
    ties = arcs.to_undirected()
    peoria = max(nx.connected_components(ties), key=len)
    assert len(list(nx.connected_components(ties))) == 4
    assert (arcs.number_of_edges(), ties.number_of_edges()) == (480, 449)
    assert (len(peoria), arcs.subgraph(peoria).number_of_edges(), ties.subgraph(peoria).number_of_edges()) == (
        106,
        242,
        231,
    )
    assert max(degree for _, degree in arcs.out_degree) == 3
    mutual = nx.Graph([edge for edge in arcs.edges if arcs.has_edge(*edge[::-1])])
    assert (len(mutual), mutual.number_of_edges()) == (51, 31)
    named = [node for node, degree in arcs.in_degree if degree >= 4]
    assert (len(named), ties.subgraph(named).number_of_edges()) == (51, 63)


def test_what_the_docstring_says_about_vickers(real_data):
    arcs = get_on_with()
    assert arcs.number_of_edges() == 361
    assert [arcs.subgraph(range(1, last + 1)).number_of_edges() for last in (18, 20)] == [140, 174]
    named = sorted(arcs, key=lambda node: -arcs.in_degree[node])[:18]
    assert min(arcs.in_degree[node] for node in named) > max(arcs.in_degree[node] for node in set(arcs) - set(named))
    assert arcs.subgraph(named).number_of_edges() == 209
    assert arcs.subgraph(range(13, 30)).number_of_edges() == 163
    assert arcs.to_undirected().number_of_edges() == 240
    for nodes, edges, ordered in ((18, 209, True), (17, 163, True), (29, 240, False)):
        free = nodes * (nodes - 1) // (1 if ordered else 2) - edges
        assert edges - round(0.1 * edges) > free
    assert max(m for m in range(307) if 0.9 * m <= 306 - m) == 161


def test_too_dense_a_layer_is_refused_with_the_numbers(real_data):
    from banditplex.datasets import similar_layer

    ties = load_dataset("vickers").to_undirected().edges("get on with")
    with refuses("216 of 240 edges", "166 non-edges", "29 nodes", "406 pairs"):
        similar_layer(ties, 29, 0.1, np.random.default_rng(0))
