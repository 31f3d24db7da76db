"""Both sides of Theorem 1, by hand."""

import math

import numpy as np
import pytest

from experiments.regret.measure import compare, follow


def test_two_rounds_by_hand():
    losses = [np.array([[0.0, 1.0]]), np.array([[0.5, 0.5]])]
    first, second = follow(losses, np.random.default_rng(0), runs=1, arms=2)
    assert first.regret == pytest.approx(0.5)  # drawn evenly; the better arm costs nothing
    assert first.printed_bound == pytest.approx(6 * math.sqrt(0.25 * math.log(2)) + 10 * math.log(2))
    assert second.regret == pytest.approx(0.5)  # the second round costs 1/2 whatever is drawn, and has no variance
    assert second.printed_bound == pytest.approx(first.printed_bound)


def test_the_bound_of_the_estimates_holds_where_losses_are_noisy():
    found = compare("pareto", 5, 60, runs=20, seed=0)
    assert found["game"] == "pareto, 5 arms, 60 rounds"
    assert found["estimated_fails"] == 0
    assert found["estimated_regret"] <= found["estimated_bound"]
