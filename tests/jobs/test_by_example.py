"""Functions inside `banditplex.jobs`, each by an example."""

from banditplex.jobs.engine import run_tasks
from banditplex.jobs.limits import lacks_memory
from banditplex.jobs.task import attempt, key_of


def test_run_tasks():
    found = list(run_tasks(lambda n: [{"square": n["x"] ** 2}], [{"key": "a", "x": 3}], engine="serial"))
    expected = [("a", [{"square": 9}])]
    assert found == expected


def test_lacks_memory():
    found = (
        lacks_memory(MemoryError()),
        lacks_memory(RuntimeError("CUDA out of memory.")),
        lacks_memory(ValueError("no")),
    )
    expected = (True, True, False)
    assert found == expected


def test_attempt():
    assert attempt(lambda task: [{"half": task["x"] / 2}], {"key": "a", "x": 3}).rows == '[{"half": 1.5}]'


def test_key_of():
    assert key_of({"key": "trial 0", "trial": 0}) == "trial 0"
