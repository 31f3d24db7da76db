"""Hard negatives: the heuristics agree with networkx, the choice with a plain loop over all nodes."""

import networkx as nx
import numpy as np
import pytest

from banditplex.evaluation import split
from banditplex.multiplex import Multiplex
from banditplex.pairs import hard_negatives as hard
from banditplex.pairs.known import KnownPairs
from tests.evaluation.plain import edge_sets, everywhere, linked
from tests.quick import every


def sparse(seed=0, directed=False, num_nodes=40):
    """Three layers of random edges with self loops, and two isolated nodes."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, num_nodes - 2, (2, 120))
    ends[1, ::40] = ends[0, ::40]
    return Multiplex.from_edges(*ends, np.repeat(list("abc"), 40), num_nodes=num_nodes, directed=directed)


def union_graph(mx):
    graph = nx.Graph()
    graph.add_nodes_from(range(mx.num_nodes))
    graph.add_edges_from(tuple(pair) for pair in everywhere(mx))
    return graph


def plain_scores(mx):
    """Return resource allocation and PageRank (n, n) on the union of layers, with plain loops."""
    graph = union_graph(mx)
    size = mx.num_nodes
    allocation = np.zeros((size, size))
    for u in range(size):
        for v in range(size):
            allocation[u, v] = sum(1 / graph.degree(z) for z in set(graph[u]) & set(graph[v]))
    walk = np.zeros((size, size))
    for u in range(size):
        for v in graph[u]:
            walk[u, v] = 1 / graph.degree(u)
    pagerank = sum(0.15 * 0.85**t * np.linalg.matrix_power(walk, t) for t in range(21))
    return np.round(allocation, 9), np.round(pagerank, 9)


def better_rank(node, free, scores):
    """Return the better rank of a node among the free ones, by positive scores."""
    return min([1 + sum(score[x] > score[node] for x in free) for score in scores if score[node] > 0], default=None)


def scores(mx):
    union = hard.adjacency(mx, None)
    union.data[:] = 1
    found = hard.score_candidates(union, union.sum(axis=1), np.arange(mx.num_nodes))
    columns = np.zeros((2, mx.num_nodes, mx.num_nodes))
    for column, value in zip(columns, (found.allocation, found.pagerank), strict=True):
        column[found.anchor, found.node] = value
    return columns


@pytest.mark.parametrize("directed", [False, True])
def test_heuristics_are_those_of_networkx(directed, monkeypatch):
    mx = sparse(directed=directed)
    graph = union_graph(mx)
    allocation, pagerank = scores(mx)
    for u, v, value in nx.resource_allocation_index(graph, [(u, v) for u in graph for v in graph if u != v]):
        assert allocation[u, v] == pytest.approx(value, abs=1e-9)
    component = max(nx.connected_components(graph), key=len)
    for steps, least, tolerance in ((hard.STEPS, hard.MIN_PROBABILITY, 0.85**21), (200, 0, 1e-7)):
        monkeypatch.setattr(hard, "STEPS", steps)
        monkeypatch.setattr(hard, "MIN_PROBABILITY", least)
        pagerank = scores(mx)[1]
        for u in sorted(component)[:8]:
            expected = nx.pagerank(graph, alpha=0.85, personalization={u: 1}, tol=1e-10)
            assert pagerank[u] == pytest.approx([expected[v] for v in graph], abs=tolerance)


def test_scores_worked_by_hand():
    """A path 0 - 1 - 2 over two layers, and an isolated node 3: nodes 0 and 2 share node 1, which has degree 2."""
    mx = Multiplex.from_edges([0, 1], [1, 2], ["a", "b"], num_nodes=4)
    allocation, pagerank = scores(mx)
    assert allocation[0].tolist() == [0.5, 0, 0.5, 0]
    to_two = sum(0.15 * 0.85**t * 0.5 for t in range(2, 21, 2))  # from 0, every second step is at 0 or 2, evenly
    assert pagerank[0, 2] == pytest.approx(to_two, abs=1e-9)
    assert pagerank[0, 3] == 0
    assert pagerank[3].tolist() == [0, 0, 0, 0.15]


@pytest.mark.parametrize(("hide", "directed", "budget"), every(3, ["layer", "pair"], [False, True], [1, 1 << 21]))
def test_the_hardest_candidates_are_chosen(hide, directed, budget, monkeypatch):
    monkeypatch.setattr(hard, "BUDGET", budget)
    mx = sparse(seed=1, directed=directed)
    data = split(mx, hide=hide, negatives="hard", each=9)
    data.check(full=mx)
    allocation, pagerank = plain_scores(data.train)
    for name in "abc":
        edges = everywhere(mx) if hide == "pair" else linked(mx)[name]
        for (u, v), row in zip(*(part.tolist() for part in data.ranking(name)), strict=True):
            for kept, chosen, count in ((u, row[:5], 5), (v, row[5:], 4)):
                free = [w for w in range(mx.num_nodes) if w != kept and frozenset((kept, w)) not in edges]
                assert all(kept in pair for pair in chosen)
                if directed:
                    assert all(pair[kept == v] == kept for pair in chosen)
                ranks = {w: better_rank(w, free, (allocation[kept], pagerank[kept])) for w in free}
                scored = [w for w in free if allocation[kept, w] > 0 or pagerank[kept, w] > 0]
                best = sorted(ranks[w] for w in scored)[:count]
                taken = [sum(pair) - kept for pair in chosen]
                assert sorted(ranks[w] for w in taken if w in scored) == best
                assert len(set(taken)) == count
                assert set(taken) <= set(free)


def test_an_edge_of_another_layer_is_the_hardest_of_all():
    """Layer a is a ring. In layer b, 0 is linked with 5, and both are linked with 11, 12 and 13."""
    ring = np.arange(10)
    source = [*ring, 0, 0, 0, 0, 5, 5, 5]
    destination = [*(ring + 1) % 10, 5, 11, 12, 13, 11, 12, 13]
    mx = Multiplex.from_edges(source, destination, ["a"] * 10 + ["b"] * 7, num_nodes=14)
    known = KnownPairs(mx, ordered=False)
    nearest = hard.nearest_nodes(mx, np.array([0]), np.array([0]), 1, known, np.random.default_rng(0))
    assert nearest.tolist() == [[5]]
    everywhere_known = KnownPairs(mx, everywhere=True, ordered=False)
    hidden = hard.nearest_nodes(mx, np.array([0]), np.array([0]), 20, everywhere_known, np.random.default_rng(0))
    assert not {1, 5, 9, 11, 12, 13} & set(hidden[0].tolist())
    assert (hidden[0] == -1).sum() == 20 - (14 - 1 - 6 - 1)  # without itself, six neighbours and the isolated node 10


def test_nodes_without_candidates_get_random_pairs():
    """Node 0 is linked with all nodes, so there is no negative (0, w), and few (w, v)."""
    source = [0] * 7 + [1, 2, 3]
    destination = [*range(1, 8), 2, 3, 4]
    mx = Multiplex.from_edges(source, destination, "a", num_nodes=8)
    data = split(mx, hide="layer", share=0.9, negatives="hard", each=12)
    data.check(full=mx)
    assert len(edge_sets(mx)["a"]) == 10
    pairs, own = data.ranking("a")
    with_hub = own[pairs[:, 0] == 0]
    assert len(with_hub)
    assert not (with_hub == 0).any()


def test_the_default_number_is_at_most_the_number_of_negatives():
    mx = Multiplex.from_edges([0, 1, 2, 3], [1, 2, 3, 4], "a", num_nodes=5)  # 6 of 10 pairs are free
    data = split(mx, hide="layer", negatives="hard")
    assert data.negatives.shape == (1, 6, 2)
    data.check(full=mx)
    with pytest.warns(UserWarning, match=r"'a' \(6\)"):
        assert split(mx, hide="layer", negatives="hard", each=7).negatives.shape == (1, 6, 2)
    assert split(sparse(), hide="pair", negatives="hard").negatives.shape[1] == 100


def test_labelled_pairs_are_uniform_with_hard_negatives():
    mx = sparse(seed=2)
    plain, ranked = (split(mx, hide="pair", negatives=kind) for kind in ("uniform", "hard"))
    assert np.array_equal(plain.pairs, ranked.pairs)
    assert plain.train == ranked.train


@pytest.mark.parametrize(
    ("leaves", "centre", "leaf"),
    [(5_000, 1 + 0.85**2 + 0.85**4, (0.85 + 0.85**3) / 5_000), (10_000, 1, 0)],
)
def test_walks_of_small_probability_end(leaves, centre, leaf):
    """From the centre of a star of n leaves, a walk is at each leaf with .85^t / n after an odd number t of steps.

    This is above 1e-4 up to t = 3 for 5,000 leaves (.614 / 5,000), and never for 10,000 (.85 / 10,000).
    """
    star = Multiplex.from_edges([0] * leaves, range(1, leaves + 1), "a", num_nodes=leaves + 1)
    union = hard.adjacency(star, None)
    found = hard.personalised_pagerank(union, 1 / union.sum(axis=1), np.array([0])).toarray()[0]
    assert found[:3] == pytest.approx(0.15 * np.array([centre, leaf, leaf]))


def test_hard_negatives_share_a_node_with_their_edge_and_uniform_ones_need_not():
    mx = sparse()
    for kind, all_share in (("hard", True), ("uniform", False)):
        data = split(mx, hide="layer", negatives=kind, each=8)
        positives = data.pairs[data.label == 1]
        share = (data.negatives[:, :, :, None] == positives[:, None, None, :]).any(axis=(2, 3))
        assert share.all() == all_share
