"""Parameters with normal priors, against closed forms."""

import numpy as np
import pytest

from banditplex.training.priors import fit_with_priors, logistic_loss


def test_a_quadratic_loss_has_the_solution_of_ridge_regression():
    rng = np.random.default_rng(0)
    x, y, centre = rng.normal(size=(50, 4)) * [1, 10, 100, 0.1], rng.normal(size=50), np.array([1.0, 0, -1, 2])
    precision = np.array([4.0, 1, 0.25, 9])

    def loss(beta):
        off = x @ beta - y
        return 0.5 * off @ off, x.T @ off

    no_limit = np.full(4, np.inf)
    found = fit_with_priors(loss, centre, precision, (x**2).sum(0), (-no_limit, no_limit))
    expected = np.linalg.solve(x.T @ x + np.diag(precision), x.T @ y + precision * centre)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_parameters_stay_within_their_limits():
    """Independent parameters with loss (b - 3)^2 / 2 and prior b^2 / 2 want 1.5, or the nearest that is allowed."""
    limits = np.array([-np.inf, -np.inf, 2.0]), np.array([np.inf, 1.0, 4.0])
    found = fit_with_priors(
        lambda beta: (float(0.5 * ((beta - 3) ** 2).sum()), beta - 3), np.zeros(3), np.ones(3), np.ones(3), limits
    )
    assert found == pytest.approx([1.5, 1.0, 2.0], abs=1e-5)


def test_the_logistic_loss_and_its_derivative_hold_for_large_margins():
    """log(1 + exp(-m)) is log 2 at 0, -m far below and 0 far above; minus its derivative is 1/2, 1 and 0."""
    value, slope = logistic_loss(np.array([0.0, -1000.0, 1000.0, 1.0, -1.0]))
    assert value == pytest.approx([np.log(2), 1000, 0, np.log(1 + np.exp(-1)), np.log(1 + np.e)])
    assert slope == pytest.approx([0.5, 1, 0, 1 / (1 + np.e), np.e / (1 + np.e)])
