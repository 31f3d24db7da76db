"""Node features of any unit: standardised with what the model keeps of its training nodes."""

import numpy as np
import pytest
import torch

import banditplex as bx
from banditplex.nn.encoder import FeatureInput, column_scales

FAST = {"epochs": 3, "width": 8, "members": 1, "device": "cpu", "seed": 3}


def make(features, num_nodes=30):
    rng = np.random.default_rng(0)
    ends = np.array(np.triu_indices(num_nodes, 1)).T
    source, destination = ends[rng.random(len(ends)) < 0.2].T
    layer = rng.integers(0, 2, len(source))
    return bx.Multiplex.from_indices(
        source, destination, layer, node_names=np.arange(num_nodes), layer_names=["a", "b"], node_features=features
    )


def test_columns_get_mean_0_and_deviation_1_and_constant_ones_are_0():
    """By hand: 1, 3, 5, 7 have mean 4 and variance 5; 0.1 + 0.2 differs from 0.3 by rounding alone."""
    date = 1.7e9
    rows = [[1, 0.1 + 0.2, 7, 1e300, date], [3, 0.3, 7, -1e300, date + 1]]
    rows += [[5, 0.3, 7, 1e300, date], [7, 0.3, 7, -1e300, date + 1]]
    features = torch.tensor(rows, dtype=torch.float64)
    mean, factor = column_scales(features)
    np.testing.assert_allclose(mean, [4, 0.3, 7, 0, date + 0.5], rtol=1e-15, atol=1e284)
    np.testing.assert_allclose(factor, [5**-0.5, 0, 0, 1e-300, 2], rtol=1e-6)
    read = FeatureInput(5, 5)
    with torch.no_grad():
        read.mean.copy_(mean)
        read.factor.copy_(factor)
        read.weight.copy_(torch.eye(5))
        read.bias.zero_()
    found = read(features).detach()
    assert found.dtype == torch.float32
    first = np.array([-3, -1, 1, 3]) * 5**-0.5
    expected = np.stack([first, np.zeros(4), np.zeros(4), [1, -1, 1, -1], [-1, 1, -1, 1]], 1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    assert column_scales(torch.zeros(3, 1))[1].tolist() == [0]


def test_units_of_features_do_not_matter():
    """Age in years and income in euros, or in other units from another zero: the same scores."""
    rng = np.random.default_rng(1)
    features = np.stack([rng.normal(40, 10, 30), rng.normal(50_000, 20_000, 30)], 1)
    pairs = np.array(np.triu_indices(30, 1)).T
    plain = bx.LinkPredictor(**FAST).fit(make(features), targets=["a"])
    other = bx.LinkPredictor(**FAST).fit(make((features - [10, -3e6]) * [1e-3, 1e4]), targets=["a"])
    np.testing.assert_allclose(other.score_pairs(pairs, "a"), plain.score_pairs(pairs, "a"), atol=1e-4)
    shuffled = bx.LinkPredictor(**FAST).fit(make(features[::-1]), targets=["a"])
    assert np.abs(shuffled.score_pairs(pairs, "a") - plain.score_pairs(pairs, "a")).max() > 1e-3


def test_later_nodes_are_read_with_the_mean_and_scale_of_training(tmp_path):
    rng = np.random.default_rng(2)
    features = np.stack([rng.normal(40, 10, 30), np.full(30, 7.0)], 1)
    mx = make(features)
    model = bx.LinkPredictor(**FAST).fit(mx, targets=["a"])
    model.save(tmp_path / "model")
    loaded = bx.LinkPredictor.load(tmp_path / "model", device="cpu")
    pairs = np.array(np.triu_indices(30, 1)).T
    before = model.score_pairs(pairs, "a")
    for each in (model, loaded):
        kept = each._fitted.model.encoder.input
        np.testing.assert_allclose(kept.mean, features.mean(0), rtol=1e-12)
        np.testing.assert_allclose(kept.factor, [1 / features[:, 0].std(), 0], rtol=1e-12)
        constant_varies = mx.with_node_features(features + [[0, value] for value in range(30)])
        np.testing.assert_array_equal(each.score_pairs(pairs, "a", context=constant_varies), before)
    moved = model.score_pairs(pairs, "a", context=mx.with_node_features(features * [2, 1]))
    assert np.abs(moved - before).max() > 1e-4  # with the mean and scale of the context, nothing would change


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_of_both_precisions_are_taken(dtype):
    features = np.arange(60, dtype=dtype).reshape(30, 2)
    model = bx.LinkPredictor(**FAST).fit(make(features), targets=["a"])
    assert np.isfinite(model.score_pairs([[0, 1]], "a")).all()
