"""Tables from regrets, by hand."""

import numpy as np
import pytest

from experiments.regret.analysis import cells, expected_numbers, relative_regret, with_means
from experiments.regret.environments import MAIN
from experiments.regret.measure import Result


def test_relative_regret_and_its_error():
    """Reference 2, 4; regret 1, 3: ratio 4/6; what is left over is -1/3, 1/3, so sqrt(2/9 * 2/1) / 6."""
    ratio, error = relative_regret(np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    assert ratio == pytest.approx(4 / 6)
    assert error == pytest.approx((2 / 9 * 2) ** 0.5 / 6)


def test_error_of_the_ratio_by_simulation():
    """Over 4000 repetitions of 50 runs the ratio scatters as the error says, within 5 %."""
    rng = np.random.default_rng(0)
    reference = rng.uniform(1.0, 2.0, (4000, 50))
    regret = reference * rng.uniform(0.0, 1.0, (4000, 50))
    found = np.array([relative_regret(*pair) for pair in zip(regret, reference, strict=True)])
    assert found[:, 0].std() == pytest.approx(np.mean(found[:, 1]), rel=0.05)


def results():
    for environment, regret in (("late", 1.0), ("bern", 3.0)):
        yield Result(environment, "uniform", 5, 1, 200, np.full(2, 4.0))
        yield Result(environment, "hinted", 5, 1, 200, np.full(2, regret))


def test_cells_and_means():
    table = with_means(cells(results()))
    assert table[["environment", "relative", "size"]].to_numpy().tolist() == [
        ["bern", 0.75, "5 arms, 200 rounds"],  # in the order of the environments
        ["late", 0.25, "5 arms, 200 rounds"],
        ["mean", 0.5, "5 arms, 200 rounds"],
    ]
    assert table["expected"].tolist()[:2] == [0.305, 0.412]
    assert np.isnan(table["expected"][2])  # the number to expect is a mean over all environments


def test_expected_numbers_are_complete_and_agree_with_their_means():
    """The means listed for a size are those of the cells listed for it, to the rounding of three digits."""
    numbers = expected_numbers()
    for size in ("5x200", "36x200"):
        table = numbers["environment"][size]
        assert tuple(name for name in table if name != "policies") == MAIN
        means = dict(zip(numbers["mean"]["policies"], numbers["mean"][size], strict=True))
        for column, policy in enumerate(table["policies"]):
            mean = sum(table[name][column] for name in MAIN) / len(MAIN)
            assert mean == pytest.approx(means[policy], abs=0.0015)
