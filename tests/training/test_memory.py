"""A limit on memory: sizes as people write them, refusals in one line, and the peak of anonymous memory below it."""

import json
import os
import subprocess
import sys

import pytest

from banditplex.datasets import planted
from banditplex.predictor import LinkPredictor
from banditplex.training import memory
from banditplex.training.config import Config
from tests.refusals import refuses
from tests.training import limited

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2GB", 2 * 10**9), ("512 MiB", 2**29), (" .5gb ", 5 * 10**8), ("700", 700), (700, 700), (None, None)],
)
def test_sizes_as_people_write_them(given, expected):
    assert memory.as_bytes(given) == expected
    assert Config(memory=given).checked().memory_limit == expected


@pytest.mark.parametrize("given", ["much", "2 apples", "-1GB", 0, True, "", "0MB"])
def test_what_is_no_size_is_refused(given):
    with refuses("memory", repr(given)):
        LinkPredictor(memory=given).fit(planted(2, 1, 0.5, num_nodes=20, edges_per_layer=30, communities=2))


@linux
def test_a_training_that_cannot_fit_is_refused_with_an_estimate():
    held = memory.anonymous()
    expected = memory.in_words(held + 112 * 10**6)
    with refuses(expected, "1,000,000", "112 bytes"), memory.limited(held + 50 * 10**6, 10**6):
        raise AssertionError("this must not be reached")


@linux
@pytest.mark.parametrize("error", [ValueError("allocate"), RuntimeError("shapes differ")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error), match=str(error)), memory.limited(memory.anonymous() + 10**9, 10):
        raise error


@linux
@pytest.mark.slow
def test_anonymous_memory_stays_below_the_limit():
    """One limit is too low: training is stopped. Within the other the model is fitted."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, limited.__file__]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=250)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (low, stopped_at, refusal), (high, peak, said) = found["100"], found["1500"]
    assert "48,000" in refusal
    assert low < stopped_at < low + 5e8  # seen, at most one operation too late
    assert said == "trained 6 targets"
    assert low < peak <= high
