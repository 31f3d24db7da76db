"""Parts of networks against plain loops, dense matrices and PyG."""

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv

from banditplex.baselines.graph_networks import Aggregation, Propagation, block_of, common_sums
from banditplex.baselines.neural import hide_from, visible_link
from banditplex.baselines.sampled import Arms, NeighbourSampler, biased_reward, variance_rate, variance_reward
from banditplex.baselines.seal import nearest
from banditplex.multiplex import Multiplex
from banditplex.nn import HiddenEdges, PackedGraph
from banditplex.nn.query import Query
from banditplex.nn.view import View
from banditplex.pairs.visibility import Visibility

NODES = 14
PAIRS = torch.tensor([(u, v) for u in range(NODES) for v in range(u)])
NOTHING = HiddenEdges(PAIRS[:0], PAIRS[:0, 0])


@pytest.fixture(scope="module")
def mx():
    rng = np.random.default_rng(5)
    layer, u, v = np.nonzero(np.triu(rng.random((3, NODES, NODES)) < 0.25, 1))
    return Multiplex.from_edges(u, v, layer, num_nodes=NODES)


def adjacency(mx, layer):
    dense = np.zeros((NODES, NODES))
    u, v = mx.edges(mx.layer_names[layer])
    dense[u, v] = dense[v, u] = 1
    return dense


@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_visible_links_by_a_loop(mx, hide):
    graph, visibility = PackedGraph.from_multiplex(mx, union=True), Visibility(hide)
    layers = [adjacency(mx, layer) for layer in range(3)]
    target = torch.arange(len(PAIRS)) % 3
    for looked_at in range(4):
        found = visible_link(graph, PAIRS, target, torch.full_like(target, looked_at), visibility)
        for (u, v), own, seen in zip(PAIRS.tolist(), target.tolist(), found.tolist(), strict=True):
            shown = [bool(a[u, v]) and hide == "layer" and index != own for index, a in enumerate(layers)]
            assert seen == (any(shown) if looked_at == 3 else shown[looked_at])


def test_hidden_edges_of_all_layers(mx):
    graph, target = PackedGraph.from_multiplex(mx), torch.zeros(2, dtype=torch.long)
    one = hide_from(graph, PAIRS[:2], target, Visibility("layer"), "all")
    every = hide_from(graph, PAIRS[:2], target, Visibility("pair"), "all")
    assert one.layer.tolist() == [0, 0]
    assert every.layer.tolist() == [0, 1, 2, 0, 1, 2]
    assert every.pairs.tolist() == [[1, 0]] * 3 + [[2, 0]] * 3


def test_hidden_edges_of_many_pairs_are_those_of_the_layers(mx):
    """More pairs times layers than arcs: exactly the edges between them are returned."""
    some = PAIRS[::2].repeat(4, 1)
    found = hide_from(PackedGraph.from_multiplex(mx), some, some[:, 0], Visibility("pair"), "all")
    wanted = {tuple(sorted(pair)) for pair in some.tolist()}
    expected = sorted(
        (layer, u, v)
        for layer, (u, v) in zip(mx.edge_layer.tolist(), mx.edge_index.T.tolist(), strict=True)
        if (u, v) in wanted
    )
    assert (
        sorted((layer, *pair) for layer, pair in zip(found.layer.tolist(), found.pairs.tolist(), strict=True))
        == expected
    )


def test_propagation_is_that_of_gcn(mx):
    """PyG's GCNConv with the identity as weights, on a graph without two of its edges."""
    graph, layer = PackedGraph.from_multiplex(mx), torch.ones(len(PAIRS), dtype=torch.long)
    gone = torch.from_numpy(mx.edges(mx.layer_names[1])[:, :2].T.copy())
    block, u, _ = block_of(graph, PAIRS, layer, HiddenEdges(gone, torch.ones(2, dtype=torch.long)))
    assert block.node[u].tolist() == PAIRS[:, 0].tolist()
    x = torch.randn(len(block.key), 4, generator=torch.Generator().manual_seed(0))
    conv = GCNConv(4, 4, bias=False)
    conv.lin.weight.data = torch.eye(4)
    arcs = np.nonzero(adjacency(mx, 1))
    kept = [(a, b) for a, b in zip(*arcs, strict=True) if sorted((a, b)) not in gone.tolist()]
    wide = torch.zeros(NODES, 4).index_put((block.node,), x)
    expected = conv(wide, torch.tensor(kept).T)[block.node]
    torch.testing.assert_close(Propagation.of(block, x.dtype)(x), expected)


def test_sums_over_common_neighbours_by_a_loop(mx):
    graph, layer = PackedGraph.from_multiplex(mx), torch.full((len(PAIRS),), 2)
    block, _, _ = block_of(graph, PAIRS, layer, NOTHING)
    x = torch.arange(1.0, 1 + len(block.key)).unsqueeze(1).double()
    dense, of_node = adjacency(mx, 2), dict(zip(block.node.tolist(), x[:, 0].tolist(), strict=True))
    expected = [sum(of_node[w] for w in range(NODES) if dense[u, w] and dense[v, w]) for u, v in PAIRS.tolist()]
    assert common_sums(block, x, PAIRS, layer).squeeze(1).tolist() == expected


def test_nearest_layers_at_low_temperature():
    rng = np.random.default_rng(2)
    mine, rest = rng.normal(size=(3, 4)), rng.normal(size=(3, 5, 4))
    found = nearest(torch.from_numpy(mine), torch.from_numpy(rest), 2, 1e-4)
    for place in range(3):
        distance = [np.linalg.norm(mine[place] - row) for row in rest[place]]
        np.testing.assert_allclose(found[place], rest[place][np.argsort(distance)[:2]], atol=1e-6)


def test_mean_over_all_other_layers(mx):
    """The terms are those of LinkPredictor's network."""
    model = Aggregation("mean", epochs=1, device="cpu", hide="layer").fit(mx)
    network, graph, target = model.network_.model, model.graph_, torch.ones(len(PAIRS), dtype=torch.long)
    layers = torch.tensor([[0, 2]]).expand(len(PAIRS), -1)
    logits = network(View(graph, network.visibility), Query(PAIRS.flip(1), target, layers, hidden=NOTHING))
    expected = logits.own + (logits.other[:, 0] + logits.other[:, 1]) / 2
    names = mx.node_names[PAIRS.numpy()]
    np.testing.assert_allclose(model.score_pairs(names, mx.layer_names[1]), expected.detach().numpy())


# Bandits that sample neighbours


def test_probabilities_by_hand():
    """Two bandits: weights 1 and 3, eta .4: .6 / 4 + .2 and .6 * 3 / 4 + .2; a single arm."""
    arms = Arms.of(torch.tensor([0, 0, 2]), 3)
    found = arms.probabilities(torch.log(torch.tensor([1.0, 3.0, 7.0])), 0.4)
    torch.testing.assert_close(found, torch.tensor([0.35, 0.65, 1.0]))


def test_draws_follow_the_probabilities():
    torch.manual_seed(0)
    arms = Arms.of(torch.tensor([0, 0, 1, 1, 1]), 2)
    q = torch.tensor([0.35, 0.65, 0.2, 0.5, 0.3])
    drawn = arms.draw(q, torch.tensor([0, 1]), 20_000)
    share = torch.stack([torch.bincount(row, minlength=5) / 20_000 for row in drawn])
    expected = torch.tensor([[0.35, 0.65, 0, 0, 0], [0, 0, 0.2, 0.5, 0.3]])
    assert (share - expected).abs().max() < 4 * 0.5 / 20_000**0.5


def test_rewards_and_rates_by_hand():
    """a = .5, ||h|| = 2, q = .25, k = 2: .25 * 4 / (2 / 16) = 8. z = (1, 0), mean (2, 5): 4 - 1 = 3."""
    q = torch.tensor([0.25])
    assert variance_reward(torch.tensor([0.5 * 2.0]), q, 2).tolist() == [8.0]
    assert biased_reward(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 5.0]])).tolist() == [3.0]
    rate = variance_rate(torch.tensor([10]), 2, 0.4, 100)
    expected = (0.6 * 0.4**4 * 2**5 * np.log(5) / (100 * 10**4)) ** 0.5
    np.testing.assert_allclose(rate, [expected])


@pytest.mark.parametrize("kind", ["gnn-bs", "thanos"])
def test_sampled_sums_are_unbiased_while_probabilities_are_uniform(mx, kind):
    """At first, the mean over many draws is the sum over all neighbours."""
    torch.manual_seed(0)
    graph = PackedGraph.from_multiplex(mx)
    block, _, _ = block_of(graph, PAIRS, torch.zeros(len(PAIRS), dtype=torch.long), NOTHING)
    x, share = torch.randn(len(block.key), 2), torch.rand(block.edge_index.shape[1]) + 0.5
    sums = []
    for _ in range(200):
        sampler = NeighbourSampler(kind, graph, 2, 0.4, 10)
        arc, weight = sampler.sample(block, share, x)
        source, destination = block.edge_index[:, arc]
        sums.append(torch.zeros_like(x).index_add_(0, destination, x[source] * weight.float().unsqueeze(1)))
    estimate = torch.stack(sums)
    exact = torch.zeros_like(x).index_add_(0, block.edge_index[1], x[block.edge_index[0]] * share.unsqueeze(1))
    assert ((estimate.mean(0) - exact).abs() <= 5 * estimate.std(0) / 200**0.5 + 1e-5).all()
    assert estimate.std(0).max() > 0.1  # some are sampled
    drawn = sampler.log_weight != 0
    assert 0 < drawn.sum() <= 2 * len(block.key)


def test_one_round_of_gnn_bs_by_hand():
    """A star with centre 0 and leaves 1, 2, 3; one draw: n = 3, q = 1/3, the reward and the new weight by hand."""
    graph = PackedGraph.from_multiplex(Multiplex.from_edges([0, 0, 0], [1, 2, 3], "a", num_nodes=4))
    block, _, _ = block_of(graph, torch.tensor([[0, 1]]), torch.tensor([0]), NOTHING)
    torch.manual_seed(0)
    sampler = NeighbourSampler("gnn-bs", graph, 1, 0.4, 50)
    x, share = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.full((6,), 0.5)
    arc, weight = sampler.sample(block, share, x)
    leaf = int(block.edge_index[0][arc[-1]])  # leaves have one neighbour each, which they keep
    assert arc.tolist()[:3] == [3, 4, 5]
    np.testing.assert_allclose(weight, [0.5, 0.5, 0.5, 0.5 * 3])
    reward = 0.25 * leaf**2 / (1 / 3) ** 2
    delta = (0.6 * 0.4**4 * np.log(3) / (50 * 3**4)) ** 0.5
    expected = np.zeros(7)
    expected[leaf - 1] = delta / 3 * reward / (1 / 3)
    np.testing.assert_allclose(sampler.log_weight, expected, rtol=1e-6)


def test_one_round_of_thanos_by_hand():
    """The same star; of one draw, the mean message is the message z itself: r = ||z||^2, log w = rate r / (q n)."""
    graph = PackedGraph.from_multiplex(Multiplex.from_edges([0, 0, 0], [1, 2, 3], "a", num_nodes=4))
    block, _, _ = block_of(graph, torch.tensor([[0, 1]]), torch.tensor([0]), NOTHING)
    torch.manual_seed(0)
    sampler = NeighbourSampler("thanos", graph, 1, 0.2, 2, rate=0.1)
    x, share = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.full((6,), 0.5)
    arc, weight = sampler.sample(block, share, x)
    leaf = int(block.edge_index[0][arc[-1]])
    np.testing.assert_allclose(weight, [0.5, 0.5, 0.5, 0.5 * 3])
    expected = np.zeros(7)
    expected[leaf - 1] = 0.1 / 3 * (0.5 * leaf) ** 2 / (1 / 3)
    np.testing.assert_allclose(sampler.log_weight, expected, rtol=1e-6)
    sampler.sample(block, share, x)
    assert (sampler.log_weight > 0).sum() >= 1
    sampler.sample(block, torch.zeros(6), x)  # the third round forgets, and learns nothing from messages of 0
    assert (sampler.log_weight == 0).all()
