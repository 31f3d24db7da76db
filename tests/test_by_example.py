"""Functions inside `banditplex`, each by an example."""

import numpy as np

from banditplex.demo import oracle_share
from banditplex.markdown import plus_minus
from banditplex.plots import spread
from banditplex.prediction import Calibration, segments
from banditplex.rng import stream
from banditplex.schema import mismatch, whole
from banditplex.terminal import duration
from tests.shown import shown


def test_oracle_share():
    found = oracle_share([{"policy": p, "auc": a} for p, a in (("none", 0.5), ("bandit", 0.75), ("oracle", 1.0))])
    expected = 0.5
    assert found == expected


def test_number():
    from banditplex.markdown import number

    assert (number(0.25), number(-0.5, 1), number(1.0, 1), number(float("nan"))) == (".250", "-.5", "1.0", "-")


def test_plus_minus():
    assert (plus_minus(0.5, 0.01), plus_minus(0.5, float("nan"))) == (".500 ± .010", ".500")


def test_spread():
    assert spread({"a": 1.0, "b": 1.0, "c": 5.0}, 2.0) == {"a": 0.0, "b": 2.0, "c": 5.0}


def test_calibration_probability():
    found = shown(Calibration.scaled(1).probability(np.array([0.0, 2.0]), 0, prior=0.1).round(3))
    expected = "array([0.1 , 0.451])"
    assert found == expected
    few = Calibration(np.zeros(1), np.ones(2), np.ones(1), np.zeros(1), np.array([0.2]))
    found = shown(few.probability(np.log([0.5, 4.0, 100.0]), 0, prior=0.1).round(3))
    expected = "array([0.05, 0.4 , 0.99])"  # .1 x .5, .1 x 4, and no more than .99
    assert found == expected


def test_calibration_ratio():
    bent = Calibration(np.array([10.0]), np.array([1.0, 0.5]), np.array([2.0]), np.array([-1.0]), np.zeros(1))
    assert shown(bent.ratio(np.array([0.0, 10.0, 14.0]), 0)) == "array([-21., -1., 3.])"


def test_segments():
    found = shown(segments(np.array([-1.0, 2.0, 7.0]), np.array([1.0, 4.0])))
    expected = "array([[-2., 0., 0.], [ 0., 1., 0.], [ 0., 3., 3.]])"
    assert found == expected


def test_stream():
    a, b = stream(0, "split"), stream(0, "split")
    assert bool((a.random(3) == b.random(3)).all())
    assert not (bool(stream(0, "split").random() == stream(0, "negatives").random()))


def test_mismatch():
    found = (mismatch({"a": [1, "x"]}, {"a": [int], "b?": bool}), mismatch([1, 2], [int, 3]))
    expected = (("a[1]", "an integer", "'x'"), ("", "a list of 3", "a list of 2"))
    assert found == expected


def test_number_of_schema():
    from banditplex.schema import number

    found = (number(0, 1).phrase, number().test(10**400), number().test(float("nan")))
    expected = ("a number from 0 to 1", False, False)
    assert found == expected


def test_whole():
    assert whole(1, 3).phrase == "an integer from 1 to 3"


def test_duration():
    found = (duration(4), duration(100), duration(83_000), duration(9e5))
    expected = ("4 seconds", "2 minutes", "23 hours", "10 days")
    assert found == expected
