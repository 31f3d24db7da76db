"""A model that the tests of all answers ask."""

import pytest

import banditplex as bx
from tests.test_predictor import FAST, small


@pytest.fixture(scope="package")
def fitted():
    mx = small()
    return mx, bx.LinkPredictor(**{**FAST, "width": 0, "k": 2}).fit(mx)
