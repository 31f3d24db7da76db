"""Capped weights against a plain loop, draws against the inclusion they must have."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.bandits import capped_softmax, dependent, systematic
from banditplex.bandits.hedge import soft_smallest
from banditplex.bandits.rounding import (
    distinct_ranks,
    greedy,
    invert,
    kth_smallest,
    one_below,
    solve_capped,
)
from banditplex.bandits.state import Marginals
from tests.bandits import reference

LOGITS = st.floats(-900, 900)


@st.composite
def logits_and_k(draw):
    y = draw(st.lists(LOGITS | st.sampled_from([0.0, 1.0, -700.0]), min_size=1, max_size=9))
    return y, draw(st.integers(1, len(y)))


@st.composite
def groups(draw):
    """Values of groups, their sizes (0 is padding), and k below the number of arms."""
    size = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(lambda size: sum(size) >= 2))
    y = draw(st.lists(st.floats(-50, 50) | st.just(0.0), min_size=len(size), max_size=len(size)))
    return y, size, draw(st.integers(1, sum(size) - 1))


def close(got, want, tolerance=1e-12):
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=tolerance)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_capped_softmax_of_enormous_numbers(k):
    """Differences far beyond the exponent's range: the k largest, ties sharing."""
    y = -np.array([5e99, 1e99, 1e99, 0.0, 3e299, 7e99])
    want = {1: [0, 0, 0, 1, 0, 0], 2: [0, 0.5, 0.5, 1, 0, 0], 3: [0, 1, 1, 1, 0, 0], 4: [1, 1, 1, 1, 0, 0]}
    np.testing.assert_allclose(capped_softmax(y, k), want[k], atol=1e-200)


@given(logits_and_k())
def test_capped_softmax_equals_a_plain_loop(case):
    y, k = case
    w = capped_softmax(y, k)
    close(w, reference.capped_softmax(y, k)[0])
    close(w.sum(), k)
    assert ((w >= 0) & (w <= 1)).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_capped_softmax_takes_batches_and_impossible_arms(k):
    y = np.random.default_rng(0).normal(size=(4, 6)) * 3
    y[:, 5] = -np.inf
    w = capped_softmax(y, k)
    close(w, [reference.capped_softmax(row, k)[0] + [0.0] for row in y[:, :5].tolist()])
    assert (w[:, 5] == 0).all()


def capped_logsumexp(y, k):
    return solve_capped(np.array([y]) - np.max(y), k)[2] + k * np.max(y)


@given(logits_and_k(), st.integers(0, 99))
def test_capped_logsumexp_is_a_maximum(case, seed):
    """It is attained at the capped softmax and not exceeded anywhere else."""
    y, k = case

    def objective(w):
        return w @ np.array(y) - (w * np.log(np.maximum(w, 1e-320))).sum()

    best = capped_logsumexp(y, k).item()
    scale = max(1.0, np.max(np.abs(y)))
    assert objective(capped_softmax(y, k)) == pytest.approx(best, rel=1e-9, abs=1e-9 * scale)
    other = capped_softmax(np.array(y) + np.random.default_rng(seed).normal(size=len(y)), k)
    assert objective(other) <= best + 1e-9 * scale


@given(groups())
def test_groups_equal_arms_spelled_out(case):
    y, size, k = case
    sizes = np.array([size], dtype=float)
    spelled = np.repeat(y, size)
    shifted = np.array([y]) - spelled.max()
    w, scale, value = solve_capped(shifted.copy(), k, sizes)
    close(np.repeat((w * scale)[0], size), capped_softmax(spelled, k))
    close(value, capped_logsumexp(spelled - spelled.max(), k), 1e-10)
    w, total = greedy(np.array([y]), k, sizes)
    want = greedy(spelled[None], k)
    close(np.repeat(w[0], size), want[0][0])
    close(total, want[1], 1e-10)
    assert kth_smallest(np.array([y]), k, sizes) == np.sort(spelled)[k - 1]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=8), st.data())
def test_greedy_is_the_limit_of_large_rates(values, data):
    k = data.draw(st.integers(1, len(values) - 1))
    L = np.array([values], dtype=float) - min(values)
    cold, soft = (soft_smallest(L, np.array([eta]), k) for eta in (np.inf, 1e5))
    close(cold[0], soft[0] * soft[1][:, None], 1e-9)
    close(cold[2], soft[2], 1e-3)
    close(cold[0][0], reference.lowest_share(L[0].tolist(), k))


def within_errors(count, trials, p, errors=4.0):
    """Whether every frequency lies within so many standard errors of its probability."""
    return (np.abs(count / trials - p) <= errors * np.sqrt(p * (1 - p) / trials) + 1e-12).all()


def inclusion_vectors():
    rng = np.random.default_rng(1)
    yield np.array([1.0]), 1
    yield np.array([0.7, 0.2, 0.1, 0.0]), 1
    yield np.array([0.2, 0.8, 1.0, 0.0, 0.5, 0.5]), 3
    yield np.array([0.95, 0.9, 0.05, 0.1]), 2
    yield np.full(7, 3 / 7), 3
    for n, k in ((12, 5), (40, 3), (100, 1), (101, 30)):
        yield capped_softmax(rng.normal(size=n) * 2, k), k


@pytest.mark.parametrize("trials", [10_000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("p", "k"), list(inclusion_vectors()))
@pytest.mark.parametrize("draw", ["systematic", "dependent", "sample"])
def test_inclusion_is_exact(draw, p, k, trials):
    """Exactly k distinct arms, every marginal within 4 standard errors of so many draws."""
    rng = np.random.default_rng(2)
    rows = np.tile(p, (trials, 1))
    if draw == "sample":
        arms = Marginals(len(p), rows).sample(k, rng)[0]
    else:
        arms = {"systematic": systematic, "dependent": dependent}[draw](rows, k, rng)
    assert arms.shape == (trials, k)
    assert (np.diff(arms, axis=1) > 0).all()
    assert within_errors(np.bincount(arms.ravel(), minlength=len(p)), trials, p)


def test_dependent_rounding_is_negatively_correlated():
    rng, trials = np.random.default_rng(3), 50_000
    p = np.array([0.3, 0.7, 0.6, 0.2, 0.9, 0.3])
    drawn = np.zeros((trials, 6), dtype=bool)
    np.put_along_axis(drawn, dependent(np.tile(p, (trials, 1)), 3, rng), True, 1)
    for i, j in combinations(range(6), 2):
        both, apart = (drawn[:, i] & drawn[:, j]).mean(), p[i] * p[j]
        assert both <= apart + 4 * np.sqrt(apart * (1 - apart) / trials)


def test_choice_without_replacement_has_wrong_inclusion():
    """numpy's choice(replace=False, p) draws one after the other, which is not what p says.

    Two of three arms wanted with probabilities .9, .6, .5: choice gives arm i, drawn first or second,
    q_i + sum over j of q_j q_i / (1 - q_j) with q = p / 2.
    """
    p = np.array([0.9, 0.6, 0.5])
    q = p / 2
    sequential = [q[i] + sum(q[j] * q[i] / (1 - q[j]) for j in range(3) if j != i) for i in range(3)]
    np.testing.assert_allclose(sequential, [0.792857, 0.645455, 0.561688], atol=1e-6)
    rng, trials = np.random.default_rng(4), 5_000
    by_choice = np.bincount(np.ravel([rng.choice(3, 2, replace=False, p=q) for _ in range(trials)]), minlength=3)
    assert within_errors(by_choice, trials, np.array(sequential))
    assert not within_errors(by_choice, trials, p, errors=8.0)
    ours = np.bincount(systematic(np.tile(p, (trials, 1)), 2, rng).ravel(), minlength=3)
    assert within_errors(ours, trials, p)


@pytest.mark.parametrize("n", [1, 5, 64, 65, 1000])
def test_inversion_never_draws_length_zero(n):
    rng = np.random.default_rng(5)
    length = rng.random((2000, n)) * (rng.random((2000, n)) < 0.2)
    length[:, n // 2] += 1e-9
    drawn = invert(length, rng)
    assert (length[np.arange(2000), drawn] > 0).all()


@pytest.mark.parametrize(("u", "arm"), [(0.0, 1), (1 - 2**-53, 3)])
def test_inversion_at_the_ends(u, arm):
    """The smallest and the largest number a generator returns."""

    class Ends:
        def random(self, rows):
            return np.full(rows, u)

    assert invert(np.array([[0.0, 0.3, 0.6, 0.1, 0.0]]), Ends()).tolist() == [arm]
    wide = np.zeros((1, 500))
    wide[0, [1, 2, 3]] = 0.3, 0.6, 0.1
    assert invert(wide, Ends()).tolist() == [arm]


def test_systematic_draws_again_when_rounding_spoils_a_step():
    """With u so near 1 that u + j rounds up, two steps would meet one arm."""

    class Nearly:
        def __init__(self):
            self.calls, self.rng = 0, np.random.default_rng(6)

        def random(self, shape):
            self.calls += 1
            return np.full(shape, 1 - 2**-53) if self.calls == 2 else self.rng.random(shape)

    rng = Nearly()
    p = np.array([[0.1, 0.1, 0.1, 0.7, 1.0, 1.0, 1.0]])
    assert len(set(systematic(p, 4, rng)[0].tolist())) == 4


@pytest.mark.parametrize("count", [0, 1, 8, 9, 50])
def test_integers_below_limits_are_those_of_the_generator(count):
    limits = np.arange(1, count + 1) * 7
    one, other = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(5):
        assert one_below(limits, one).tolist() == other.integers(0, limits).tolist()


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 1000))
def test_ranks_are_distinct(size, count, seed):
    count = min(size, count)
    ranks = distinct_ranks(np.full(50, size), np.full(50, count), np.random.default_rng(seed))
    assert ranks.shape == (50, count)
    assert all(len(set(row)) == count and set(row) <= set(range(size)) for row in ranks.tolist())


def test_subsets_of_unseen_arms_are_uniform():
    """Of 7 arms 2 have columns; the other 5 share p = .6 and give 3 per row: ten subsets, alike."""
    trials = 50_000
    arms = np.tile([-1, 4, 1], (trials, 1))
    p = np.tile([0.6, 0.0, 0.0], (trials, 1))
    marginals = Marginals(7, p, arms, np.full(trials, 2))
    drawn, probability = marginals.sample(3, np.random.default_rng(7))
    assert (probability == 0.6).all()
    subsets = dict.fromkeys(combinations([0, 2, 3, 5, 6], 3), 0)
    for row in np.sort(drawn, axis=1).tolist():
        subsets[tuple(row)] += 1
    assert within_errors(np.array(list(subsets.values())), trials, np.full(10, 0.1))


@pytest.mark.parametrize("k", [1, 3])
def test_shared_columns_have_exact_inclusion(k):
    rng, trials = np.random.default_rng(8), 50_000
    p = np.array([0.02, 0.9, 0.3, 0.08]) if k == 3 else np.array([0.001, 0.5, 0.3, 0.114])
    p[0] = (k - p[1:].sum()) / 86
    arms = np.array([-1, 80, 3, 41, 12])
    rows = np.append(p, 77.0)
    marginals = Marginals(89, np.tile(rows, (trials, 1)), np.tile(arms, (trials, 1)), np.full(trials, 3))
    drawn, probability = marginals.sample(k, rng)
    want = np.full(89, p[0])
    want[[80, 3, 41]] = p[1:]
    assert all(len(set(row)) == k for row in drawn.tolist())
    np.testing.assert_allclose(probability, want[drawn])
    np.testing.assert_allclose(marginals.dense()[0], want)
    np.testing.assert_allclose(marginals.at(np.array([5, 6]), np.array([41, 12])), want[[41, 12]])
    assert within_errors(np.bincount(drawn.ravel(), minlength=89), trials, want, errors=4.5)


def test_rows_that_take_a_column_too_often_are_drawn_again():
    """A column of length 1.5 is taken twice in half of the rows, but may be taken once."""
    drawn = systematic(np.tile([1.5, 0.5], (200, 1)), 2, np.random.default_rng(0), np.ones((200, 2)))
    assert (drawn == [0, 1]).all()
