"""Functions inside `banditplex.baselines`, each by an example."""

import numpy as np
import torch

from banditplex.baselines.columns import StructuralColumns
from banditplex.baselines.seal import FAR, drnl, neural_sort, sort_pool
from banditplex.baselines.skipgram import WalkGraph, walk, window_weights
from banditplex.multiplex import Multiplex
from banditplex.pairs.visibility import Visibility
from tests.shown import shown


def test_structural_columns():
    mx = Multiplex.from_edges([0, 0, 1, 0], [1, 2, 2, 1], ["a", "a", "a", "b"], num_nodes=3)
    columns = StructuralColumns(mx, Visibility("layer"))
    found = columns.neighbourhood(np.array([[0, 1]]), 0)  # without its own edge
    found = shown((found["common"], found["low degree"], columns.num_others(np.array([[0, 1]]), 0)))
    expected = "(array([1.]), array([1.]), array([1.]))"
    assert found == expected


def test_drnl():
    assert drnl(torch.tensor([[0, 3], [1, 1], [1, 2], [2, 2], [1, FAR]])).tolist() == [1, 2, 3, 5, 0]


def test_neural_sort():
    found = neural_sort(torch.tensor([1.0, 3.0, 2.0]), 0.01).round().int().tolist()
    expected = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert found == expected


def test_sort_pool():
    found = sort_pool(torch.tensor([[1.0], [3.0], [2.0], [5.0]]), torch.tensor([0, 0, 0, 1]), 2, 2).squeeze(2).tolist()
    expected = [[3.0, 2.0], [5.0, 0.0]]
    assert found == expected


def test_walk_graph():
    graph = WalkGraph.of(Multiplex.from_edges([0, 1, 0], [1, 2, 1], ["a", "a", "b"], num_nodes=3))
    assert (graph.nodes.tolist(), graph.layer.tolist()) == ([0, 1, 2, 0, 1], [0, 0, 0, 1, 1])
    assert walk(graph, np.array([3]), 4, np.random.default_rng(0)).tolist() == [[3, 4, 3, 4]]


def test_window_weights():
    found = shown(window_weights(3, 2))
    expected = "tensor([[0.0000, 1.0000, 0.5000], [1.0000, 0.0000, 1.0000], [0.5000, 1.0000, 0.0000]])"
    assert found == expected
