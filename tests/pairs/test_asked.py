"""Pairs that a user asks about: names, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from banditplex.multiplex import Multiplex
from banditplex.pairs.asked import as_pairs
from tests.refusals import refuses

NAMED = Multiplex.from_edges(["ann", "bob"], ["bob", "cid"], "a")
NUMBERED = Multiplex.from_edges([10, 20], [20, 30], "a", node_names=[10, 20, 30])


def test_names_become_indices():
    assert as_pairs(NAMED, [["ann", "cid"], ["cid", "bob"]]).tolist() == [[0, 2], [2, 1]]
    assert as_pairs(NUMBERED, [[10, 30]]).tolist() == [[0, 2]]
    assert as_pairs(NAMED, []).shape == (0, 2)


def test_columns_of_a_table_go_by_their_names():
    turned = pd.DataFrame({"target": ["ann", "cid"], "source": ["cid", "bob"]})
    assert as_pairs(NAMED, turned).tolist() == [[2, 0], [1, 2]]
    assert as_pairs(NAMED, turned.set_axis(["destination", "u"], axis=1)).tolist() == [[2, 0], [1, 2]]
    assert as_pairs(NAMED, turned.set_axis(["Tail", "head"], axis=1)).tolist() == [[2, 0], [1, 2]]
    for unsaid in (["a", "b"], ["to", "b"], [0, 1]):
        assert as_pairs(NAMED, turned.set_axis(unsaid, axis=1)).tolist() == [[0, 2], [2, 1]]


def test_whole_numbers_are_integers_and_others_are_refused():
    assert as_pairs(NUMBERED, [[10.0, 30.0]]).tolist() == [[0, 2]]
    with refuses("float64"):
        as_pairs(NUMBERED, [[10.5, 30.0]])
    with refuses("Unknown node 1000; did you mean 10?"):
        as_pairs(NUMBERED, [[1000, 10]])


@pytest.mark.parametrize(
    ("mx", "pairs", "values"),
    [
        (NAMED, [["ann", "bob"], ["cid", "cid"]], ["different", "['cid', 'cid']"]),
        (NUMBERED, [[30, 30]], ["different", "[30, 30]"]),
        (NAMED, [[0, 2]], ["names", "'ann'", "got 0", "node_names"]),
        (NAMED, np.array([[2, 1]]), ["names", "'ann'", "got 2", "node_names"]),
        (NAMED, ["ann", "bob"], ["(n, 2)", "(2,)"]),
        (
            NAMED,
            pd.DataFrame({"source": ["ann"], "target": ["bob"], "layer": ["a"]}),
            ["source, target, layer", "layer="],
        ),
        (NAMED, np.zeros((2, 3), np.int64), ["(n, 2)", "(2, 3)"]),
    ],
)
def test_what_is_no_pair_is_refused(mx, pairs, values):
    with refuses(*values):
        as_pairs(mx, pairs)
