"""Run a scenario once undisturbed, then once for each of its steps with a fault there, and compare."""

import errno
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import banditplex.cli
import banditplex.datasets
import banditplex.evaluation
import banditplex.io
import banditplex.predictor
from faults.points import Action, Points, failing, kill, removing, replacing
from faults.scenarios import Scenario

TIMED = re.compile(
    rb'"(?:fit_seconds|score_seconds|seconds|memory|memory_bytes)": ?[0-9.e-]+|"(?:command|date)": ?"(?:[^"\\]|\\.)*"'
)
BOARD = ("leaderboard.csv", "seeds.csv", "leaderboard.md")
"""Files with times and memory in some columns: their numbers do not count, which come from the rows."""
NUMBERS = re.compile(rb"[0-9.]+(?:e[-+]?[0-9]+)?|[ -]+")


def action_of(fault: str, scenario: Scenario) -> Action:
    """Return what happens at a step."""
    return {
        "kill": kill, "full disk": failing(errno.ENOSPC), "read-only": failing(errno.EROFS),
        "removed": removing(scenario.place), "replaced": replacing(scenario.place),
    }[fault]  # fmt: skip


def call(
    folder: Path, words: list[str], points: Points | None = None, limit: int | None = None, seconds: int = 0
) -> tuple[int, str]:
    """Give a command in a forked process; return its status (negative: the signal that ended it) and its stderr."""
    return wait(*start(folder, words, points, limit, seconds=seconds))


def wait(child: int, said: Path) -> tuple[int, str]:
    """Wait for a process that was started; return its status and its stderr."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text()


def start(
    folder: Path,
    words: list[str],
    points: Points | None = None,
    limit: int | None = None,
    number: int = 0,
    seconds: int = 0,
) -> tuple[int, Path]:
    """Start a command in a forked process; return the process and the file of its stderr.

    `limit` is the size in bytes beyond which no file can grow, as on a full disk; after `seconds`, if any, it is ended.
    """
    said = folder.with_name(f"{folder.name}.stderr{number or ''}")
    child = os.fork()
    if not child:
        status = 1
        try:
            os.chdir(folder)
            for number, name in ((1, os.devnull), (2, said)):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
            if points is not None:
                points.install()
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            sys.argv = ["banditplex", *words]
            signal.alarm(seconds)
            try:
                banditplex.cli.main()
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else 0
            if points is not None and points._at is None:
                said.with_suffix(".steps").write_text("\n".join(points.seen))
        except BaseException:
            import traceback

            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)
    return child, said


def digests(folder: Path) -> dict[str, str]:
    """Return the checksum of every file below a folder, hidden ones too; times that results tell do not count."""
    found = {}
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file()):
        content = (NUMBERS if path.name in BOARD else TIMED).sub(b"", path.read_bytes())
        found[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def warm_up(folder: Path, words: list[str]) -> None:
    """Give a command in this process, so that those which are forked have imported all that it needs."""
    before, arguments = Path.cwd(), sys.argv
    os.chdir(folder)
    sys.argv = ["banditplex", *words]
    try:
        with redirect_stdout(StringIO()), warnings.catch_warnings(), suppress(SystemExit):
            banditplex.cli.main()
    finally:
        sys.argv = arguments
        os.chdir(before)


class Harness:
    """One scenario in a folder of its own."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        self._before, self._work = folder / "before", folder / "work"
        self._before.mkdir(parents=True)
        with warnings.catch_warnings(action="ignore"):
            scenario.prepare(self._before)
        warm_up(self.fresh(), scenario.command)
        work = self.fresh()
        status, said = call(work, scenario.command, Points(work))
        assert status == 0, said
        self.steps = work.with_name("work.steps").read_text().splitlines()
        self.wanted = digests(work)

    def fresh(self) -> Path:
        """Return the folder that the command finds, as it was at first."""
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._before, self._work)
        return self._work

    def changed(self) -> list[str]:
        """Return the files that an undisturbed run writes, by their paths in the folder."""
        before = digests(self._before)
        return sorted(name for name, digest in self.wanted.items() if before.get(name) != digest)

    def run(self, fault: str, steps: Iterable[int] | None = None) -> list[str]:
        """Let a fault happen at each step; return what did not hold, one line each."""
        wrong = []
        for at in range(len(self.steps)) if steps is None else steps:
            try:
                self._run_one(fault, at)
            except Exception as error:
                first = f"{type(error).__name__}: {error}".strip().splitlines()
                wrong.append(f"{self.scenario.name}, {fault} at {at} ({self.steps[at]}): {first[0]} .. {first[-1]}")
        return wrong

    def _run_one(self, fault: str, at: int) -> None:
        work = self.fresh()
        status, said = call(work, self.scenario.command, Points(work, at, action_of(fault, self.scenario)))
        if fault == "kill":
            assert status == -9, f"status {status}: {said}"
        else:
            assert status in (0, 2), f"status {status}: {said}"
            assert status == 0 or said.count("\n") == 1, f"not one line: {said}"
        if fault in ("kill", "full disk", "read-only"):
            self.scenario.check(work)
        if fault in ("removed", "replaced"):
            return  # what somebody else did to the files is theirs
        self.finish(work)

    def finish(self, work: Path) -> None:
        """Give the command again; all files must be as those of an undisturbed run."""
        status, said = call(work, self.scenario.again)
        assert status == 0, f"again: status {status}: {said}"
        found = digests(work)
        differ = sorted(name for name in {*found, *self.wanted} if found.get(name) != self.wanted.get(name))
        assert not differ, f"again: not as undisturbed: {', '.join(differ)}"

    # Faults that have no step of their own

    def limited(self) -> list[int]:
        """Try every size, in steps of a quarter, beyond which no file may grow; return the sizes that were tried."""
        sizes = [512]
        while sizes[-1] < max(path.stat().st_size for path in self._work.rglob("*") if path.is_file()):
            sizes.append(sizes[-1] * 5 // 4)
        for size in sizes:
            work = self.fresh()
            status, said = call(work, self.scenario.command, limit=size)
            assert status in (0, 2), f"{size} bytes: status {status}: {said}"
            assert status == 0 or said.count("\n") == 1, f"{size} bytes: not one line: {said}"
            self.scenario.check(work)
            self.finish(work)
        return sizes

    def raced(self, times: int) -> int:
        """Give the command that goes on twice at once; return how often one was refused for the other's lock."""
        refused = 0
        for _ in range(times):
            work = self.fresh()
            ends = [wait(*child) for child in [start(work, self.scenario.again, number=number) for number in (1, 2)]]
            assert 0 in (status for status, _ in ends), ends
            for status, said in ends:
                assert status == 0 or (status == 2 and "locked by process" in said and said.count("\n") == 1), said
                refused += status == 2
            self.finish(work)
        return refused

    def killed_at_random(self, kills: int, rng: random.Random) -> int:
        """Kill the command after random times, again and again, and let it go on; return how often it was alive."""
        begin = time.monotonic()
        self.finish(self.fresh())
        longest = time.monotonic() - begin
        hits, work = 0, self.fresh()
        while hits < kills:
            child, said = start(work, self.scenario.again)
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            if wait(child, said)[0] == -signal.SIGKILL:
                hits += 1
                self.scenario.check(work)
            else:
                self.finish(work)
                work = self.fresh()
        self.finish(work)
        return hits
