"""Weights of edges in structural features: sums over common neighbours as a plain loop has them, and no leak."""

import math

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.multiplex import Multiplex
from banditplex.nn import PackedGraph, compute_pair_features
from banditplex.pairs.visibility import Visibility
from tests.nn.test_graph import random_multiplex


def loop(mx, layer, u, v):
    """Return the two columns of a pair in an undirected layer."""
    (source, destination), weight = mx.edges(layer), mx.weights(layer)
    mean = weight[source != destination].mean()
    near = [{}, {}]
    degree = {}
    for a, b, value in zip(source.tolist(), destination.tolist(), weight.tolist(), strict=True):
        if a == b:
            continue
        for x, y in ((a, b), (b, a)):
            degree[x] = degree.get(x, 0) + 1
            for ends, node in zip(near, (u, v), strict=True):
                if x == node:
                    ends[y] = value / mean
    both = [(math.sqrt(near[0][w] * near[1][w]), degree[w]) for w in near[0] if w in near[1]]
    return [math.log1p(sum(x for x, _ in both)), math.log1p(sum(x / math.log(max(d, 2)) for x, d in both))]


def test_weighted_columns_are_those_of_a_plain_loop():
    mx = random_multiplex(0, num_nodes=12, num_edges=90, weighted=True)
    visibility = Visibility("layer", weighted=True)
    pairs = np.stack(np.triu_indices(12, 1), 1)
    target, layers = torch.zeros(len(pairs), dtype=torch.long), torch.tensor([[1, 2]]).expand(len(pairs), -1)
    graph = PackedGraph.from_multiplex(mx)
    own, other = compute_pair_features(graph, torch.from_numpy(pairs), target, layers, visibility)
    plain = compute_pair_features(graph, torch.from_numpy(pairs), target, layers, Visibility("layer"))
    assert torch.equal(own.values[:, :7], plain[0].values)
    torch.testing.assert_close(other.values[:, [*range(7), *range(9, 13)]], plain[1].values)
    expected = [loop(mx, 0, *pair) for pair in pairs.tolist()]
    assert own.values[:, 7:].tolist() == [pytest.approx(each, rel=1e-5) for each in expected]
    expected = [loop(mx, layer, *pair) for pair in pairs.tolist() for layer in (1, 2)]
    assert other.values[:, 7:9].tolist() == [pytest.approx(each, rel=1e-5) for each in expected]
    assert max(max(each) for each in expected) > 1


def test_without_weights_every_edge_counts_one():
    mx = random_multiplex(0, num_nodes=12, num_edges=90)
    pairs, target = torch.tensor([[0, 1], [2, 5]]), torch.zeros(2, dtype=torch.long)
    own = compute_pair_features(
        PackedGraph.from_multiplex(mx), pairs, target, target[:, None][:, :0], Visibility(weighted=True)
    )[0].values
    assert own[:, 7].tolist() == pytest.approx(own[:, 0].tolist())


def strong_triangles(seed):
    """Return a layer in which nodes of a community are linked by strong edges, and others by weak ones."""
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(60, 1), 1)
    same = pairs[:, 0] % 4 == pairs[:, 1] % 4
    edges = pairs[rng.random(len(pairs)) < 0.2]
    weight = np.where(edges[:, 0] % 4 == edges[:, 1] % 4, 10.0, 0.1)
    assert 0.2 < same.mean() < 0.3
    return Multiplex.from_edges(*edges.T, ["a"] * len(edges), num_nodes=60, weight=weight)


def test_a_model_is_saved_with_its_weights_and_scores_do_not_see_the_edge_of_a_pair(tmp_path):
    mx = strong_triangles(0)
    model = bx.LinkPredictor(weighted=True, epochs=3, members=1, hide="layer", evidence="drawn").fit(mx)
    model.save(tmp_path / "model")
    edge = mx.edges("a").T[:5]
    assert bx.LinkPredictor.load(tmp_path / "model").score_pairs(edge, "a") == pytest.approx(
        model.score_pairs(edge, "a"), abs=1e-6
    )
    less = mx.keep_edges(np.arange(mx.num_edges) != 0)
    changed = model.score_pairs(edge[:1], "a", context=less) - model.score_pairs(edge[:1], "a")
    # without its edge, the mean weight of the layer differs, by less than 1 / 300 of the largest weight over the mean
    assert abs(float(changed[0])) < 0.02
