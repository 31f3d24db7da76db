"""Every setting that tuning may try can be fitted, and pairs get scores."""

import inspect

import numpy as np
import pytest

from banditplex.datasets import planted
from banditplex.leaderboard.methods import find_methods
from tests.quick import every

MX = planted(num_layers=3, groups=1, similarity=0.5, num_nodes=30, edges_per_layer=60, communities=3, seed=0)
LITTLE = {"epochs": 1, "members": 1, "num_walks": 1, "walk_length": 5, "max_iter": 2}
METHODS = find_methods()


@pytest.mark.parametrize("name", every(2, [name for name, method in METHODS.items() if len(method.trials(10)) > 1]))
@pytest.mark.parametrize("number", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_every_setting_of_a_grid_can_be_fitted(name, number):
    method = METHODS[name]
    little = {key: value for key, value in LITTLE.items() if key in inspect.signature(method.make).parameters}
    pairs = MX.node_names[[[0, 1], [2, 3], [4, 5]]]
    for settings in method.trials(number)[1:]:
        scorer = method.make(**{**settings, **little}).fit(MX, targets=MX.layer_names[:1])
        assert np.isfinite(scorer.score_pairs(pairs, MX.layer_names[0])).all(), settings
