"""The pass over all edges, against plain loops and on layers whose relations are known."""

import math

import numpy as np
import pytest
import torch

from banditplex.datasets.groups import groups
from banditplex.nn import PackedGraph
from banditplex.nn.spectral import Spectral
from banditplex.training.screening import _Sample, closeness, overlap, promising_layers
from tests.nn.test_graph import random_multiplex


@pytest.mark.parametrize("directed", [False, True])
def test_scores_are_those_of_plain_loops(directed):
    mx = random_multiplex(1, num_nodes=30, num_layers=4, num_edges=300, directed=directed)
    graph = PackedGraph.from_multiplex(mx)
    spectral, edges = Spectral.of(graph, whole=True), _Sample.of(graph)
    target, known = 2, {tuple(pair) for pair in mx.edges(2).T.tolist() if pair[0] != pair[1]}
    low, high = graph.layer_rows[target : target + 2].tolist()
    position = np.zeros((30, spectral.vectors.shape[2]))
    position[(graph.both.row_key[low:high] % 30).numpy()] = spectral.vectors[0, low:high].numpy()
    value = spectral.values[0, target].numpy()
    near, shared = closeness(graph, spectral, target, edges).tolist(), overlap(graph, target, edges).tolist()
    for layer in range(4):
        pairs = [pair for pair in mx.edges(layer).T.tolist() if pair[0] != pair[1]]
        products = np.array([(position[u] * position[v] * value).sum() for u, v in pairs])
        ends = np.mean([(position[u] + position[v]) / 2 for u, v in pairs], axis=0)
        error = math.sqrt(products.var() / len(pairs))
        assert near[layer] == pytest.approx((products.mean() - (ends**2 * value).sum()) / error, rel=1e-4)
        both = sum(tuple(pair) in known for pair in pairs)
        mirrored = 1 if directed else 2  # a pair of an undirected layer counts in both directions
        expected = len(pairs) * mirrored * len(known) / 30**2
        assert shared[layer] == pytest.approx((both - expected) / math.sqrt(expected + 1), rel=1e-6)


def test_layers_of_the_same_group_are_promising():
    mx = groups(40, 4, num_nodes=200, edges_per_layer=400, seed=3)
    targets = np.array([0, 7, 39])
    found = promising_layers(PackedGraph.from_multiplex(mx), targets, 8)
    for target, layers in zip(targets.tolist(), found.tolist(), strict=True):
        group = set(range(target // 4 * 4, target // 4 * 4 + 4)) - {target}
        assert group <= set(layers)
        assert target not in layers


def test_no_more_layers_than_there_are():
    mx = random_multiplex(1, num_layers=4)
    found = promising_layers(PackedGraph.from_multiplex(mx), np.array([1]), 64)
    assert sorted(found[0].tolist()) == [0, 2, 3]


def test_large_layers_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr("banditplex.training.screening.MAX_SEEN", 50)
    mx = groups(2, 2, num_nodes=200, edges_per_layer=1_000)
    sample = _Sample.of(PackedGraph.from_multiplex(mx))
    assert ((sample.count >= 25) & (sample.count <= 75)).all()  # of 1,000 edges, every 20th arc of both directions
    edges = {(layer, *pair) for layer in range(2) for pair in mx.edges(f"g0-{layer}").T.tolist()}
    drawn = torch.stack([sample.layer, sample.source, sample.destination], 1).tolist()
    assert {tuple(each) for each in drawn} <= edges
    assert len({tuple(each) for each in drawn}) == len(drawn)


def test_means_over_layers_of_one_and_two_edges():
    layer = torch.tensor([0, 1, 1])
    sample = _Sample(torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2]), layer, 3, 4)
    assert sample.mean(torch.tensor([3.0, 1.0, 5.0])).tolist() == [3.0, 3.0, 0.0]
    assert (sample.ends @ torch.eye(4)).tolist() == [[0.5, 0.5, 0, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 0]]
