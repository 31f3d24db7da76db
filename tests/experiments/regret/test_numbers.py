"""The regrets to expect, measured again, and the counter-examples to Theorem 1.

The numbers to expect come from 100 to 200 runs each. A cell passes if it lies within .03 of its number, give
or take two standard errors of our own measurement.
"""

import pytest

from experiments.regret import settings
from experiments.regret.analysis import cells, expected_numbers, expected_relative
from experiments.regret.environments import HELD_OUT, MAIN
from experiments.regret.measure import compare, measure
from tests.quick import every, only

FOUR = ("printed sign", "exp3+", "raw range", "hinted")
POLICIES = {label: settings.POLICIES[label] for label in ("uniform", *FOUR)}


def assert_as_expected(environment, arms, runs):
    found = list(cells(measure(environment, POLICIES, arms, 200, runs=runs, seed=1)))
    assert [cell["policy"] for cell in found] == list(FOUR)
    for cell in found:
        assert cell["relative"] == pytest.approx(cell["expected"], abs=0.03 + 2 * cell["error"]), cell


@pytest.mark.parametrize("environment", every(5, MAIN))
def test_five_arms(environment):
    assert_as_expected(environment, 5, 500)


@pytest.mark.parametrize("environment", only(["grow"], ["stoch", "grow", "switch", "pareto"]))
def test_thirty_six_arms(environment):
    assert_as_expected(environment, 36, 300)


@pytest.mark.slow
@pytest.mark.parametrize("environment", MAIN)
@pytest.mark.parametrize(("arms", "runs"), [(5, 4000), (36, 2000)])
def test_every_number(environment, arms, runs):
    assert_as_expected(environment, arms, runs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arms", "horizon", "runs"),
    [(2, 50, 400), (2, 1000, 100), (5, 50, 400), (36, 50, 200), (36, 1000, 50), (363, 200, 20)],
)
def test_means_at_other_sizes(arms, horizon, runs):
    found = [cell for name in MAIN for cell in cells(measure(name, POLICIES, arms, horizon, runs=runs, seed=1))]
    for policy in FOUR:
        some = [cell for cell in found if cell["policy"] == policy]
        mean = sum(cell["relative"] for cell in some) / len(some)
        error = sum(cell["error"] ** 2 for cell in some) ** 0.5 / len(some)
        assert mean == pytest.approx(expected_relative("mean", policy, arms, 1, horizon), abs=0.03 + 2 * error)


@pytest.mark.parametrize("environment", every(3, HELD_OUT))
def test_hinted_is_ahead_where_it_was_not_designed(environment):
    """Against the paper's policy and its repair at 5 arms, by more than two standard errors."""
    compared = {label: settings.POLICIES[label] for label in ("uniform", "exp3+", "raw range", "hinted")}
    results = {result.policy: result.regret for result in measure(environment, compared, 5, 200, runs=400, seed=1)}
    for other in ("exp3+", "raw range"):
        ahead = results[other] - results["hinted"]
        assert ahead.mean() > 2 * ahead.std() / len(ahead) ** 0.5


@pytest.mark.parametrize(
    ("game", "factor", "runs"),
    [
        ("2 arms, 5 against 5.1", 4, 40),
        pytest.param("36 arms, .3 against .7", 12, 20, marks=pytest.mark.slow),
    ],
)
def test_the_printed_bound_of_theorem_1_is_false(game, factor, runs):
    """Regret is several times the printed bound, as recorded; the bound of the estimates holds."""
    found = compare(game, 0, 0, runs=runs, seed=0)
    recorded = expected_numbers()["theorem"][game]
    assert found["regret"] > factor * found["printed_bound"]
    assert found["regret"] == pytest.approx(recorded["regret"], rel=0.15)
    assert found["printed_bound"] == pytest.approx(recorded["bound"], rel=0.05)
    assert found["estimated_regret"] < found["estimated_bound"]
