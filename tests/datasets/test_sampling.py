"""Distinct draws and pair codes, against enumeration."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from banditplex.datasets import sampling


@pytest.mark.parametrize("num_nodes", [2, 3, 4, 7, 50])
@pytest.mark.parametrize("directed", [False, True])
def test_codes_are_places_in_the_sorted_list_of_pairs(num_nodes, directed):
    pairs = list((permutations if directed else combinations)(range(num_nodes), 2))
    low, high = np.array(pairs).T
    assert sampling.num_pairs(num_nodes, directed=directed) == len(pairs)
    np.testing.assert_array_equal(sampling.encode(low, high, num_nodes, directed=directed), np.arange(len(pairs)))
    np.testing.assert_array_equal(sampling.decode(np.arange(len(pairs)), num_nodes, directed=directed), [low, high])


def test_codes_survive_where_square_roots_round():
    """With 2**28 nodes codes reach 2**55, beyond what a float64 holds exactly: check around each row's ends."""
    num_nodes = 1 << 28
    low = np.array([0, 1, 2, 12_345_678, num_nodes // 2, num_nodes - 3, num_nodes - 2])
    for high in (low + 1, np.full_like(low, num_nodes - 1)):
        code = sampling.encode(low, high, num_nodes)
        expected = [
            u * (num_nodes - 1) - u * (u - 1) // 2 + v - u - 1 for u, v in np.stack([low, high], axis=1).tolist()
        ]
        assert code.tolist() == expected
        np.testing.assert_array_equal(sampling.decode(code, num_nodes), [low, high])


@pytest.mark.parametrize(("population", "count"), [(1, 1), (5, 0), (5, 2), (5, 4), (5, 5), (1000, 3), (1000, 700)])
def test_distinct_rows_rise_and_stay_below(population, count):
    drawn = sampling.distinct(np.random.default_rng(3), 7, population, count)
    assert drawn.shape == (7, count)
    assert (np.diff(drawn, axis=1) > 0).all()
    assert ((drawn >= 0) & (drawn < population)).all()


@pytest.mark.parametrize("count", [2, 3])
def test_every_subset_is_equally_likely(count):
    """All 10 subsets of 5, of 2 and (drawn by what is left out) of 3: chi-square with 9 degrees, 99.9 % at 27.9."""
    drawn = sampling.distinct(np.random.default_rng(0), 20_000, 5, count)
    subsets = dict.fromkeys(combinations(range(5), count), 0)
    for row in map(tuple, drawn.tolist()):
        subsets[row] += 1
    chi = sum((seen - 2000) ** 2 / 2000 for seen in subsets.values())
    assert chi < 27.9


def test_every_permutation_is_equally_likely():
    """All 6 orders of 3: chi-square with 5 degrees, 99.9 % at 20.5."""
    drawn = sampling.permutations(np.random.default_rng(0), 12_000, 3)
    seen = dict.fromkeys(permutations(range(3)), 0)
    for row in map(tuple, drawn.tolist()):
        seen[row] += 1
    assert sum((count - 2000) ** 2 / 2000 for count in seen.values()) < 20.5


def test_words_are_the_raw_stream():
    """Whole words of the bit generator, whose stream numpy promises never to change."""
    raw = np.random.PCG64(5).random_raw(4)
    np.testing.assert_array_equal(sampling.words(np.random.Generator(np.random.PCG64(5)), 4), raw)


def test_skip_counts_what_is_not_taken():
    rng = np.random.default_rng(1)
    for population, count, rows in product([4, 9, 30], [0, 1, 3, 4], [1, 5]):
        taken = sampling.distinct(rng, rows, population, count)
        left = [[value for value in range(population) if value not in row] for row in taken.tolist()]
        rank = np.tile(np.arange(population - count), (rows, 1))
        np.testing.assert_array_equal(sampling.skip(rank, taken, population), np.array(left).reshape(rank.shape))
