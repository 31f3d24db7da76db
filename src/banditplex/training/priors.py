"""Fits parameters that have normal priors."""

from collections.abc import Callable

import numpy as np

from banditplex.arrays import Floats
from banditplex.backend.compiling import in_parts

MANY = 1 << 13  # numbers that are worth a second thread


def logistic_loss(margin: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + exp(-margin)) and minus its derivative, 1 / (1 + exp(margin))."""
    value, slope = np.empty_like(margin), np.empty_like(margin)

    def work(part: slice) -> None:
        here = margin[part]
        small = np.exp(-np.abs(here))
        value[part] = np.log1p(small) + np.maximum(-here, 0)
        slope[part] = np.where(here >= 0, small, 1) / (1 + small)

    in_parts(len(margin), work, few=MANY)
    return value, slope


def fit_with_priors(
    loss: Callable[[Floats], tuple[float, Floats]], centre: Floats, precision: Floats, count: Floats,
    limits: tuple[Floats, Floats], start: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return the parameters (n,) with the least loss, priors included, between limits (n,).

    The search begins at `start`; None: at the centre of the priors.
    `loss` returns its value and its gradient, `count` (n,) is about how many pairs tell each parameter. Its standard
    error would be about (precision + count) ** -0.5; the search is in units of that. With 963 targets it takes 17 steps
    so, and 478 if all parameters have the same unit.
    """
    from scipy.optimize import minimize  # takes long to import; predictions do without
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    unit = (precision + count) ** -0.5

    def in_units(z: Floats) -> tuple[float, Floats]:
        value, gradient = loss(unit * z)
        off = unit * z - centre
        return value + float(0.5 * precision @ off**2), unit * (gradient + precision * off)

    bounds, begin = np.stack(limits, 1) / unit[:, None], centre if start is None else start
    with threadpool_limits(1, "blas"):  # products are short: threads would wait for each other
        found: Floats = unit * minimize(in_units, begin / unit, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found
