"""Random walks against exact transition probabilities, and skip-gram against a plain loop over pairs."""

import math
from functools import partial

import numpy as np
import torch

from banditplex.baselines.skipgram import (
    Noise,
    Table,
    WalkGraph,
    Walks,
    batches,
    gradients,
    random_table,
    train,
    walk,
)
from banditplex.multiplex import Multiplex

# The square 0-1-2-3-0 with the diagonal 0-2 and the tail 3-4 in layer a; the edge 1-4 in layer b.
TAIL = Multiplex.from_edges(
    [0, 1, 2, 0, 0, 3, 1], [1, 2, 3, 3, 2, 4, 4], [*"aaaaaab"], num_nodes=5
)  # fmt: skip
NEIGHBOURS = {0: {1, 2, 3}, 1: {0, 2}, 2: {0, 1, 3}, 3: {0, 2, 4}, 4: {3}}


def frequencies(walks, given, at):
    """How often each row comes at a place, of the walks that begin with given rows."""
    chosen = walks[(walks[:, : len(given)] == given).all(1)]
    return np.bincount(chosen[:, at], minlength=7) / len(chosen), len(chosen)


def assert_frequencies(found, count, expected):
    """Within five standard errors."""
    p = np.array([expected.get(row, 0.0) for row in range(len(found))])
    assert (np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / count)).all(), (found, p)


def test_rows_are_nodes_of_layers():
    graph = WalkGraph.of(TAIL)
    assert graph.nodes.tolist() == [0, 1, 2, 3, 4, 1, 4]
    assert graph.layer.tolist() == [0] * 5 + [1] * 2
    assert graph.degree.tolist() == [3, 2, 3, 3, 1, 1, 1]
    assert graph.rows(np.array([0, 1, 4]), 1).tolist() == [7, 5, 6]  # node 0 has no edge in b
    assert graph.rows(np.array([4, 0]), 0).tolist() == [4, 0]
    for node, near in NEIGHBOURS.items():
        for other in range(5):
            assert graph.linked(np.array([node]), np.array([other]))[0] == (other in near)


def test_directions_and_self_loops_are_ignored():
    directed = Multiplex.from_edges([1, 2, 2], [0, 1, 2], "a", num_nodes=3, directed=True)
    graph = WalkGraph.of(directed)
    assert graph.degree.tolist() == [1, 2, 1]


def test_an_empty_layer_has_no_rows():
    mx = Multiplex.from_edges([0], [1], ["b"], num_nodes=3, layer_names=["a", "b", "c"])
    graph = WalkGraph.of(mx)
    for layer, rows in enumerate([[2, 2, 2], [0, 1, 2], [2, 2, 2]]):
        assert graph.rows(np.arange(3), layer).tolist() == rows


def test_steps_of_walk_are_uniform():
    graph = WalkGraph.of(TAIL)
    walks = walk(graph, np.repeat(np.arange(7), 6_000), 3, np.random.default_rng(0))
    assert walks.shape == (42_000, 3)
    for row in range(5):
        for at in (1, 2):
            given = [row] if at == 1 else [3, row]
            if at == 1 or row in NEIGHBOURS[3]:
                assert_frequencies(
                    *frequencies(walks, given, at), dict.fromkeys(NEIGHBOURS[row], 1 / len(NEIGHBOURS[row]))
                )
    assert (walks[walks[:, 0] == 5] == [5, 6, 5]).all()  # stays in its layer


def test_steps_of_second_order_have_the_weights_of_node2vec():
    """After 0, 3: back to 0 has 1/p = 4, node 2 (a neighbour of 0) has 1, and node 4 has 1/q = .5."""
    graph = WalkGraph.of(TAIL)
    walks = walk(graph, np.repeat(np.arange(7), 9_000), 4, np.random.default_rng(0), p=0.25, q=2.0)
    found, count = frequencies(walks, [0, 3], 2)
    assert_frequencies(found, count, {0: 4 / 5.5, 2: 1 / 5.5, 4: 0.5 / 5.5})
    # after 4, 3: back has 4; 0 and 2 are no neighbours of 4
    assert_frequencies(*frequencies(walks, [4, 3], 2), {4: 4 / 5, 0: 0.5 / 5, 2: 0.5 / 5})
    # the third step knows only the two nodes before it
    assert_frequencies(*frequencies(walks, [2, 0, 3], 3), {0: 4 / 5.5, 2: 1 / 5.5, 4: 0.5 / 5.5})


def test_negatives_are_drawn_by_degree_in_their_layer():
    graph = WalkGraph.of(TAIL)
    drawn = Noise(graph).draw(np.array([0, 1]), 60_000, np.random.default_rng(0))
    weight = np.array([3, 2, 3, 3, 1]) ** 0.75
    found = np.bincount(drawn[0], minlength=7) / 60_000
    assert_frequencies(found, 60_000, dict(enumerate(weight / weight.sum())))
    assert_frequencies(np.bincount(drawn[1], minlength=7) / 60_000, 60_000, {5: 0.5, 6: 0.5})


def slow_loss(centre, context, negative, window, num_negatives):
    """Go through the pairs of a walk one by one; a pair counts with the probability that word2vec takes it."""

    def log_sigmoid(a, b):
        return -math.log1p(math.exp(-sum(x * y for x, y in zip(a, b, strict=True))))

    loss = 0.0
    for i, v in enumerate(centre):
        for width in range(1, window + 1):
            for j in range(max(0, i - width), min(len(centre), i + width + 1)):
                if j == i:
                    continue
                noise = sum(log_sigmoid(v, [-x for x in n]) for n in negative) / len(negative)
                loss -= (log_sigmoid(v, context[j]) + num_negatives * noise) / window
    return loss


def test_gradients_are_those_of_the_plain_loss():
    """Against differences of the loop over pairs, for two groups of two walks of length 4."""
    rng = np.random.default_rng(0)
    centre, context, negative = rng.normal(size=(2, 8, 3)), rng.normal(size=(2, 8, 3)), rng.normal(size=(2, 5, 3))
    plan = Walks(WalkGraph.of(TAIL), walk, 4, 1)
    weight = torch.kron(torch.eye(2), plan.weights(2)[:4, :4]).double()
    found = gradients(*map(torch.from_numpy, (centre, context, negative)), weight, 3)

    def loss():
        return sum(
            slow_loss(centre[b, part], context[b, part], negative[b], 2, 3)
            for b in range(2)
            for part in (slice(0, 4), slice(4, 8))
        )

    for array, gradient in zip((centre, context, negative), found, strict=True):
        for at in ((0, 0, 0), (0, 3, 2), (1, 4, 1), (1, 2, 0)):
            before = array[at]
            array[at] = before + 1e-5
            above = loss()
            array[at] = before - 1e-5
            below = loss()
            array[at] = before
            assert abs((above - below) / 2e-5 - gradient[at].item()) < 1e-6


def test_a_step_of_adagrad_by_hand():
    """Gradients 3 and 1 of row 0 add to (4, 0): mean square 8, step 4 / sqrt(8). Then (0, 4): mean square 16."""
    table = Table(torch.zeros(2, 2))
    table.step(torch.tensor([0, 0]), torch.tensor([[3.0, 0.0], [1.0, 0.0]]), 0.5)
    np.testing.assert_allclose(table.values, [[-0.5 * 4 / 8**0.5, 0], [0, 0]], rtol=1e-6)
    table.step(torch.tensor([0]), torch.tensor([[0.0, 4.0]]), 1.0)
    np.testing.assert_allclose(table.values, [[-0.5 * 4 / 8**0.5, -1], [0, 0]], rtol=1e-6)


def test_groups_stay_in_their_layer_and_every_start_comes():
    graph = WalkGraph.of(TAIL)
    plan = Walks(graph, walk, 20, 1)  # two walks in a group
    order = plan.order(np.random.default_rng(0))
    assert order.shape == (4, 2)  # three groups of five starts, one of two
    assert (graph.layer[order[:, 0]] == graph.layer[order[:, 1]]).all()
    assert set(order.ravel()) == set(range(7))


def test_batches_stop_at_the_time_limit_and_the_rate_falls():
    graph = WalkGraph.of(TAIL)
    plan = Walks(graph, partial(walk, graph), 20, 3)
    options = {"num_negatives": 1, "rng": np.random.default_rng(0)}
    found = list(batches(plan, rate=0.5, **options))
    assert len(found) == 3 * 4  # one group a step
    np.testing.assert_allclose([rate for _, _, rate in found], 0.5 * (1 - np.arange(12) / 12))
    assert not list(batches(plan, rate=0.5, time_limit=0.0, **options))


def test_vectors_of_two_cliques_are_apart():
    """Two cliques of six nodes with one edge between them: all vectors of a clique are nearer to each other."""
    edges = [(u, v) for part in (range(6), range(6, 12)) for u in part for v in part if u < v] + [(0, 6)]
    graph = WalkGraph.of(Multiplex.from_edges(*np.array(edges).T, "a", num_nodes=12))
    rng, cpu = np.random.default_rng(0), torch.device("cpu")
    centres, contexts = random_table(12, 8, rng, cpu), Table(torch.zeros(12, 8))
    plan = Walks(graph, partial(walk, graph), 10, 40)
    steps = batches(plan, num_negatives=5, rate=0.1, rng=rng)
    train(steps, plan.weights(3), 5, contexts, lambda rows: [(centres, rows)])
    unit = torch.nn.functional.normalize(centres.values)
    cosine = (unit @ unit.T).numpy()
    same = np.equal.outer(np.arange(12) < 6, np.arange(12) < 6)
    inner = same & ~np.eye(12, dtype=bool)
    assert cosine[inner].min() > cosine[~same].max()
