"""Negatives: plain loops list which pairs are allowed, and frequencies match calculated probabilities."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.evaluation import NegativeSampler, k_fold, split
from banditplex.multiplex import Multiplex
from banditplex.pairs import negatives
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.negatives import own_negatives, pool_negatives
from tests.evaluation.plain import everywhere, held_out, linked, multiplexes
from tests.quick import every, only
from tests.refusals import refuses


def star(directed=False):
    """Node 0 linked to 1, 2, 3; 3 to 4; 5 to nothing. In layer b: 1 to 2."""
    return Multiplex.from_edges(
        [0, 0, 0, 3, 1], [1, 2, 3, 4, 2], ["a", "a", "a", "a", "b"], num_nodes=6, directed=directed
    )  # fmt: skip


def candidates(free, directed):
    """Return the pairs of six nodes that are not linked: smaller node first, or in both directions if directed."""
    return [pair for pair in permutations(range(6), 2) if frozenset(pair) in free and (directed or pair[0] < pair[1])]


def close(count, chance):
    """Return whether counts are within 4.5 standard deviations of their expectation."""
    expected = count.sum() * chance
    return (np.abs(count - expected) < 4.5 * np.sqrt(expected * (1 - chance)) + 1e-9).all()


def counts(drawn, allowed):
    """Return how often each allowed pair was drawn; fail if another pair was drawn."""
    found = dict.fromkeys(allowed, 0)
    for pair in map(tuple, drawn.reshape(-1, 2).tolist()):
        found[pair] += 1
    return np.array(list(found.values()))


def test_training_negatives_are_uniform():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 3], "a", num_nodes=5)
    drawn = NegativeSampler(mx).draw(np.zeros(7000, int), np.random.default_rng(0))
    free = [(0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]
    assert close(counts(drawn, free), 1 / 7)


def test_training_negatives_of_a_directed_layer_may_be_reverse_edges():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 2], "a", num_nodes=3, directed=True)
    drawn = NegativeSampler(mx).draw(np.zeros(3000, int), np.random.default_rng(0))
    assert close(counts(drawn, [(1, 0), (2, 0), (2, 1)]), 1 / 3)


def test_a_full_layer_has_no_negatives():
    mx = Multiplex.from_edges([0, 0, 1, 0], [1, 2, 2, 0], "a", num_nodes=3)
    with refuses("at least 1", "layer 'a'", "got 0"):
        NegativeSampler(mx).draw(np.zeros(1, int), np.random.default_rng(0))
    with pytest.warns(UserWarning, match=r"'a' \(0\)"), refuses("without an edge in their layer", "none"):
        split(mx, hide="layer")
    loose = Multiplex.from_edges([0, 0, 1, 2], [1, 2, 2, 3], "a", num_nodes=4)
    with pytest.warns(UserWarning, match=r"'a' \(2\)"):
        data = split(loose, hide="pair", each=3)
    assert sorted(map(tuple, data.negatives[0].tolist())) == [(0, 3), (1, 3)]


@pytest.mark.parametrize(("hide", "directed"), every(3, ["layer", "pair"], [False, True]))
def test_test_negatives_are_uniform_and_linked_in_neither_direction(hide, directed):
    mx = star(directed)
    free = {frozenset(pair) for pair in combinations(range(6), 2)} - linked(mx)["a"]
    free -= everywhere(mx) if hide == "pair" else set()
    assert len(free) == (11 if hide == "layer" else 10)
    allowed = candidates(free, directed)
    known = KnownPairs(mx, everywhere=hide == "pair", ordered=False)
    rng = np.random.default_rng(1)
    pool = np.concatenate([pool_negatives(mx, np.zeros(1, int), known, rng) for _ in range(1000)])
    assert close(counts(pool, allowed), 1 / len(allowed))
    own = own_negatives(mx, np.zeros(2000, int), 4, known, rng)
    assert own.shape == (2000, 4, 2)
    assert close(counts(own, allowed), 1 / len(allowed))
    assert all(len({frozenset(pair) for pair in row}) == 4 for row in own.tolist())


@pytest.mark.parametrize("directed", only([True], [False, True]))
def test_degree_negatives_are_drawn_in_proportion_to_degrees(directed):
    """The probability of a pair is proportional to the product of the degrees of its nodes."""
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


def test_degree_negatives_fall_back_to_uniform_ones():
    """All nodes with an edge are linked with each other, so that none of their pairs is a negative."""
    ends = np.array(list(combinations(range(4), 2)))
    mx = Multiplex.from_edges(*ends.T, "a", num_nodes=7)
    data = split(mx, hide="layer", negatives="degree", each=5)
    data.check(full=mx)
    assert max(max(pair) for pair in held_out(data)["a"][1]) > 3
    assert data.negatives.shape == (1, 5, 2)


@given(
    mx=multiplexes(path=3),
    hide=st.sampled_from(["layer", "pair"]),
    kind=st.sampled_from(["uniform", "degree", "hard"]),
    each=st.integers(1, 6),
)
def test_no_negative_is_ever_an_edge(mx, hide, kind, each):
    for data in k_fold(mx, hide=hide, folds=3, negatives=kind, each=each):
        data.check(full=mx)
        for name in mx.layer_names:
            edges = everywhere(mx) if hide == "pair" else linked(mx)[name]
            positives, own = data.ranking(name)
            assert len(positives) == len(held_out(data)[name][0])
            for row in own.tolist():
                drawn = {frozenset(pair) for pair in row}
                assert len(drawn) == each
                assert all(len(pair) == 2 for pair in drawn)
                assert not drawn & edges
            assert not {frozenset(pair) for pair in held_out(data)[name][1]} & edges


def test_negatives_are_correct_in_several_blocks(monkeypatch):
    mx = star()
    known = KnownPairs(mx, ordered=False)
    monkeypatch.setattr(negatives, "NEGATIVES_AT_ONCE", 7)
    own = own_negatives(mx, np.zeros(10, int), 3, known, np.random.default_rng(0))
    assert all(len({frozenset(pair) for pair in row}) == 3 for row in own.tolist())
    assert not known.has(np.zeros(30, int), own.reshape(-1, 2)).any()


def test_multiplexes_too_large_for_64_bit_keys_are_refused():
    mx = Multiplex.from_edges([0], [1], "a", num_nodes=3)
    huge = type("Huge", (), {"num_layers": 3, "num_nodes": 2**31, "directed": False})()
    with refuses("2**63", "3 layers", "2,147,483,648 nodes"):
        KnownPairs(huge)
    assert KnownPairs(mx).num_free().tolist() == [2]


@pytest.mark.parametrize(("kind", "directed"), every(5, ["uniform", "degree", "hard"], [False, True]))
def test_the_last_pairs_of_a_full_layer_are_found(kind, directed):
    """Of 4,950 pairs of 100 nodes, 12 are negatives, and the pool and each of 12 positives need all of them."""
    ends = np.array(list(combinations(range(100), 2)))
    free = {frozenset(pair) for pair in ends[5::420].tolist()}
    ends = np.array([pair for pair in ends.tolist() if frozenset(pair) not in free])
    mx = Multiplex.from_edges(*ends.T, "a", num_nodes=100, directed=directed)
    data = split(mx, hide="layer", share=12 / len(ends), negatives=kind, each=12)
    data.check(full=mx)
    assert {frozenset(pair) for pair in held_out(data)["a"][1]} == free
    assert data.negatives.shape == (12, 12, 2)
    assert all({frozenset(pair) for pair in row} == free for row in data.negatives.tolist())


@pytest.mark.parametrize(("directed", "ordered"), [(False, None), (True, None), (True, False)])
def test_negatives_of_a_nearly_complete_layer_are_found_at_once(directed, ordered):
    """Of the pairs of 300 nodes three have no edge; rejection would need some 15,000 tries for each negative."""
    free = {(0, 1), (5, 200), (7, 8)}
    pairs = np.array([pair for pair in combinations(range(300), 2) if pair not in free])
    ends = np.concatenate([pairs, pairs[:, ::-1]]) if directed else pairs
    sampler = NegativeSampler(Multiplex.from_edges(*ends.T, "a", num_nodes=300, directed=directed), ordered=ordered)
    drawn = sampler.draw(np.zeros(6000, int), np.random.default_rng(0))
    found, count = np.unique(drawn, axis=0, return_counts=True)
    expected = sorted(free | {pair[::-1] for pair in free} if directed else free)
    assert list(map(tuple, found.tolist())) == expected
    assert (np.abs(count - 6000 / len(expected)) < 5 * np.sqrt(6000 / len(expected))).all()


def test_the_last_resort_is_a_list_of_all_negatives():
    """Proposals that never hit: of the pairs of three nodes, only 1-2 is no edge."""
    known, asked = KnownPairs(Multiplex.from_edges([0, 0], [1, 2], "a", num_nodes=3)), []

    def stuck(layer, rng):
        asked.append(len(layer))
        assert len(asked) < 1_000
        return np.tile([0, 1], (len(layer), 1))

    found = negatives.draw_negatives(
        np.zeros(1, int), known, stuck, np.random.default_rng(0), distinct=True, fallback=stuck
    )
    assert np.sort(found).tolist() == [[1, 2]]
