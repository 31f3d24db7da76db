"""Engines give the same rows, errors name their task, and killed runs can be resumed."""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from banditplex.jobs.engine import run_tasks
from banditplex.jobs.task import TaskError, TaskLost
from banditplex.storage.rows import RowStore, read_results
from tests.jobs import tasks as scripts
from tests.jobs.tasks import run
from tests.quick import only
from tests.refusals import refuses

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra `ray`)")
PARALLEL = ["processes", pytest.param("ray", marks=[needs_ray, pytest.mark.slow])]


def in_order(rows):
    return sorted(rows, key=lambda row: (row["number"], *row))


def serial():
    return in_order(run(scripts.squares, scripts.TASKS, engine="serial"))


def start(path, what):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "tests.jobs.tasks", path, what]
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        command, env=environment, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the tests may run where it is ignored
    )  # fmt: skip


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{number}/stat").read_text().split()[2] if Path("/proc").exists() else True


@pytest.mark.parametrize("engine", PARALLEL)
def test_what_tasks_warn_of_is_told_once_by_the_process_that_asked(engine, capfd):
    with pytest.warns(UserWarning, match="numbers are squared") as told:
        rows = in_order(run(scripts.warned, scripts.TASKS, engine=engine, jobs=2))
    assert (len(told), rows) == (1, serial())
    assert "squared" not in capfd.readouterr().err


# The same rows on every engine


def test_serial_squares():
    rows = serial()
    assert [row["square"] for row in rows if "square" in row] == [0, 1, 4, 9, 16, 25]
    assert all(type(row["square"]) is int for row in rows if "square" in row)


@pytest.mark.parametrize("engine", PARALLEL)
@pytest.mark.parametrize("jobs", only([2], [1, 2]))
def test_engines_agree_to_the_bit(engine, jobs):
    assert in_order(run(scripts.squares, scripts.TASKS, engine=engine, jobs=jobs)) == serial()


def test_global_generators_are_seeded_by_the_key_and_left_alone():
    def luck():
        return random.random(), np.random.random()  # noqa: NPY002

    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    expected = luck()
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002
    assert serial() == serial()
    assert luck() == expected


@pytest.mark.slow
def test_a_task_that_is_the_first_to_import_torch_finds_it_seeded():
    def luck(task):
        return [{"luck": __import__("torch").rand(1).item()}]

    there = list(run(luck, scripts.TASKS[:1], engine="processes", jobs=1))
    assert there == list(run(luck, scripts.TASKS[:1], engine="serial"))


def test_one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        (here,) = run(lambda task: [{"threads": torch.get_num_threads()}], scripts.TASKS[:1], engine="serial")
        assert (here["threads"], torch.get_num_threads()) == (1, 2)
    finally:
        torch.set_num_threads(before)
    wanted = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]
    tasks = [{"key": name, "name": name} for name in wanted]
    there = run(lambda task: [{"threads": os.environ[task["name"]]}], tasks, jobs=1)
    assert list(there) == [{"threads": "1"}] * 2


# Errors


@pytest.mark.parametrize("engine", ["serial", *PARALLEL])
def test_a_task_that_fails_is_named(engine):
    with refuses("number 3", "KeyError", "three", error=TaskError) as caught:
        list(run(scripts.fail_at_three, scripts.TASKS, engine=engine, jobs=1))
    if engine == "serial":
        assert isinstance(caught.value.__cause__, KeyError)
    else:
        assert "in fail_at_three" in caught.value.__notes__[0]


@pytest.mark.parametrize("engine", ["serial", pytest.param("processes", marks=pytest.mark.slow), PARALLEL[1]])
def test_an_input_error_stays_an_input_error(engine):
    with refuses("number 3: Expected any number but 3."):
        list(run(scripts.refuse_three, scripts.TASKS, engine=engine, jobs=1))


@pytest.mark.parametrize("engine", PARALLEL)
def test_a_process_that_dies_names_its_task(engine):
    with refuses("number 3", *["SIGKILL"] * (engine == "processes"), error=TaskLost):
        list(run(scripts.die_at_three, scripts.TASKS, engine=engine, jobs=1))


def test_a_process_that_a_task_leaves_behind_holds_up_nobody():
    began = time.monotonic()
    with refuses("number 0", "SIGKILL", error=TaskLost):
        list(run(scripts.leave_a_process_and_die, scripts.TASKS[:1], jobs=1))
    assert time.monotonic() - began < 15


@pytest.mark.slow
def test_finished_tasks_are_stored_when_another_fails(tmp_path):
    """All tasks finish before the second row is asked for: task 3 fails, and 4 and 5 are queued behind it."""
    path, ended = tmp_path / "rows.jsonl", tmp_path / "ended"
    ended.mkdir()

    def function(task):
        (ended / str(task.number)).touch()
        return scripts.fail_at_three(task) or [{"number": task.number}]

    rows = run(function, scripts.TASKS, jobs=1, store=RowStore(path, scripts.ABOUT))
    first = next(rows)
    wait_for(lambda: len(list(ended.iterdir())) == 6)
    time.sleep(0.5)  # for the last answer to come back
    with refuses("number 3", "KeyError", "three", error=TaskError):
        list(rows)
    assert [first, *read_results(path)[1][1:]] == [{"number": number} for number in (0, 1, 2, 4, 5)]


def test_rows_must_be_plain():
    with refuses("number 0", "TypeError", "ndarray", error=TaskError):
        list(run(lambda task: [{"array": np.arange(2)}], scripts.TASKS, engine="serial"))


def test_bad_input():
    with refuses("engine", "'threads'", "serial, processes, ray"):
        run(scripts.squares, scripts.TASKS, engine="threads")
    with refuses("jobs", "got 0"):
        run(scripts.squares, scripts.TASKS, jobs=0)
    with refuses("keys", "'number 0'", error=ValueError):
        run(scripts.squares, [scripts.Task("number 0", 1), scripts.Task("number 0", 2)])
    with refuses("pickle", "engine='serial'", "TypeError"):
        list(run(lambda task, lock=sys.stdout: [], scripts.TASKS))


def test_missing_ray_says_what_to_install(monkeypatch):
    monkeypatch.setattr("banditplex.jobs.engine.find_spec", lambda name: None)
    with refuses("pip install banditplex[ray]"):
        run(scripts.squares, scripts.TASKS, engine="ray")


def test_a_cluster_that_cannot_be_reached_is_one_line(monkeypatch):
    def init(**_):
        raise ConnectionError("Failed to connect\nto Ray cluster at 192.0.2.1:6379")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    monkeypatch.setattr("banditplex.jobs.engine.find_spec", lambda name: "there")
    with refuses("Ray", "Failed to connect to Ray cluster at 192.0.2.1:6379"):
        list(run(scripts.squares, scripts.TASKS, engine="ray"))


# A cluster that loses a node


@pytest.fixture
def cluster(monkeypatch):
    """A Ray cluster of two nodes with one CPU each on this machine; this process is on the first."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.mark.slow
@needs_ray
def test_tasks_of_a_node_that_is_lost_run_again_elsewhere(cluster, tmp_path):
    """The second node is removed while it computes: its task starts again on the first, and no row is missing."""
    second = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)

    def begun():
        """Return the node of every start of a task, by task."""
        return [(task.key, tuple(sorted(p.name for p in tmp_path.glob(f"{task.key}/*")))) for task in scripts.TASKS]

    finished, rows = run_tasks(scripts.slow_on_node(tmp_path, second.node_id), scripts.TASKS, engine="ray"), []
    reader = Thread(target=lambda: rows.extend(finished), daemon=True)
    reader.start()
    wait_for(lambda: any(second.node_id in nodes for _, nodes in begun()), seconds=90)
    cluster.remove_node(second, allow_graceful=False)
    reader.join(120)
    assert not reader.is_alive()
    assert in_order(row for _, some in rows for row in some) == serial()
    lost = [nodes for _, nodes in begun() if second.node_id in nodes]
    assert lost == [tuple(sorted([second.node_id, cluster.head_node.node_id]))]
    assert all(len(nodes) == 1 for _, nodes in begun() if second.node_id not in nodes)


@pytest.mark.slow
@needs_ray
def test_a_task_whose_process_ends_is_started_three_times(tmp_path):
    with refuses("number 3", "3 times", error=TaskLost):
        list(run(scripts.note_and_die(tmp_path), scripts.TASKS[3:4], engine="ray", jobs=1))
    assert len(list(tmp_path.iterdir())) == 3


# Interrupt and resume


def test_finished_tasks_are_not_run_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = run(scripts.squares, scripts.TASKS, engine="serial", store=RowStore(path, scripts.ABOUT))
    first = [next(rows), next(rows), next(rows)]
    rows.close()
    ran = []
    rest = run(
        lambda task: ran.append(task.number) or scripts.squares(task), scripts.TASKS, engine="serial",
        store=RowStore(path, scripts.ABOUT, resume=True),
    )  # fmt: skip
    assert in_order(rest) == serial()
    assert ran == [2, 3, 4, 5]
    assert in_order(first) == in_order([row for row in serial() if row in first])
    assert len(first) == 3


@pytest.mark.slow
def test_closing_early_ends_the_workers(tmp_path):
    numbers = tmp_path / "pids"
    numbers.mkdir()

    def function(task):
        return [] if task.number else scripts.sleep_and_note(numbers)(task)

    rows = run(lambda task: [{"n": task.number}] if task.number else function(task), scripts.TASKS, jobs=2)
    next(rows)
    wait_for(lambda: list(numbers.iterdir()))
    rows.close()
    assert not any(alive(int(path.name)) for path in numbers.iterdir())


def test_a_killed_and_resumed_run_has_the_same_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    child = start(path, "slow")
    wait_for(path.exists)
    child.kill()
    child.communicate()
    assert 0 < len(read_results(path)[1]) < 2 * len(scripts.TASKS)
    with path.open("ab") as file:
        file.write(b'{"task": "number 5", "rows": [{"num')  # as a kill in the middle of a line would leave it
    list(run(scripts.squares, scripts.TASKS, engine="serial", store=RowStore(path, scripts.ABOUT, resume=True)))
    whole = tmp_path / "whole.jsonl"
    list(run(scripts.squares, scripts.TASKS, engine="serial", store=RowStore(whole, scripts.ABOUT)))
    assert sorted(path.read_bytes().splitlines()) == sorted(whole.read_bytes().splitlines())


@pytest.mark.parametrize("sent", only([signal.SIGKILL], [signal.SIGINT, signal.SIGKILL]))
def test_workers_end_with_their_parent(sent, tmp_path):
    numbers = tmp_path / "pids"
    numbers.mkdir()
    child = start(tmp_path / "rows.jsonl", "sleep")
    wait_for(lambda: len(list(numbers.iterdir())) == 2)
    began = time.monotonic()
    child.send_signal(sent)
    child.communicate()
    wait_for(lambda: not any(alive(int(path.name)) for path in numbers.iterdir()))
    assert time.monotonic() - began < 5
