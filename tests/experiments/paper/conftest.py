import numpy as np
import pytest

from banditplex.experiments.paper.settings import DATASETS, METHODS, SYNTHETIC


def row(dataset, method, trial, fold, test, **more):
    """A row as `measure` makes it."""
    curve = list(test)
    head = {"dataset": dataset, "method": method, "trial": trial, "fold": fold}
    return head | {"test": curve, "train": curve, "favourite": curve, "headroom": 0.1, "gain": 0.05, "mass": 0.5} | more


@pytest.fixture(scope="session")
def make_row():
    return row


@pytest.fixture(scope="session")
def made_rows():
    """Rows of all methods on all six data sets: `uniform` .5 everywhere, each other method a little above it."""
    rng = np.random.default_rng(0)
    return [
        row(dataset, method, trial, fold, curve, **({"partnered": curve} if dataset in SYNTHETIC else {}))
        for dataset in DATASETS
        for place, method in enumerate(METHODS)
        for trial in range(5)
        for fold in range(2)
        for curve in [(0.5 + 0.01 * place + rng.uniform(0, 0.0002, 4)).tolist()]
    ]
