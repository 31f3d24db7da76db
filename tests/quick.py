"""Of many cases, those that `make test` runs; `make test-all` runs all of them."""

from itertools import product

import pytest


def every(step, *axes):
    """Return the product of axes as parameters; all but each `step`-th are slow.

    A step that shares no factor with the lengths of the axes meets each of their values.
    """
    cases = [case if len(axes) > 1 else case[0] for case in product(*axes)]
    return only(cases[::step], cases)


def only(chosen, cases):
    """Return cases as parameters; all but the chosen ones are slow."""
    assert all(case in cases for case in chosen)
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if case in chosen else pytest.mark.slow)
        for case in cases
    ]
