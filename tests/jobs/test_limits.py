"""Tasks in a child process: what they take is measured, and a limit ends them, not the parent."""

import json
import os

import numpy as np
import pytest
import torch

from banditplex.jobs.limits import alone, lacks_memory, stop_child
from tests.jobs.limited_tasks import use


@pytest.fixture(autouse=True)
def _no_child_is_left():
    yield
    stop_child()


def test_a_child_measures_tasks_and_survives_failures():
    def run(**task):
        return alone(use, {"key": "a", **task}, at_most=300)

    first, second = (json.loads(run(millions=size).rows)[0] for size in (2, 20))
    assert first["process"] == second["process"] != os.getpid()
    assert 16e6 <= first["memory"] < 100e6
    assert 160e6 <= second["memory"] < 250e6  # and not what an earlier task has left
    assert second["still"] >= 150e6  # the array is still there, compared with before
    assert first["total"] == 5.0
    assert 0 < first["seconds"] < 60
    failed = run(millions=1, fails=True)
    assert failed.error == "ValueError: no luck"
    assert json.loads(run(millions=1).rows)[0]["process"] == first["process"]


@pytest.mark.slow
def test_a_child_that_takes_too_much_memory_ends():
    def run(**task):
        return alone(use, {"key": "a", **task}, at_most=300)

    assert run(millions=10**10).error == "out of memory"  # more than any machine has: numpy refuses
    assert run(millions=40, memory=2e8, forever=True).error == "out of memory"  # 320 MB


def test_a_child_that_hangs_is_killed():
    assert alone(use, {"key": "a", "millions": 1}, at_most=0.01).error == "out of time"


def test_errors_of_torch_and_numpy_for_lack_of_memory_are_known():
    for allocate in (np.ones, torch.ones):
        with pytest.raises((MemoryError, RuntimeError)) as refused:
            allocate(10**16)
        assert lacks_memory(refused.value)
    with pytest.raises(RuntimeError) as refused:
        torch.ones(2) @ torch.ones(3)
    assert not lacks_memory(refused.value)


@pytest.mark.slow
def test_a_child_ends_itself_when_its_time_is_over():
    assert alone(use, {"key": "a", "millions": 1, "seconds": 0.2, "forever": True}, at_most=300).error == "out of time"
