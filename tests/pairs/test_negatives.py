"""Negatives: what may be drawn is listed by plain loops, how often it is drawn is calculated."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditplex.evaluation import NegativeSampler, k_fold, split
from banditplex.multiplex import Multiplex
from banditplex.pairs import negatives
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.negatives import own_negatives, pool_negatives
from tests.evaluation.plain import everywhere, held_out, linked, multiplexes
from tests.refusals import refuses


def star(directed=False):
    """Node 0 linked to 1, 2, 3; 3 to 4; 5 to nothing. In layer b: 1 to 2."""
    return Multiplex.from_edges(
        [0, 0, 0, 3, 1], [1, 2, 3, 4, 2], ["a", "a", "a", "a", "b"], num_nodes=6, directed=directed
    )  # fmt: skip


def candidates(free, directed):
    """Return the pairs of six nodes that are free, smaller node first if undirected, both ways if directed."""
    return [pair for pair in permutations(range(6), 2) if frozenset(pair) in free and (directed or pair[0] < pair[1])]


def close(count, chance):
    """Whether counts are within 4.5 standard deviations of their expectation."""
    expected = count.sum() * chance
    return (np.abs(count - expected) < 4.5 * np.sqrt(expected * (1 - chance)) + 1e-9).all()


def counts(drawn, allowed):
    """Return how often each allowed pair was drawn, and see to it that no other was."""
    found = dict.fromkeys(allowed, 0)
    for pair in map(tuple, drawn.reshape(-1, 2).tolist()):
        found[pair] += 1
    return np.array(list(found.values()))


def test_training_negatives_are_even_over_all_pairs_without_an_edge():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=5)
    drawn = NegativeSampler(mx).draw(np.zeros(7000, int), np.random.default_rng(0))
    free = [(0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert close(counts(drawn, free), 1 / 7)


def test_training_negatives_of_a_directed_layer_are_arcs():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 2], "a", num_nodes=3, directed=True)
    drawn = NegativeSampler(mx).draw(np.zeros(3000, int), np.random.default_rng(0))
    assert close(counts(drawn, [(1, 0), (2, 0), (2, 1)]), 1 / 3)


def test_a_full_layer_has_no_negatives():
    mx = Multiplex.from_edges([0, 0, 1, 0], [1, 2, 2, 0], "a", num_nodes=3)
    with refuses(1, "'a'", 0):
        NegativeSampler(mx).draw(np.zeros(1, int), np.random.default_rng(0))
    with refuses(1, "'a'", 0):
        split(mx, hide="layer")
    loose = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 2, 3], "a", num_nodes=4)
    with refuses(3, "any layer", "'a'", 2):
        split(loose, hide="pair", each=3)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", ["layer", "pair"])
def test_uniform_negatives_are_even_over_pairs_that_are_linked_neither_way(hide, directed):
    mx = star(directed)
    free = {frozenset(pair) for pair in combinations(range(6), 2)} - linked(mx)["a"]
    free -= everywhere(mx) if hide == "pair" else set()
    assert len(free) == (11 if hide == "layer" else 10)
    allowed = [
        pair for pair in permutations(range(6), 2) if frozenset(pair) in free and (directed or pair[0] < pair[1])
    ]
    known = KnownPairs(mx, everywhere=hide == "pair", ordered=False)
    rng = np.random.default_rng(1)
    pool = np.concatenate([pool_negatives(mx, np.zeros(1, int), known, rng) for _ in range(1000)])
    assert close(counts(pool, allowed), 1 / len(allowed))
    own = own_negatives(mx, np.zeros(2000, int), 4, known, rng)
    assert own.shape == (2000, 4, 2)
    assert close(counts(own, allowed), 1 / len(allowed))
    assert all(len({frozenset(pair) for pair in row}) == 4 for row in own.tolist())


@pytest.mark.parametrize("directed", [False, True])
def test_negatives_by_degree_have_ends_in_proportion_to_degrees(directed):
    """The chance of a pair is the product of its ends' degrees, over the sum of that for all pairs allowed."""
    mx = star(directed)
    out, into = ([3, 0, 0, 1, 0, 0], [0, 1, 1, 1, 1, 0]) if directed else ([3, 1, 1, 2, 1, 0],) * 2
    free = {frozenset(pair) for pair in combinations(range(6), 2)} - linked(mx)["a"]
    pairs = candidates(free, directed)
    weight = np.array([out[u] * into[v] for u, v in pairs])
    allowed = [pair for pair, value in zip(pairs, weight, strict=True) if value]
    chance = weight[weight > 0] / weight.sum()
    rng = np.random.default_rng(2)
    known = KnownPairs(mx, ordered=False)
    own = own_negatives(mx, np.zeros(6000, int), 1, known, rng, kind="degree")
    assert close(counts(own, allowed), chance)
    pool = np.concatenate([pool_negatives(mx, np.zeros(1, int), known, rng, kind="degree") for _ in range(1000)])
    assert close(counts(pool, allowed), chance)


def test_negatives_by_degree_are_uniform_where_there_are_none():
    """All linked nodes are linked with each other: no pair of them is free, so pairs are drawn evenly."""
    ends = np.array(list(combinations(range(4), 2)))
    mx = Multiplex.from_edges(*ends.T, "a", num_nodes=7)
    parts = split(mx, hide="layer", negatives="degree", each=5)
    parts.check(full=mx)
    assert max(max(pair) for pair in held_out(parts)["a"][1]) > 3
    assert parts.negatives.shape == (1, 5, 2)


@settings(max_examples=30)
@given(
    mx=multiplexes(path=3),
    hide=st.sampled_from(["layer", "pair"]),
    kind=st.sampled_from(["uniform", "degree", "hard"]),
    each=st.integers(1, 6),
)
def test_no_negative_is_ever_an_edge(mx, hide, kind, each):
    for parts in k_fold(mx, hide=hide, folds=3, negatives=kind, each=each):
        parts.check(full=mx)
        for name in mx.layer_names:
            edges = everywhere(mx) if hide == "pair" else linked(mx)[name]
            positives, own = parts.ranking(name)
            assert len(positives) == len(held_out(parts)[name][0])
            for row in own.tolist():
                drawn = {frozenset(pair) for pair in row}
                assert len(drawn) == each
                assert all(len(pair) == 2 for pair in drawn)
                assert not drawn & edges
            assert not {frozenset(pair) for pair in held_out(parts)[name][1]} & edges


def test_blocks_of_bounded_size_leave_no_seams(monkeypatch):
    mx = star()
    known = KnownPairs(mx, ordered=False)
    monkeypatch.setattr(negatives, "CHUNK", 7)
    own = own_negatives(mx, np.zeros(10, int), 3, known, np.random.default_rng(0))
    assert all(len({frozenset(pair) for pair in row}) == 3 for row in own.tolist())
    assert not known.has(np.zeros(30, int), own.reshape(-1, 2)).any()


def test_keys_that_do_not_fit_are_refused():
    mx = Multiplex.from_edges([0], [1], "a", num_nodes=3)
    huge = type("Huge", (), {"num_layers": 3, "num_nodes": 2**31, "directed": False})()
    with refuses("2**63", "3 layers", "2,147,483,648 nodes"):
        KnownPairs(huge)
    assert KnownPairs(mx).free().tolist() == [2]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "degree", "hard"])
def test_the_last_pairs_of_a_full_layer_are_found(kind, directed):
    """Of 4,950 pairs of 100 nodes 12 are free, and all are wanted, by the pool and by each of 12 positives."""
    ends = np.array(list(combinations(range(100), 2)))
    free = {frozenset(pair) for pair in ends[5::420].tolist()}
    ends = np.array([pair for pair in ends.tolist() if frozenset(pair) not in free])
    mx = Multiplex.from_edges(*ends.T, "a", num_nodes=100, directed=directed)
    parts = split(mx, hide="layer", share=12 / len(ends), negatives=kind, each=12)
    parts.check(full=mx)
    assert {frozenset(pair) for pair in held_out(parts)["a"][1]} == free
    assert parts.negatives.shape == (12, 12, 2)
    assert all({frozenset(pair) for pair in row} == free for row in parts.negatives.tolist())
