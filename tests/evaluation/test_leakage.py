"""`Split.check` finds every kind of violation: a sound split is broken in each way, and must be refused."""

from dataclasses import replace

import numpy as np
import pytest

from banditplex.errors import InputError
from banditplex.evaluation import Split
from banditplex.multiplex import Multiplex


def build(hide, directed):
    """Return a full multiplex of 8 nodes and a sound split of it.

    Layer a: 0-1, 1-2, 2-3, 3-4; layer b: 0-1, 5-6. Held out: 3-4 of a. The layers share 0-1.
    """
    full = Multiplex.from_edges(
        [0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 1, 6], list("aaaabb"), num_nodes=8, directed=directed
    )  # fmt: skip
    train = Multiplex.from_edges([0, 1, 2, 0, 5], [1, 2, 3, 1, 6], list("aaabb"), num_nodes=8, directed=directed)
    parts = Split(
        train, hide, np.array([0, 0, 0]), np.array([[3, 4], [4, 7], [0, 7]]), np.array([1, 0, 0]),
        np.array([[[2, 7], [3, 7]]]),
    )  # fmt: skip
    return full, parts


CASES = pytest.mark.parametrize(("hide", "directed"), [(h, d) for h in ("layer", "pair") for d in (False, True)])


def with_pair(parts, index, pair):
    pairs = parts.pairs.copy()
    pairs[index] = pair
    return replace(parts, pairs=pairs)


def with_own(parts, *pairs):
    return replace(parts, negatives=np.array([pairs]))


def refused(parts, text, full=None):
    with pytest.raises(InputError, match=text):
        parts.check(full=full)


@CASES
def test_a_sound_split_passes(hide, directed):
    full, parts = build(hide, directed)
    parts.check()
    parts.check(full=full)
    replace(parts, negatives=None).check(full=full)


@CASES
@pytest.mark.parametrize("whole", [False, True])
def test_a_pair_that_is_visible_is_found(hide, directed, whole):
    full, parts = build(hide, directed)
    given = full if whole else None
    for pair in ([2, 3], [3, 2]):
        for index in (0, 1):
            text = rf"Test pair \({pair[0]}, {pair[1]}\) is an edge of layer 'a' in training"
            refused(with_pair(parts, index, pair), text, given)
    elsewhere = with_pair(parts, 1, [6, 5])  # an edge of layer b alone
    if hide == "pair":
        refused(elsewhere, r"Test pair \(6, 5\) is an edge of layer 'b' in training", given)
    else:
        elsewhere.check(full=given)


@CASES
def test_the_reverse_of_a_held_out_arc_is_found_in_training(hide, directed):
    _, parts = build(hide, directed)
    leaking = Multiplex.from_edges(
        [0, 1, 2, 4], [1, 2, 3, 3], "a", layer_names=["a", "b"], num_nodes=8, directed=directed
    )
    refused(replace(parts, train=leaking), r"Test pair \(3, 4\) is an edge of layer 'a' in training")


@CASES
def test_a_held_out_pair_that_is_visible_in_another_layer_is_found_where_pairs_are_hidden(hide, directed):
    _, parts = build(hide, directed)
    train = Multiplex.from_edges([0, 4], [1, 3], ["a", "b"], num_nodes=8, directed=directed)
    leaking = replace(parts, train=train)
    if hide == "pair":
        refused(leaking, r"Test pair \(3, 4\) is an edge of layer 'b' in training")
    else:
        leaking.check()


@CASES
def test_negatives_that_are_edges_of_the_full_graph_are_found(hide, directed):
    full, parts = build(hide, directed)
    for pair in ([3, 4], [4, 3]):
        text = "comes twice" if not directed or pair == [3, 4] else r"\(4, 3\) has label 0 and is an edge of layer 'a'"
        refused(with_pair(parts, 1, pair), text)
    more = Multiplex.from_edges(
        [*full.edge_index[0], 7], [*full.edge_index[1], 4], [*"aaaabb", "a"], num_nodes=8, directed=directed
    )  # fmt: skip
    parts.check()
    refused(parts, r"Test pair \(4, 7\) has label 0 and is an edge of layer 'a'", more)
    other = Multiplex.from_edges(
        [*full.edge_index[0], 7], [*full.edge_index[1], 4], [*"aaaabb", "b"], num_nodes=8, directed=directed
    )  # fmt: skip
    if hide == "pair":
        refused(parts, r"Test pair \(4, 7\) has label 0 and is an edge of layer 'b'", other)
    else:
        parts.check(full=other)


@CASES
def test_pairs_that_come_twice_and_self_pairs_are_found(hide, directed):
    full, parts = build(hide, directed)
    refused(with_pair(parts, 2, [4, 7]), r"Test pair \(4, 7\) of layer 'a' comes twice", full)
    refused(with_pair(parts, 1, [4, 4]), r"Test pair \(4, 4\) of layer 'a' is a node with itself", full)
    again = with_pair(parts, 2, [7, 4])
    if directed:
        again.check(full=full)  # two arcs
    else:
        refused(again, r"Test pair \(7, 4\) of layer 'a' comes twice")


@CASES
def test_edges_that_the_full_graph_does_not_have_are_found(hide, directed):
    full, parts = build(hide, directed)
    refused(with_pair(parts, 0, [3, 6]), r"Test pair \(3, 6\) has label 1 and is no edge of layer 'a'", full)
    invented = Multiplex.from_edges([0, 5], [1, 7], ["a", "b"], num_nodes=8, directed=directed)
    refused(replace(parts, train=invented), r"Training edge \(5, 7\) is no edge of layer 'b'", full)
    if directed:
        refused(with_pair(parts, 0, [4, 3]), r"Test pair \(4, 3\) has label 1 and is no edge of layer 'a'", full)
    renamed = Multiplex.from_edges([0, 5], [1, 7], ["a", "c"], num_nodes=8, directed=directed)
    refused(parts, "with other nodes or layers", renamed)
    refused(parts, "with other nodes or layers", build(hide, not directed)[0])


@CASES
def test_negatives_of_positives_are_held_to_the_same_rules(hide, directed):
    full, parts = build(hide, directed)
    for given in (None, full):
        edge = "anywhere" if hide == "pair" else "of layer 'a'"
        for pair in ([2, 3], [3, 2], [3, 4], [4, 3]):  # training edges and held-out ones, either way
            text = rf"Negative \({pair[0]}, {pair[1]}\) of positive 0 is an edge {edge}"
            refused(with_own(parts, [2, 7], pair), text, given)
        refused(with_own(parts, [2, 7], [3, 3]), r"Negative \(3, 3\) of positive 0 is a node with itself", given)
        refused(with_own(parts, [2, 7], [7, 2]), r"Negative \(7, 2\) of positive 0 comes twice", given)
        other = with_own(parts, [2, 7], [6, 5])
        if hide == "pair":
            refused(other, r"Negative \(6, 5\) of positive 0 is an edge anywhere", given)
        else:
            other.check(full=given)
        refused(with_own(parts, [2, 7], [3, 8]), "node indices from 0 to 7 in the negatives", given)
        refused(
            replace(parts, negatives=np.zeros((2, 1, 2), int)), r"negatives \(1, m, 2\), got shape \(2, 1, 2\)", given
        )


@CASES
def test_arrays_that_do_not_fit_are_found(hide, directed):
    _, parts = build(hide, directed)
    refused(replace(parts, layer=parts.layer[:2]), r"layer \(n,\), pairs \(n, 2\) and label \(n,\), got shapes")
    refused(replace(parts, layer=np.array([0, 0, 2])), "layer indices from 0 to 1, got 2")
    refused(with_pair(parts, 0, [-1, 3]), "node indices from 0 to 7, got -1")
    refused(replace(parts, label=np.array([1, 0, 2])), "labels from 0 to 1, got 2")
    refused(replace(parts, hide="edge"), "hide to be one of layer, pair, got 'edge'")


def test_a_violation_is_found_beyond_the_first_block(monkeypatch):

    monkeypatch.setattr("banditplex.evaluation.leakage.CHUNK", 4)
    full = Multiplex.from_edges(range(10), range(1, 11), "a", num_nodes=20)
    positives = full.edges("a").T[4:]
    train = Multiplex.from_edges(range(4), range(1, 5), "a", num_nodes=20)
    own = np.stack([np.stack([positives[:, 0], np.full(6, 12 + i)], 1) for i in range(3)], 1)
    parts = Split(train, "layer", np.zeros(6, int), positives, np.ones(6, int), own)
    parts.check(full=full)
    own[4, 1] = [9, 8]
    refused(parts, r"Negative \(9, 8\) of positive 4 is an edge of layer 'a'")
