"""Columns of baselines against those that scipy computes (`features.py`, which has tests against slow loops)."""

import numpy as np
import pytest

from banditplex.baselines.columns import StructuralColumns
from banditplex.nn.pair_features import num_features
from banditplex.pairs.visibility import Visibility
from tests.baselines.features import StructuralFeatures
from tests.baselines.test_features import EVERY_PAIR, NODES, random_multiplex

SHARED = {"common": np.log1p, "adamic": np.log1p, "allocation": np.sqrt, "low degree": np.log1p}
SHARED |= {"high degree": np.log1p, "jaccard": np.positive}
DIRECTED = {"reverse": np.positive, "directed paths": np.log1p, "out-degree": np.log1p, "in-degree": np.log1p}
hides = pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])


def both(seed, directed, hide):
    mx, visibility = random_multiplex(seed, directed=directed), Visibility(hide, directed)
    return StructuralColumns(mx, visibility), StructuralFeatures(mx, visibility)


def assert_close(found, expected, name=""):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=name)


@hides
@directions
def test_single_columns(directed, hide):
    """In the target layer and in the union, of every ordered pair: edges and others."""
    columns, features = both(1, directed, hide)
    own, union = (columns.neighbourhood(EVERY_PAIR, 1, union=union) for union in (False, True))
    for name in SHARED:
        assert_close(own[name], features.own(EVERY_PAIR, 1)[name], name)
        assert_close(union[name], features.merged(EVERY_PAIR, 1)[name], name)
    assert columns.num_others(EVERY_PAIR, 1).tolist() == features.overlap(EVERY_PAIR, 1)["overlap"].tolist()
    for union in (False, True):
        found, expected = columns.linked(EVERY_PAIR, 1, union=union), features.linked(EVERY_PAIR, 1, union=union)
        assert found.known.tolist() == expected.known.tolist()
        assert found.hidden.tolist() == expected.hidden.tolist()


@hides
@directions
def test_columns_of_models(directed, hide):
    """What a model sees of the target layer, of its paths, of the union, and of similar layers."""
    columns, features = both(2, directed, hide)
    pooled = columns.pooled(EVERY_PAIR, 1)
    own, similar = features.own(EVERY_PAIR, 1), features.overlap(EVERY_PAIR, 1)
    places = [0, 1, 2, 3, 4, 5, *range(7, 11)]  # number 6 is the product of the two degrees' logarithms
    for place, (name, scale) in zip(places, (SHARED | DIRECTED).items() if directed else SHARED.items(), strict=False):
        assert_close(pooled[:, place], scale(own[name]), name)
    assert_close(pooled[:, 6], np.log1p(own["low degree"]) * np.log1p(own["high degree"]))
    start = num_features(columns.visibility)[0]
    assert_close(pooled[:, start], np.log1p(own["paths"]))
    assert_close(pooled[:, start + 1], np.log1p(own["weighted paths"]))
    merged = features.merged(EVERY_PAIR, 1)
    for place, name in enumerate(("common", "adamic", "allocation")):
        assert_close(pooled[:, start + 3 + place], SHARED[name](merged[name]), name)
    assert_close(pooled[:, -1 - directed], similar["weighted overlap"])
    if directed:
        assert_close(pooled[:, -1], similar["weighted reverse overlap"])


@hides
@directions
def test_columns_of_other_layers(directed, hide):
    columns, features = both(3, directed, hide)
    pooled, every = columns.pooled(EVERY_PAIR, 1), columns.every(EVERY_PAIR, 1)
    np.testing.assert_array_equal(every[:, : pooled.shape[1]], pooled)
    width = num_features(columns.visibility)[1]
    for place, other in enumerate((0, 2)):
        part, expected = every[:, pooled.shape[1] + place * width :][:, :width], features.other(EVERY_PAIR, 1, other)
        for column, (name, scale) in enumerate(SHARED.items()):
            assert_close(part[:, column], scale(expected[name]), name)
        assert part[:, -4].tolist() == expected["edge"].tolist()
        assert_close(part[:, -3], np.log1p(expected["cross"]))
        assert_close(part[:, -1], np.sqrt(expected["weighted cross"]))


@hides
@directions
def test_without_some_edges(directed, hide):
    """The same as the columns of the multiplex from which they are removed."""
    mx, visibility = random_multiplex(2, directed=directed), Visibility(hide, directed)
    gone = mx.edges(1)[:, ::3].T
    keys = visibility.keys(np.ones(len(gone), np.int64), gone, NODES)
    keep = ~np.isin(visibility.keys(mx.edge_layer, mx.edge_index.T, NODES), keys)
    full, less = StructuralColumns(mx, visibility), StructuralColumns(mx.keep_edges(keep), visibility)
    full.every(EVERY_PAIR, 1)  # what it caches must not be used
    np.testing.assert_array_equal(full.without(gone, 1).every(EVERY_PAIR, 1), less.every(EVERY_PAIR, 1))


def test_many_layers_have_no_columns_of_their_own(monkeypatch):
    columns = both(1, False, "layer")[0]
    monkeypatch.setattr("banditplex.baselines.columns.MAX_OTHERS", 2)
    np.testing.assert_array_equal(columns.every(EVERY_PAIR, 1), columns.pooled(EVERY_PAIR, 1))
