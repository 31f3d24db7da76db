"""Copies of the source tree, and pytest in forked processes there: what is slow to import is imported once, before."""

import compileall
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any, NamedTuple

import pytest

from mutants.trace import Trace

SLOW_IMPORTS = (
    "numpy", "scipy.sparse", "scipy.stats", "pandas", "pyarrow.parquet", "networkx", "sklearn.metrics", "torch",
    "torch_geometric.data", "numba", "hypothesis", "openpyxl", "typer", "rich",
)  # fmt: skip
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "runs", "*.pyc", "*.png", "*.svg", "*.gif", "*.csv")
ADDRESSES = 24 << 30
"""Bytes of address space for one process: a mutant may ask for any amount of memory."""
OPTIONS = ["-q", "--tb=no", "--no-header", "--doctest-modules", "--assert=plain", "-p", "no:cacheprovider"]
OPTIONS += ["-m", "not slow and not download and not gpu"]
FAILED = 70
"""Status of a process that could not run pytest."""
KEPT = ("filterwarnings", "markers", "xfail_strict", "doctest_optionflags")
"""Settings of pytest that are taken over; the others need plugins that may be missing."""


def preload() -> None:
    """Import packages that tests need, without the code under test."""
    for name in SLOW_IMPORTS:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{error}: tests that need it are left out.", flush=True)


def make_room(root: Path, room: Path, jobs: int = 1) -> Path:
    """Copy a source tree, compiled so that a changed file is compiled again, however fast it was changed."""
    shutil.copytree(root, room, ignore=LEFT_OUT)
    for part in ("src", "tests"):
        compileall.compile_dir(room / part, quiet=2, workers=jobs, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    settings["markers"].append("timeout: for the plugin of this name")
    lines = ["[pytest]"]
    for name in KEPT:
        value = settings[name]
        lines.append(f"{name} =" + "".join(f"\n    {each}" for each in (value if isinstance(value, list) else [value])))
    (room / "mutants.ini").write_text("\n".join(lines) + "\n")
    return room


class Task(NamedTuple):
    """A run of pytest: what it is for, its test files, the tests among them (None: all), and seconds until it ends."""

    key: Any
    files: list[str]
    tests: list[str] | None
    left_out: frozenset[str]
    seconds: float
    change: tuple[str, str] | None = None  # file, and its text for the time of the run
    traced: tuple[str, ...] = ()  # folders: which of their lines each test runs goes into the report


class End(NamedTuple):
    """How a run of pytest ended; `status` is None if it was stopped after its time."""

    key: Any
    status: int | None
    seconds: float
    report: list[dict[str, Any]]  # a row for each test


class _Plugin:
    """Selects tests, and writes a line for each one that ends."""

    def __init__(self, task: Task, room: Path, report: Path) -> None:
        self._task, self._file = task, report.open("w", buffering=1)
        self._place = f"{room}/"
        self._trace = Trace(tuple(f"{room}/{folder}/" for folder in task.traced)) if task.traced else None
        self._seconds, self._outcome = 0.0, "passed"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = None if self._task.tests is None else {name: at for at, name in enumerate(self._task.tests)}
        items[:] = [item for item in items if item.nodeid not in self._task.left_out]
        if order is not None:
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, "no collection", 0, [])

    def pytest_runtest_logstart(self) -> None:
        self._seconds, self._outcome = 0.0, "passed"
        if self._trace:
            self._trace.begin()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        if report.outcome != "passed":
            self._outcome = report.outcome

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        lines = sorted(self._trace.end()) if self._trace else []
        self._write(nodeid, self._outcome, self._seconds, [[file.removeprefix(self._place), at] for file, at in lines])

    def _write(self, test: str, outcome: str, seconds: float, lines: list[list[Any]]) -> None:
        row = {"test": test, "outcome": outcome, "seconds": round(seconds, 4), "lines": lines}
        self._file.write(json.dumps(row) + "\n")


def _work(task: Task, room: Path, report: Path) -> int:
    """Run pytest in this process, which is of its own."""
    os.setsid()
    for number, name in ((0, os.devnull), (1, room / "log"), (2, room / "log")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | (os.O_APPEND if number else 0), 0o600), number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    mine = Path(__file__).resolve().parents[1]
    others = [each for each in sys.path if each and Path(each).resolve() not in (mine, mine / "src")]
    sys.path[:] = [str(room / "src"), str(room), *others]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    os.chdir(room)
    options = ["-c", str(room / "mutants.ini"), f"--basetemp={report.with_suffix('.tmp')}", *OPTIONS]
    options += [] if task.traced else ["-x"]
    return int(pytest.main([*options, *task.files], plugins=[_Plugin(task, room, report)]))


def run(tasks: Iterable[Task], rooms: list[Path]) -> Iterator[End]:
    """Run tasks, one in each room at a time; a room may stand in the list several times if tasks change nothing."""
    waiting, free = iter(tasks), [(number, room) for number, room in enumerate(rooms)]
    running: dict[int, tuple[Task, int, Path, float, Callable[[], Any]]] = {}
    more = True
    while more or running:
        while more and free:
            task = next(waiting, None)
            if task is None:
                more = False
                break
            number, room = free.pop()
            undo = _change(room, task.change)
            report = room / f"report-{number}"
            running[_fork(task, room, report)] = task, number, room, time.monotonic(), undo
        for child, (task, number, room, begin, undo) in list(running.items()):
            done, code = os.waitpid(child, os.WNOHANG)
            status: int | None = os.waitstatus_to_exitcode(code) if done else None
            seconds = time.monotonic() - begin
            if not done and seconds < task.seconds:
                continue
            if not done:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            del running[child]
            undo()
            free.append((number, room))
            report = room / f"report-{number}"
            rows = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
            report.unlink(missing_ok=True)
            shutil.rmtree(report.with_suffix(".tmp"), ignore_errors=True)
            yield End(task.key, status, seconds, rows)
        time.sleep(0.03)


def _change(room: Path, change: tuple[str, str] | None) -> Callable[[], Any]:
    """Change a file; return the call that changes it back."""
    if change is None:
        return lambda: None
    path = room / change[0]
    before = path.read_text()
    path.write_text(change[1])
    return lambda: path.write_text(before)


def _fork(task: Task, room: Path, report: Path) -> int:
    child = os.fork()
    if child:
        return child
    status = FAILED
    try:
        status = _work(task, room, report)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
