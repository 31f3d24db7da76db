"""Functions inside `banditplex.experiments`, each by an example."""

import numpy as np

from banditplex.experiments.paper.reproduce import check_datasets, favourites
from tests.shown import shown


def test_favourites():
    found = shown(favourites(np.array([[0.0, 0.7, 0.3], [0.9, 0.0, 0.1]]), np.random.default_rng(0)))
    expected = "array([1, 0])"
    assert found == expected


def test_check_datasets():
    assert check_datasets(["euair", "ckm"]) == ("ckm", "euair")
