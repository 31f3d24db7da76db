"""`Split.check` finds every kind of leak: a valid split is broken in each way and must be refused."""

from dataclasses import replace

import numpy as np
import pytest

from banditplex.evaluation import Split
from banditplex.multiplex import Multiplex
from tests.refusals import refuses


def build(hide, directed):
    """Return a full multiplex of 8 nodes and a valid split of it.

    Layer a: 0-1, 1-2, 2-3, 3-4; layer b: 0-1, 5-6. Held out: 3-4 of a. The layers share 0-1.
    """
    full = Multiplex.from_edges(
        [0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 1, 6], list("aaaabb"), num_nodes=8, directed=directed
    )  # fmt: skip
    train = Multiplex.from_edges([0, 1, 2, 0, 5], [1, 2, 3, 1, 6], list("aaabb"), num_nodes=8, directed=directed)
    data = Split(
        train, hide, np.array([0, 0, 0]), np.array([[3, 4], [4, 7], [0, 7]]), np.array([1, 0, 0]),
        np.array([[[2, 7], [3, 7]]]),
    )  # fmt: skip
    return full, data


CASES = pytest.mark.parametrize(("hide", "directed"), [(h, d) for h in ("layer", "pair") for d in (False, True)])


def with_pair(data, index, pair):
    pairs = data.pairs.copy()
    pairs[index] = pair
    return replace(data, pairs=pairs)


def with_own(data, *pairs):
    return replace(data, negatives=np.array([pairs]))


def refused(data, *values, full=None):
    with refuses(*values):
        data.check(full=full)


@CASES
def test_a_valid_split_passes(hide, directed):
    full, data = build(hide, directed)
    data.check()
    data.check(full=full)
    replace(data, negatives=None).check(full=full)


@CASES
@pytest.mark.parametrize("whole", [False, True])
def test_a_pair_that_is_visible_is_found(hide, directed, whole):
    full, data = build(hide, directed)
    given = full if whole else None
    for pair in ([2, 3], [3, 2]):
        for index in (0, 1):
            refused(with_pair(data, index, pair), tuple(pair), "training", "layer 'a'", full=given)
    elsewhere = with_pair(data, 1, [6, 5])  # an edge of layer b alone
    if hide == "pair":
        refused(elsewhere, (6, 5), "training", "layer 'b'", full=given)
    else:
        elsewhere.check(full=given)


@CASES
def test_the_reverse_of_a_held_out_arc_is_found_in_training(hide, directed):
    _, data = build(hide, directed)
    leaking = Multiplex.from_edges(
        [0, 1, 2, 4], [1, 2, 3, 3], "a", layer_names=["a", "b"], num_nodes=8, directed=directed
    )
    refused(replace(data, train=leaking), (3, 4), "training", "layer 'a'")


@CASES
def test_a_held_out_pair_that_is_visible_in_another_layer_is_found_where_pairs_are_hidden(hide, directed):
    _, data = build(hide, directed)
    train = Multiplex.from_edges([0, 4], [1, 3], ["a", "b"], num_nodes=8, directed=directed)
    leaking = replace(data, train=train)
    if hide == "pair":
        refused(leaking, (3, 4), "training", "layer 'b'")
    else:
        leaking.check()


@CASES
def test_negatives_that_are_edges_of_the_full_graph_are_found(hide, directed):
    full, data = build(hide, directed)
    for pair in ([3, 4], [4, 3]):
        problem = "twice" if not directed or pair == [3, 4] else "label 0"
        refused(with_pair(data, 1, pair), tuple(pair), problem, "layer 'a'")
    more = Multiplex.from_edges(
        [*full.edge_index[0], 7], [*full.edge_index[1], 4], [*"aaaabb", "a"], num_nodes=8, directed=directed
    )  # fmt: skip
    data.check()
    refused(data, (4, 7), "label 0", "layer 'a'", full=more)
    other = Multiplex.from_edges(
        [*full.edge_index[0], 7], [*full.edge_index[1], 4], [*"aaaabb", "b"], num_nodes=8, directed=directed
    )  # fmt: skip
    if hide == "pair":
        refused(data, (4, 7), "label 0", "layer 'b'", full=other)
    else:
        data.check(full=other)


@CASES
def test_pairs_that_come_twice_and_self_pairs_are_found(hide, directed):
    full, data = build(hide, directed)
    refused(with_pair(data, 2, [4, 7]), (4, 7), "twice", "layer 'a'", full=full)
    refused(with_pair(data, 1, [4, 4]), (4, 4), "self pair", "layer 'a'", full=full)
    again = with_pair(data, 2, [7, 4])
    if directed:
        again.check(full=full)  # two arcs
    else:
        refused(again, (7, 4), "twice", "layer 'a'")


@CASES
def test_edges_that_the_full_graph_does_not_have_are_found(hide, directed):
    full, data = build(hide, directed)
    refused(with_pair(data, 0, [3, 6]), (3, 6), "label 1", "layer 'a'", full=full)
    invented = Multiplex.from_edges([0, 5], [1, 7], ["a", "b"], num_nodes=8, directed=directed)
    refused(replace(data, train=invented), "training edge", (5, 7), "'b'", full=full)
    if directed:
        refused(with_pair(data, 0, [4, 3]), (4, 3), "label 1", "layer 'a'", full=full)
    renamed = Multiplex.from_edges([0, 5], [1, 7], ["a", "c"], num_nodes=8, directed=directed)
    refused(data, "nodes or layers", full=renamed)
    refused(data, "nodes or layers", full=build(hide, not directed)[0])


@CASES
def test_negatives_of_positives_are_held_to_the_same_rules(hide, directed):
    full, data = build(hide, directed)
    for given in (None, full):
        edge = "any layer" if hide == "pair" else "their layer"
        for pair in ([2, 3], [3, 2], [3, 4], [4, 3]):  # training edges and held-out ones, either way
            refused(with_own(data, [2, 7], pair), edge, tuple(pair), "positive 0", "layer 'a'", full=given)
        refused(with_own(data, [2, 7], [3, 3]), "different nodes", (3, 3), "positive 0", full=given)
        refused(with_own(data, [2, 7], [7, 2]), "repetition", (7, 2), "positive 0", full=given)
        other = with_own(data, [2, 7], [6, 5])
        if hide == "pair":
            refused(other, "any layer", (6, 5), "positive 0", full=given)
        else:
            other.check(full=given)
        refused(with_own(data, [2, 7], [3, 8]), "negatives", "0 to 7", 8, full=given)
        refused(replace(data, negatives=np.zeros((2, 1, 2), int)), "negatives", (2, 1, 2), full=given)


@CASES
def test_arrays_that_do_not_fit_are_found(hide, directed):
    _, data = build(hide, directed)
    refused(replace(data, layer=data.layer[:2]), "layer", "pairs", "label", ((2,), (3, 2), (3,)))
    refused(replace(data, layer=np.array([0, 0, 2])), "layer", "0 to 1", 2)
    refused(with_pair(data, 0, [-1, 3]), "node", "0 to 7", -1)
    refused(replace(data, label=np.array([1, 0, 2])), "label", "0 to 1", 2)
    refused(replace(data, hide="node"), "hide", "'node'")


def test_a_violation_is_found_beyond_the_first_block(monkeypatch):
    monkeypatch.setattr("banditplex.pairs.negatives.NEGATIVES_AT_ONCE", 4)
    full = Multiplex.from_edges(range(10), range(1, 11), "a", num_nodes=20)
    positives = full.edges("a").T[4:]
    train = Multiplex.from_edges(range(4), range(1, 5), "a", num_nodes=20)
    own = np.stack([np.stack([positives[:, 0], np.full(6, 12 + i)], 1) for i in range(3)], 1)
    data = Split(train, "layer", np.zeros(6, int), positives, np.ones(6, int), own)
    data.check(full=full)
    own[4, 1] = [9, 8]
    refused(data, "edge", (9, 8), "positive 4", "layer 'a'")
