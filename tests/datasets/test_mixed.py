"""`mixed` is fixed by its seed, and its layers are what the docstring says."""

import networkx as nx
import numpy as np
import pytest

from banditplex.datasets import check_dataset, load_dataset, mixed


def edge_sets(mx):
    return {layer: set(map(tuple, mx.edges(layer).T.tolist())) for layer in mx.layer_names}


def graph(mx, layer):
    return nx.Graph(mx.edges(layer).T.tolist())


def test_the_declaration_holds():
    mx = check_dataset("mixed")
    assert mx.layer_sizes.tolist() == [600] * 6 + [597] * 2 + [600]
    assert load_dataset("mixed", seed=1) != mx


def test_a_seed_is_one_multiplex():
    assert mixed(3) == mixed(3)
    assert mixed(3) != mixed(4)


@pytest.mark.parametrize("seed", [0, 1])
def test_kin_share_edges_and_others_few(seed):
    mx = mixed(seed)
    edges = edge_sets(mx)
    for layer, relevant in mx.metadata["relevant"].items():
        for other in set(mx.layer_names) - {layer}:
            shared = len(edges[layer] & edges[other])
            assert shared > 250 if other in relevant else shared < 40  # by chance 600 * 600 / 44850 = 8
    assert len(edges["communities"] & edges["communities-kin"]) == 300
    assert len(edges["hubs"] & edges["hubs-kin"]) == 298


def test_mechanisms_differ():
    mx = mixed()
    degree = {layer: np.array([count for _, count in graph(mx, layer).degree]) for layer in mx.layer_names}
    assert degree["hubs"].min() >= 1
    assert degree["hubs"].max() > 2 * max(degree[layer].max() for layer in ("communities", "plane", "noise"))
    clustering = {layer: nx.average_clustering(graph(mx, layer)) for layer in mx.layer_names}
    assert clustering["plane"] > clustering["communities"] > 3 * clustering["noise"]
