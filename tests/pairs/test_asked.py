"""Pairs that a user asks about: names, and what is refused."""

import numpy as np
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


@pytest.mark.parametrize(
    ("mx", "pairs", "values"),
    [
        (NAMED, [["ann", "bob"], ["cid", "cid"]], ["different", "['cid', 'cid']"]),
        (NUMBERED, [[30, 30]], ["different", "[30, 30]"]),
        (NAMED, [[0, 2]], ["names", "'ann'", "got 0", "node_names"]),
        (NAMED, np.array([[2, 1]]), ["names", "'ann'", "got 2", "node_names"]),
        (NAMED, ["ann", "bob"], ["(n, 2)", "(2,)"]),
        (NAMED, np.zeros((2, 3), np.int64), ["(n, 2)", "(2, 3)"]),
    ],
)
def test_what_is_no_pair_is_refused(mx, pairs, values):
    with refuses(*values):
        as_pairs(mx, pairs)
