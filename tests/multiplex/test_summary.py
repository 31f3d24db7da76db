"""What a summary counts, beside plain loops over sets and networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from banditplex.multiplex import Multiplex
from tests.io.strategies import multiplexes


@pytest.fixture
def mx():
    """Return four layers over five nodes.

    a: 0-1 1-2 2-3      b: 0-1 1-2 4-4      c: 2-3      d: nothing
    """
    return Multiplex.from_edges(
        [0, 1, 2, 0, 1, 4, 2],
        [1, 2, 3, 1, 2, 4, 3],
        [*"aaabbbc"],
        num_nodes=5,
        layer_names=[*"abcd"],
    )


def test_counts_by_hand(mx):
    table = mx.summary().layers
    assert table.index.tolist() == [*"abcd"]
    assert table["edges"].tolist() == [3, 3, 1, 0]
    assert table["active_nodes"].tolist() == [4, 4, 2, 0]
    assert table["self_loops"].tolist() == [0, 1, 0, 0]
    assert table["density"].tolist() == [0.3, 0.2, 0.1, 0]


def test_overlap_by_hand(mx):
    summary = mx.summary()
    expected = [[1, 2 / 4, 1 / 3, 0], [2 / 4, 1, 0, 0], [1 / 3, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(summary.overlap.toarray(), expected)
    np.testing.assert_allclose(summary.overlap_frame().loc["a", "b"], 0.5)
    assert summary.layers["most_similar"].tolist() == ["b", "a", "a", None]
    np.testing.assert_allclose(summary.layers["jaccard"], [1 / 2, 1 / 2, 1 / 3, 0])


def test_the_overlap_stays_sparse():
    """A thousand layers without a common pair overlap with nothing but themselves."""
    mx = Multiplex.from_edges(np.arange(1000), np.arange(1, 1001), np.arange(1000))
    assert mx.summary().overlap.nnz == 1000


def test_arcs_differ_from_their_reverse():
    mx = Multiplex.from_edges([0, 1, 0], [1, 0, 1], [*"abc"], directed=True)
    np.testing.assert_allclose(mx.summary().overlap.toarray(), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    assert mx.summary().layers["density"].tolist() == [0.5, 0.5, 0.5]


@given(mx=multiplexes())
def test_counts_agree_with_plain_loops_and_networkx(mx):
    summary = mx.summary()
    pairs = [set(map(tuple, mx.edges(layer).T.tolist())) for layer in mx.layer_names]
    for i, mine in enumerate(pairs):
        row = summary.layers.iloc[i]
        graph = nx.DiGraph() if mx.directed else nx.Graph()
        graph.add_nodes_from(range(mx.num_nodes))
        graph.add_edges_from(mine)
        loops = nx.number_of_selfloops(graph)
        active = sum(1 for node in graph if graph.degree(node))
        assert (row["edges"], row["self_loops"], row["active_nodes"]) == (len(mine), loops, active)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        assert row["density"] == pytest.approx(nx.density(graph))
        others = [len(mine & other) / max(1, len(mine | other)) for other in pairs]
        np.testing.assert_allclose(summary.overlap.toarray()[i], others)
        rest = others[:i] + others[i + 1 :]
        assert row["jaccard"] == pytest.approx(max(rest, default=0))
        if row["jaccard"]:
            assert others[mx.layer_names.index(row["most_similar"])] == row["jaccard"]


def test_repr_is_a_table(mx):
    lines = repr(mx.summary()).splitlines()
    assert lines[0] == "Multiplex(5 nodes, 4 layers, 7 edges, undirected)"
    assert lines[1].split() == ["edges", "active_nodes", "self_loops", "density", "most_similar", "jaccard"]
    assert lines[3].split() == ["a", "3", "4", "0", "0.3000", "b", "0.5000"]


def test_nothing_has_a_summary_too():
    summary = Multiplex.from_edges([], [], []).summary()
    assert summary.title == "Multiplex(0 nodes, 0 layers, 0 edges, undirected)"
    assert len(summary.layers) == 0
