"""Neighbour sampling against plain loops: what is drawn, how likely it is, and what the encoder makes of it."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.nn import GATConv

from banditplex.multiplex import Multiplex
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn import neighbour_sampling as sampling
from banditplex.nn.encoder import Encoder
from banditplex.nn.neighbour_sampling import Fanout, choose, near_block
from banditplex.nn.query import Query, Vertices
from banditplex.nn.view import pack
from tests.nn.test_graph import random_multiplex
from tests.nn.test_model import make_model
from tests.quick import every


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    """Take every layer for a large one."""
    monkeypatch.setattr(sampling, "WHOLE", 0)


def fanout(size, seed=0):
    return Fanout((size,) * 9 if isinstance(size, int) else size, torch.Generator().manual_seed(seed))


def neighbours(mx, layer, hidden=()):
    """Return the set of visible neighbours of each node, by a loop over edges."""
    sets = {node: set() for node in range(mx.num_nodes)}
    for u, v in mx.edges(layer).T.tolist():
        if u != v and (layer, u, v) not in hidden and (layer, v, u) not in hidden:
            sets[u].add(v)
            sets[v].add(u)
    return sets


def ask(graph, wanted, hidden=(), *, size=None, depth=2, seed=0, in_front=False):
    """Return the block of (layer, node)s wanted, some (layer, u, v) hidden."""
    layer, node = torch.tensor(wanted).reshape(-1, 2).T.contiguous()
    table = torch.tensor(list(hidden), dtype=torch.long).reshape(-1, 3)
    return near_block(
        graph, layer, node, HiddenEdges(table[:, 1:], table[:, 0].contiguous()), graph.both.rows(layer, node),
        between=layer[:0], depth=depth, fanout=None if size is None else fanout(size, seed),
        in_front=in_front,
    )  # fmt: skip


def arcs_of(block):
    """Return the neighbours that each (layer, node) of a block sees, each as often as there are arcs."""
    seen = {}
    for source, destination in block.key[block.edge_index].T.tolist():
        layer, node = divmod(destination, block.graph.num_nodes)
        assert source // block.graph.num_nodes == layer
        seen.setdefault((layer, node), []).append(source % block.graph.num_nodes)
    return seen


def some_hidden(mx, share, seed=0):
    rng = np.random.default_rng(seed)
    edges = [(layer, *pair) for layer in range(mx.num_layers) for pair in mx.edges(layer).T.tolist()]
    hidden = [(layer, *(rng.permutation([u, v]).tolist())) for layer, u, v in edges if rng.random() < share]
    return [*hidden, *hidden[:3], (0, 0, mx.num_nodes - 1)]  # some twice; one that is no edge


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("size", [None, 1, 3, 100])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_each_vertex_within_reach_sees_its_visible_neighbours_or_as_many_as_it_may(directed, size, depth):
    mx = random_multiplex(3, num_nodes=40, num_edges=250, directed=directed)
    hidden = some_hidden(mx, 0.3)
    wanted = [(0, 5), (0, 6), (2, 7), (0, 5), (2, 39)]
    block = ask(PackedGraph.from_multiplex(mx), wanted, hidden, size=size, depth=depth)
    seen, now = arcs_of(block), set(wanted)
    everyone = {layer: neighbours(mx, layer, set(hidden)) for layer in (0, 2)}
    reached = set(now)
    for _ in range(depth):
        for layer, node in now:
            visible, drawn = everyone[layer][node], seen.pop((layer, node), [])
            assert len(set(drawn)) == len(drawn) == min(len(visible), size or 100)
            assert set(drawn) <= visible
        now = {(layer, other) for layer, node in now for other in arcs_of(block).get((layer, node), [])} - reached
        reached |= now
    assert not seen  # nobody else sees anything
    assert sorted(zip(block.layer.tolist(), block.node.tolist(), strict=True)) == sorted(reached)
    assert block.degree.tolist() == [len(everyone[layer][node]) for layer, node in
                                     zip(block.layer.tolist(), block.node.tolist(), strict=True)]  # fmt: skip
    assert (block.edge_index[1].diff() >= 0).all()
    layer, node = torch.tensor(wanted).T.contiguous()
    assert block.key[block.vertex(layer, node)].tolist() == (layer * 40 + node).tolist()


def test_arcs_have_their_weights():
    mx = random_multiplex(4, num_nodes=20, num_edges=150, weighted=True)
    block = ask(PackedGraph.from_multiplex(mx), [(0, 1), (1, 2), (2, 3)], size=2)
    weights = {
        (layer, *sorted(pair)): weight
        for layer in range(3)
        for pair, weight in zip(mx.edges(layer).T.tolist(), mx.weights(layer).tolist(), strict=True)
    }
    for (a, b), weight in zip(block.key[block.edge_index].T.tolist(), block.weight.tolist(), strict=True):
        assert weight == pytest.approx(weights[(a // 20, *sorted([a % 20, b % 20]))])


def test_each_step_away_has_a_fanout_of_its_own():
    """A tree: node 0 has 5 neighbours, each of which has 4 more; with fanouts 3 and 2, 1 + 3 + 3 * 2 nodes are seen.

    A neighbour of node 0 may draw node 0 again, so that 3 of the last 6 may be missing.
    """
    ends = [(0, i) for i in range(1, 6)] + [(i, 6 + 4 * (i - 1) + j) for i in range(1, 6) for j in range(4)]
    mx = Multiplex.from_edges(*np.array(ends).T, [0] * len(ends))
    block = ask(PackedGraph.from_multiplex(mx), [(0, 0)], size=(3, 2))
    seen = arcs_of(block)
    assert len(seen[0, 0]) == 3
    assert all(len(seen[0, node]) == 2 for node in seen[0, 0])
    assert 7 <= len(block.key) <= 10


def test_all_sets_of_neighbours_are_equally_likely():
    """6 * 5 / 2 = 15 sets; each count is binomial, and 5 deviations off happens once in 1.7 million."""
    draws = 15_000
    chosen = choose(torch.full((draws,), 6), 2, torch.Generator().manual_seed(0)).sort(1).values
    counts = Counter(map(tuple, chosen.tolist()))
    assert set(counts) == set(itertools.combinations(range(6), 2))
    mean, deviation = draws / 15, (draws * (1 / 15) * (14 / 15)) ** 0.5
    assert max(abs(count - mean) for count in counts.values()) < 5 * deviation


def test_the_mean_over_the_drawn_neighbours_is_unbiased_and_never_uses_a_hidden_edge():
    """A star with 30 leaves, of which 10 are hidden: the mean of 4 out of 20 numbers has the variance

    (1 / 4) (1 - 4 / 20) S^2 (sampling without replacement), where S^2 is their variance with divisor 19.
    """
    mx = Multiplex.from_edges([0] * 30, range(1, 31), [0] * 30, num_nodes=31)
    graph = PackedGraph.from_multiplex(mx)
    hidden = [(0, leaf, 0) for leaf in range(3, 31, 3)]
    values = np.array([leaf**2 for leaf in range(1, 31) if leaf % 3], float)
    means = []
    for seed in range(400):
        drawn = arcs_of(ask(graph, [(0, 0)], hidden, size=4, depth=1, seed=seed))[0, 0]
        assert all(leaf % 3 for leaf in drawn)
        means.append(np.mean(np.square(drawn)))
    error = np.sqrt((1 / 4) * (1 - 4 / 20) * values.var(ddof=1) / len(means))
    assert abs(np.mean(means) - values.mean()) < 5 * error


@pytest.mark.parametrize(("directed", "conv", "size"), every(5, [False, True], ["sage", "gcn", GATConv], [None, 100]))
def test_with_enough_fanout_the_network_says_what_it_says_of_whole_layers(conv, size, directed, monkeypatch):
    mx = random_multiplex(11, num_nodes=60, num_layers=4, num_edges=300, directed=directed, weighted=conv != GATConv)
    model = make_model(mx, conv=conv)
    view = pack(mx, "cpu", model.visibility)
    pairs, target = torch.tensor([[0, 1], [3, 7], [2, 59], [4, 5]]), torch.tensor([0, 2, 1, 1])
    layers = torch.tensor([[1, 2], [0, 1], [2, 0], [0, 2]])
    table = torch.tensor(some_hidden(mx, 0.2))
    asked = Vertices(torch.tensor([0, 2, 1]), torch.tensor([9, 10, 59]))
    hidden = HiddenEdges(table[:, 1:], table[:, 0].contiguous())
    query = Query(pairs, target, layers, hidden=hidden, wanted=asked)
    near = model(view, query if size is None else replace(query, fanout=fanout(size)))
    near.total.sum().backward()
    gradient = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    monkeypatch.setattr(sampling, "WHOLE", 10_000)
    model.zero_grad()
    whole = model(view, query)
    whole.total.sum().backward()
    assert len(near.block.key) < len(whole.block.key)
    torch.testing.assert_close(near.total, whole.total)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(gradient[name], weight.grad)
    torch.testing.assert_close(near.embedding[near.block.vertex(*asked)], whole.embedding[whole.block.vertex(*asked)])


def test_small_layers_stay_whole_beside_large_ones(monkeypatch):
    ends = np.random.default_rng(0).integers(0, 30, (2, 220))
    mx = Multiplex.from_edges(*ends, [0] * 20 + [1] * 200, num_nodes=30, self_loops="drop", duplicates="max")
    graph = PackedGraph.from_multiplex(mx)
    monkeypatch.setattr(sampling, "WHOLE", 2 * 20)
    block = ask(graph, [(0, 1), (1, 2)], size=1, depth=1)
    seen, small = arcs_of(block), neighbours(mx, 0)
    assert {node: set(seen.get((0, node), ())) for node in range(30)} == small
    assert [node for layer, node in seen if layer == 1] == [2]


def test_the_same_seed_draws_the_same():
    graph = PackedGraph.from_multiplex(random_multiplex(3, num_nodes=40, num_edges=250))
    first, same, other = (ask(graph, [(0, 5), (2, 7)], size=2, seed=seed).key.tolist() for seed in (0, 0, 1))
    assert first == same != other


@pytest.mark.parametrize("conv", ["sage", "gcn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_asked_for_may_come_first(weighted, conv):
    """Embeddings and gradients are the same, and there are none of other vertices."""
    graph = PackedGraph.from_multiplex(random_multiplex(3, num_nodes=40, num_edges=150, weighted=weighted))
    wanted = [(layer, node) for layer in (0, 2) for node in (0, 1, 5, 20, 39)]
    torch.manual_seed(0)
    encoder = Encoder(num_nodes=40, num_layers=graph.num_layers, num_features=0, width=8, depth=2, conv=conv)
    blocks = [ask(graph, wanted, size=2, in_front=in_front) for in_front in (False, True)]
    assert len(blocks[1].lone) > 0
    assert blocks[1].asked == len(wanted) < len(blocks[1].key)
    assert arcs_of(blocks[0]) == arcs_of(blocks[1])
    asked = torch.tensor(wanted).T
    embeddings = [encoder(block, None)[block.vertex(*asked)] for block in blocks]
    torch.testing.assert_close(*embeddings)
    factor = torch.randn_like(embeddings[0])
    for each in zip(*(torch.autograd.grad((z * factor).sum(), encoder.parameters()) for z in embeddings), strict=True):
        torch.testing.assert_close(*each, rtol=1e-4, atol=1e-5)
