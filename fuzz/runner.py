"""Run inputs in child processes: a crash, another error than `InputError`, long time or much memory is a finding."""

import os
import random
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from fuzz.mutate import damage, seal
from fuzz.targets import Target

SECONDS, MEGABYTES = 20, 700
"""What one input may take."""


@dataclass(frozen=True)
class Finding:
    """An input that a reader did not survive: number, target, and what happened, the last line first."""

    number: int
    target: str
    what: str


class _TooLong(BaseException):
    pass


def _on_alarm(*_: Any) -> None:
    raise _TooLong


def prepare(targets: Mapping[str, Target], folder: Path) -> None:
    """Write the valid files that inputs are made from."""
    for name, target in targets.items():
        (folder / name).mkdir()
        with warnings.catch_warnings(action="ignore"):
            target.make(folder / name)


def make_input(number: int, seed: int, targets: Mapping[str, Target], seeds: Path, place: Path) -> str:
    """Write input `number` of a seed into the folder `place`, which must not exist; return the name of its target."""
    chance = random.Random(f"{seed}/{number}")
    names = list(targets)
    name = chance.choices(names, [targets[each].share for each in names])[0]
    shutil.copytree(seeds / name, place)
    files = sorted(each for each in place.rglob("*") if each.is_file())
    for _ in range(chance.choice([1, 1, 1, 2])):
        file = chance.choice(files)
        if chance.random() < 0.01:
            file.unlink(missing_ok=True)
        elif file.exists():
            damage(file, chance)
    if chance.random() < 0.8:
        seal(place)
    return name


def try_input(target: Target, place: Path) -> str | None:
    """Read an input; return what went wrong, or None if it was read or refused."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    old = signal.signal(signal.SIGALRM, _on_alarm)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(action="ignore"):
            target.read(place)
    except InputError as error:
        if "\n" in str(error):
            return f"an error of several lines: {error}"
    except _TooLong:
        return f"more than {SECONDS} seconds"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}, line {last.lineno})"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    return f"{grown} MB of memory" if grown > MEGABYTES else None


def run(
    targets: Mapping[str, Target],
    *,
    inputs: int,
    seed: int,
    start: int = 0,
    keep: Path | None = None,
    batch: int = 500,
    jobs: int = 1,
) -> Iterator[Finding]:
    """Yield what was found among `inputs` inputs from number `start` on; inputs with a finding are copied to `keep`."""
    stop = start + inputs
    waiting = deque(range(first, min(first + batch, stop)) for first in range(start, stop, batch))
    running: dict[int, tuple[range, Path]] = {}
    with tempfile.TemporaryDirectory(prefix="banditplex-fuzz-") as room:
        seeds = Path(room) / "seeds"
        seeds.mkdir()
        prepare(targets, seeds)
        while waiting or running:
            while waiting and len(running) < jobs:
                numbers = waiting.popleft()
                log = Path(room) / f"log-{numbers.start}"
                log.write_text("")
                running[_start(targets, seeds, Path(room), numbers, seed, keep, log)] = numbers, log
            child, code = os.wait()
            numbers, log = running.pop(child)
            lines = log.read_text(errors="replace").splitlines()
            for line in lines:
                if line.startswith("found "):
                    _, at, name, what = line.split(" ", 3)
                    yield Finding(int(at), name, what)
            status = os.waitstatus_to_exitcode(code)
            if status:
                last = int(lines[-1].split(" ")[1]) if lines else numbers.start
                yield Finding(last, lines[-1].split(" ")[2] if lines else "?", f"the process died with status {status}")
                waiting.extendleft([range(last + 1, numbers.stop)] if last + 1 < numbers.stop else [])


def _start(
    targets: Mapping[str, Target], seeds: Path, room: Path, numbers: range, seed: int, keep: Path | None, log: Path
) -> int:
    """Try inputs in a process of their own, which logs what it does; return the process."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.chdir(room)
        with log.open("a", buffering=1) as file:
            for number in numbers:
                place = room / f"input-{number}"
                file.write(f"begun {number} ?\n")
                name = make_input(number, seed, targets, seeds, place)
                file.write(f"begun {number} {name}\n")
                what = try_input(targets[name], place)
                if what is not None:
                    file.write(f"found {number} {name} {' '.join(what.split())}\n")
                    if keep is not None:
                        shutil.copytree(place, keep / f"{number}-{name}", dirs_exist_ok=True)
                shutil.rmtree(place)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
