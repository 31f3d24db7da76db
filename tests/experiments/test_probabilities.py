"""The experiment on probabilities: its table by hand, its data, and its rows on a small fit."""

import numpy as np
import pandas as pd
import pytest

from experiments.probabilities import EDGES, LAYERS, NODES, Removal, as_chances, load, report, with_errors, work


def row(missing, layer, says, true, default):
    numbers = {f"{name}_{top}": value for top in (10, 100) for name, value in
               (("says", says), ("is", true), ("default", default))}  # fmt: skip
    return {"data": "x", "missing": missing, "seed": 0, "layer": layer} | numbers


ROWS = [row(5.0, "a", 0.5, 0.4, 0.7), row(5.0, "b", 0.1, 0.4, 0.5), row(50.0, "a", 0.6, 0.8, 0.1)]


def test_errors_are_means_of_absolute_differences():
    """5 %: errors .1 and .3, of the default .3 and .1. 50 %: .2, and .7, which is not in the default's mean."""
    found = with_errors(pd.DataFrame(ROWS))
    assert found["error_100"].tolist() == pytest.approx([0.1, 0.3, 0.2])
    lines = [line.strip("| ").split(" | ") for line in report(ROWS).parts[1].splitlines()[2:]]
    assert lines[0] == ["x", "5 %", *[".400", ".300", ".200", ".600", ".200"] * 2]
    assert lines[1] == ["x", "50 %", *[".800", ".600", ".200", ".100", ".700"] * 2]
    assert lines[2] == ["mean", "", *[".533", ".400", ".200", ".600", ".200"] * 2]


@pytest.mark.parametrize("name", ["communities", "hubs", "positions"])
def test_generated_layers_have_about_the_edges_asked_for(name):
    mx = load(name, 3)
    assert (mx.num_nodes, mx.num_layers) == (NODES, LAYERS)
    assert mx.layer_sizes == pytest.approx([EDGES] * LAYERS, abs=4 * np.sqrt(EDGES))
    assert not np.array_equal(mx.edge_index[:, :50], load(name, 4).edge_index[:, :50])


def test_chances_are_proportional_up_to_1():
    found = as_chances(np.array([1.0, 2.0, 30.0]), 1.6)
    assert found == pytest.approx([0.2, 0.4, 1.0])


def test_rows_of_a_fit():
    rows = list(work(Removal("hubs", 20.0, 0, 1)))
    assert [each["layer"] for each in rows] == ["0", "1", "2"]
    for each in rows:
        assert 0 <= each["is_10"] <= 1
        assert round(100 * each["is_100"]) == pytest.approx(100 * each["is_100"])
        assert 0 < each["default_100"] < each["says_100"] <= each["says_10"] <= 0.99  # a quarter of the known, not 1/9
