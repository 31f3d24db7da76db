"""Functions inside `banditplex.nn`, each by an example."""

import numpy as np
import torch

from banditplex.nn.encoder import column_scales
from banditplex.nn.graph import HiddenEdges
from banditplex.nn.neighbour_sampling import choose
from banditplex.nn.pair_features import num_features
from banditplex.nn.panels import Panels
from banditplex.nn.spectral import fold_of
from banditplex.pairs.visibility import Visibility
from tests.shown import shown


def test_column_scales():
    found = " ".join(
        repr(column_scales(torch.tensor([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1], [7.0, 0.1]]))[1] ** -2).split()
    )
    expected = "tensor([5., inf], dtype=torch.float64)"
    assert found == expected


def test_hidden_edges_of():
    found = shown(HiddenEdges.of(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[5, 6], [5, 7]])).layer)
    expected = "tensor([5, 6, 5, 7])"
    assert found == expected


def test_choose():
    assert choose(torch.tensor([3, 3]), 3, torch.Generator()).sort(1).values.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_num_features():
    assert (num_features(Visibility()), num_features(Visibility(weighted=True))) == ((7, 11), (9, 13))


def test_panels_first():
    found = shown(Panels({4: (7, 2), 5: ()}).first(np.array([[1, 2, 3, 7], [1, 2, 3, 7]]), 3))
    expected = "(array([[2, 7, 1], [1, 2, 3]]), array([2, 3]))"
    assert found == expected


def test_panels_pools():
    assert Panels({4: (7, 2), 2: (), 7: (4, 2)}).pools() == ([(2, 4, 7), (2,)], {4: 0, 2: 1, 7: 0})


def test_panels_rows():
    found = Panels({4: (7, 2), 2: (), 7: (4, 2)}).rows()[:2]
    expected = [(4, 7, 0.3333333333333333), (4, 2, 0.3333333333333333)]
    assert found == expected


def test_fold_of():
    assert shown(fold_of(torch.tensor([[3, 8], [8, 3], [3, 9]]), 10)) == "tensor([1, 1, 0])"
