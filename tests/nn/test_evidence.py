"""Evidence of all layers against plain loops, and against graphs from which the pair was taken out."""

import itertools
import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from banditplex.multiplex import Multiplex
from banditplex.nn.evidence import Evidence, num_evidence
from banditplex.nn.spectral import NUM_COLUMNS
from banditplex.nn.view import pack
from banditplex.pairs.visibility import HIDE, Visibility
from tests.nn.test_graph import all_questions, as_networkx, random_multiplex
from tests.nn.test_paths import plain_paths
from tests.quick import every

SHARE = 2
"""The column that counts all edges of the layer, the pair's own as well."""
POSITIONS = 2 * NUM_COLUMNS
"""The last columns, those of `Spectral`."""


def evidence_of(mx, hide="edge"):
    return pack(mx, "cpu", Visibility(hide, mx.directed, evidence=True)).evidence


def forget_sizes(monkeypatch):
    """Leave out the share of the layer's edges, the one column that a pair's own edge is part of.

    It is the same for all pairs of a layer, so it cannot tell edges from others.
    """
    index = Evidence.of.__func__

    def of(cls, graph, visibility, panels=None):
        found = index(cls, graph, visibility, panels)
        return replace(found, layer_share=torch.zeros_like(found.layer_share))

    monkeypatch.setattr(Evidence, "of", classmethod(of))


def remove(mx, pair, *, layer=None, both=True):
    """Return a multiplex without an edge, in one layer or in all; with `both`, also without its reverse."""
    ends = mx.edge_index.T
    gone = (ends == pair).all(1) | (both or not mx.directed) & (ends == pair[::-1]).all(1)
    return mx.keep_edges(~(gone if layer is None else gone & (mx.edge_layer == layer)))


def without(mx, pair, layer, hide):
    """Return what may be seen of a multiplex by a model that is asked for a pair of a layer."""
    return remove(mx, pair, layer=None if hide == "pair" else layer, both=hide != "edge")


def plain_columns(mx, pair, target):
    """Return all columns but those of `Spectral`, by plain loops over a multiplex without the pair's own edge."""
    u, v = pair
    layers = [as_networkx(mx, index).to_undirected() for index in range(mx.num_layers)]
    own, union = layers[target], nx.compose_all(layers)

    def copies(a, b):
        return sum(layer.has_edge(a, b) for layer in layers)

    def arcs(a, b):
        return sum([a, b] in mx.edges(index).T.tolist() for index in range(mx.num_layers) if index != target)

    def strength(a):
        return sum(layer.degree(a) for layer in layers)

    def summed(terms):
        count, adamic, allocation = (sum(column) for column in zip(*terms, strict=True)) if terms else (0, 0, 0)
        return [math.log1p(count), math.log1p(adamic), math.sqrt(allocation)]

    def weights(degree):
        return 1, 1 / math.log(max(degree, 2)), 1 / degree

    common = set(union[u]) & set(union[v])
    products = [copies(u, w) * copies(w, v) for w in common]
    across = [
        weights(math.sqrt(own.degree(w) * union.degree(w)))
        for a, b in ((u, v), (v, u)) for w in set(own[a]) & set(union[b])
    ]  # fmt: skip
    elsewhere = [strength(node) - own.degree(node) for node in (u, v)]
    size = [layer.number_of_edges() for layer in layers]
    if mx.directed:
        size = [len([0 for a, b in mx.edges(index).T if a != b]) for index in range(mx.num_layers)]
    return [
        *(math.log1p(number) for number in plain_paths(own, u, v)),
        math.log((size[target] + 1) / (sum(size) + 1)),
        *summed([weights(union.degree(w)) for w in common]),
        math.log1p(sum(products)),
        math.log1p(sum(min(copies(u, w), copies(w, v)) for w in common)),
        math.sqrt(sum(product / strength(w) for product, w in zip(products, common, strict=True))),
        *(math.log1p(number) for number in plain_paths(union, u, v)),
        *summed(across),
        math.log1p(copies(u, v) - own.has_edge(u, v)),
        *(math.log1p(number) for number in sorted(elsewhere)),
        *(math.log1p(arcs(*ends)) for ends in ((u, v), (v, u)) if mx.directed),
    ]


@pytest.mark.parametrize("directed", [False, True])
def test_columns_are_those_of_a_plain_loop(directed):
    mx = random_multiplex(1, num_edges=70, directed=directed)
    pairs, layers = all_questions(mx)
    found = evidence_of(mx).columns(pairs, layers)
    for (pair, layer), columns in zip(zip(pairs.tolist(), layers.tolist(), strict=True), found, strict=True):
        np.testing.assert_allclose(columns[:-POSITIONS], plain_columns(mx, pair, layer), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("hide", "directed"), every(5, HIDE, [False, True]))
def test_columns_of_an_edge_are_those_of_a_graph_without_it(hide, directed):
    """By plain loops and, with the eigenvectors of larger graphs, by the code itself."""
    small = random_multiplex(2, num_edges=70, directed=directed)
    large = random_multiplex(3, num_nodes=60, num_edges=300, num_layers=4, directed=directed)
    for mx, step in ((small, 4), (large, 40)):
        evidence = evidence_of(mx, hide)
        for (u, v), layer in list(zip(mx.edge_index.T.tolist(), mx.edge_layer.tolist(), strict=True))[::step]:
            if u == v:
                continue
            less, asked = without(mx, (u, v), layer, hide), (torch.tensor([[u, v]]), torch.tensor([layer]))
            found, expected = (each.columns(*asked)[0] for each in (evidence, evidence_of(less, hide)))
            assert found.isfinite().all()
            found[SHARE] = expected[SHARE]  # of the layer, not of the pair; see the next test
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
            if mx is small:
                plain = plain_columns(less, (u, v), layer)
                np.testing.assert_allclose(found[:-POSITIONS], plain, rtol=1e-4, atol=1e-5)


def test_the_layers_share_of_edges_is_the_same_for_all_pairs_of_a_layer():
    mx = random_multiplex(2, num_edges=70)
    pairs, layers = all_questions(mx)
    share = evidence_of(mx).columns(pairs, layers)[:, SHARE]
    sizes = [len([0 for u, v in mx.edges(layer).T if u != v]) for layer in range(3)]
    for layer in range(3):
        expected = math.log((sizes[layer] + 1) / (sum(sizes) + 1))
        np.testing.assert_allclose(share[layers == layer], expected, rtol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", HIDE)
def test_layers_of_a_pair_are_those_of_a_plain_loop(hide, directed):
    mx = random_multiplex(4, num_nodes=8, num_layers=5, num_edges=130, directed=directed)
    pairs, target = all_questions(mx)
    which, layer, reverse = (part.tolist() for part in evidence_of(mx, hide).layers_of(pairs, target))
    graphs = [as_networkx(mx, index) for index in range(5)]
    expected = []
    for place, ((u, v), own) in enumerate(zip(pairs.tolist(), target.tolist(), strict=True)):
        others = [index for index in range(5) if index != own and hide != "pair"]
        expected += [(place, index, 0) for index in others if graphs[index].has_edge(u, v)]
        expected += [(place, index, 1) for index in others if directed and graphs[index].has_edge(v, u)]
    assert list(zip(which, layer, reverse, strict=True)) == expected
    assert (len(expected) > 100) is (hide != "pair")


@pytest.mark.parametrize("directed", [False, True])
def test_copies_count_the_layers_of_each_edge_of_the_union(directed):
    mx = random_multiplex(5, num_nodes=8, num_layers=5, num_edges=130, directed=directed)
    graph = evidence_of(mx).graph
    layers = [as_networkx(mx, index).to_undirected() for index in range(5)]
    for u, v in itertools.permutations(range(8), 2):
        found, arc = graph.both.find(graph.both.rows(torch.tensor([5]), torch.tensor([u])), torch.tensor([v]))
        count = sum(layer.has_edge(u, v) for layer in layers)
        assert found.item() is (count > 0)
        assert not count or graph.both.copies[arc].item() == count


def test_an_empty_graph_and_an_empty_question_have_evidence():
    mx = Multiplex.from_edges([0], [0], [0], num_nodes=3, layer_names=[0, 1])
    for hide in HIDE:
        evidence = evidence_of(mx, hide)
        size = num_evidence(evidence.visibility)
        found = evidence.columns(torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 1]))
        assert found.shape == (2, size)
        assert not found[:, [i for i in range(size) if i != SHARE]].any()
        nothing = torch.empty(0, 2, dtype=torch.long), torch.empty(0, dtype=torch.long)
        assert evidence.columns(*nothing).shape == (0, size)
        assert [len(part) for part in evidence.layers_of(*nothing)] == [0, 0, 0]


def test_without_evidence_there_is_no_union():
    mx = random_multiplex(6)
    view = pack(mx, "cpu", Visibility("edge", False, evidence=False))
    assert (view.graph.num_layers, view.graph.num_plain, view.evidence) == (3, 3, None)
    assert pack(mx, "cpu", Visibility("edge", False, evidence=True)).graph.num_layers == 4
