"""Parameters with normal priors, against closed forms."""

import numpy as np
import pytest

from banditplex.training.priors import fit_with_priors


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
