"""Options of policies by layer names; layers a to d have 1, 2, 3 and 0 edges."""

import numpy as np
import pytest

import banditplex as bx
from banditplex.training.targets import resolve_layer_options
from tests.refusals import refuses

MX = bx.Multiplex.from_edges(
    [0, 0, 0, 0, 0, 0], [1, 1, 2, 1, 2, 3], list("abbccc"), num_nodes=4, layer_names=list("abcd")
)


def resolve(targets, policy, options):
    return resolve_layer_options(MX, np.array(targets), policy, options)


def test_arms_leave_the_target_out():
    """For target b (1) the arms 0, 1, 2 are a, c, d; for c (2) they are a, b, d."""
    assert resolve([1, 2], "fixed", {"layers": ["d", "a"]}) == {"arms": [[2, 0], [2, 0]]}
    assert resolve([1, 2], "fixed", {"layers": ["b", "c"]}) == {"arms": [[1], [1]]}


def test_prices_by_name_and_by_edges():
    assert resolve([0, 2], "cost-aware", {"prices": {"c": 7, "b": 0.5}}) == {"prices": [[0.5, 7, 1], [1, 0.5, 1]]}
    assert resolve([0, 2], "cost-aware", {}) == {"prices": [[2, 3, 1], [1, 2, 1]]}


def test_what_is_in_arms_already_stays():
    for policy, options in (("fixed", {"arms": [0]}), ("cost-aware", {"prices": [1, 2, 3]}), ("exp3", {"rate": 1})):
        assert resolve([0], policy, options) == options


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({}, ["layers", "'fixed'", "none"]),
        ({"layers": "ab"}, ["layers", "'ab'"]),
        ({"layers": ["a", "z"]}, ["layer", "'z'"]),
        ({"layers": ["b", "c"]}, ["2 for 'a'", "1 for 'b'"]),
        ({"layers": ["a"]}, ["0 for 'a'", "1 for 'b'"]),
    ],
)
def test_layers_that_cannot_be_looked_at(options, values):
    with refuses(*values):
        resolve([0, 1], "fixed", options)


def test_the_estimator_takes_names():
    ends = np.random.default_rng(0).integers(0, 20, (2, 180))
    mx = bx.Multiplex.from_edges(*ends, np.repeat(["a", "b", "c"], 60), num_nodes=20, self_loops="drop")
    options = {"policy": "fixed", "policy_options": {"layers": ["c"]}}
    model = bx.LinkPredictor(epochs=1, width=0, **options).fit(mx, ["a", "b"])
    assert model.layer_probabilities_.to_numpy().tolist() == [[0, 0, 1], [0, 0, 1]]


def test_values_of_layers_are_numbers():
    with refuses("b", "prices", "x"):
        resolve([0], "cost-aware", {"prices": {"b": "x"}})
    with refuses("layers=", 5):
        resolve([0], "fixed", {"layers": 5})
